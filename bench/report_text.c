#include "bench/report.h"

enum { GOAL_TEXT_SIZE = 160 };

void report_machine(const machine_info *machine, const bench_options *options)
{
    printf("%s, %u cores, %.0f GiB, %s, %s, load %.1f\n", machine->processor, machine->usable_cores,
           machine->memory_gib, machine->kernel, machine->compiler, machine->load);
    printf("%u workers, %u rounds in turn, median [least .. most]%s\n", options->worker_count,
           options->rounds, options->quick ? "; QUICK: small sizes, no figures to be quoted" : "");
}

static void print_figure(double figure)
{
    double size = fabs(figure);
    if (isnan(figure))
        printf("%9s", "-");
    else if (size >= 100 || size == 0)
        printf("%9.0f", figure);
    else
        printf("%9.*f", size >= 10 ? 1 : 2, figure);
}

void report_result(const bench_result *result)
{
    const bench_row *row = result->row;
    printf("\n%s: %s [%s]\n", row->name, row->what, row->unit);
    for (int i = 0; i < result->contender_count; i++) {
        const bench_figures *figures = &result->figures[i];
        printf("    %-34s", row->contenders[i].name);
        print_figure(figures->median);
        printf("  [");
        print_figure(figures->least);
        printf(" ..");
        print_figure(figures->most);
        printf(" ]\n");
    }
    for (int i = 0; i < result->goal_count; i++) {
        char text[GOAL_TEXT_SIZE];
        bench_goal_text(row, &row->goals[i], text, sizeof(text));
        printf("    %-6s %s: %.3g\n", result->goals[i].met ? "met" : "MISSED", text,
               result->goals[i].value);
    }
    fflush(stdout);
}

void report_goals(const bench_result *results, size_t count)
{
    int all = 0, met = 0;
    for (size_t i = 0; i < count; i++) {
        all += results[i].goal_count;
        for (int k = 0; k < results[i].goal_count; k++)
            met += results[i].goals[k].met;
    }
    printf("\n%d of %d goals met.%s\n", met, all, met < all ? " Missed:" : "");
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < results[i].goal_count; k++) {
            char text[GOAL_TEXT_SIZE];
            if (results[i].goals[k].met)
                continue;
            bench_goal_text(results[i].row, &results[i].row->goals[k], text, sizeof(text));
            printf("    %s: %s: %.3g\n", results[i].row->name, text, results[i].goals[k].value);
        }
    }
}
