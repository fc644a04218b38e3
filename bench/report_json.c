#include "bench/report.h"

enum { GOAL_TEXT_SIZE = 160 };

/* The texts are our own and the system's: quotes and backslashes are all that could disturb. */
static void put_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text >= ' ')
            fputc(*text, file);
    }
    fputc('"', file);
}

static void put_number(FILE *file, double number)
{
    if (isfinite(number))
        fprintf(file, "%.6g", number);
    else
        fputs("null", file);
}

static void put_contender(FILE *file, const bench_result *result, int i)
{
    const bench_figures *figures = &result->figures[i];
    fputs("{\"name\": ", file);
    put_text(file, result->row->contenders[i].name);
    fprintf(file, ", \"yardstick\": %s", result->row->contenders[i].yardstick ? "true" : "false");
    fputs(", \"median\": ", file);
    put_number(file, figures->median);
    fputs(", \"rounds\": [", file);
    for (uint32_t round = 0; round < figures->round_count; round++) {
        fputs(round > 0 ? ", " : "", file);
        put_number(file, figures->rounds[round]);
    }
    fputs("]}", file);
}

static void put_goal(FILE *file, const bench_result *result, int i)
{
    char text[GOAL_TEXT_SIZE];
    bench_goal_text(result->row, &result->row->goals[i], text, sizeof(text));
    fputs("{\"goal\": ", file);
    put_text(file, text);
    fputs(", \"value\": ", file);
    put_number(file, result->goals[i].value);
    fprintf(file, ", \"met\": %s}", result->goals[i].met ? "true" : "false");
}

static void put_result(FILE *file, const bench_result *result)
{
    fputs("    {\"theme\": ", file);
    put_text(file, result->theme->name);
    fputs(", \"name\": ", file);
    put_text(file, result->row->name);
    fputs(", \"what\": ", file);
    put_text(file, result->row->what);
    fputs(", \"unit\": ", file);
    put_text(file, result->row->unit);
    fputs(",\n     \"contenders\": [", file);
    for (int i = 0; i < result->contender_count; i++) {
        fputs(i > 0 ? ",\n       " : "", file);
        put_contender(file, result, i);
    }
    fputs("],\n     \"goals\": [", file);
    for (int i = 0; i < result->goal_count; i++) {
        fputs(i > 0 ? ",\n       " : "", file);
        put_goal(file, result, i);
    }
    fputs("]}", file);
}

bool report_json(FILE *file, const machine_info *machine, const bench_options *options,
                 const bench_result *results, size_t count)
{
    fputs("{\n  \"machine\": {\"processor\": ", file);
    put_text(file, machine->processor);
    fputs(", \"kernel\": ", file);
    put_text(file, machine->kernel);
    fputs(", \"compiler\": ", file);
    put_text(file, machine->compiler);
    fprintf(file, ", \"cores\": %u, \"load\": %.2f},\n", machine->usable_cores, machine->load);
    fprintf(file, "  \"workers\": %u, \"rounds\": %u, \"quick\": %s,\n  \"rows\": [\n",
            options->worker_count, options->rounds, options->quick ? "true" : "false");
    for (size_t i = 0; i < count; i++) {
        put_result(file, &results[i]);
        fputs(i + 1 < count ? ",\n" : "\n", file);
    }
    fputs("  ]\n}\n", file);
    return !ferror(file);
}
