/* The chart: a block a row, a bar a contender, its length by its share of the block's largest. */
#include "bench/report.h"

enum {
    WIDTH = 900,
    NAME_WIDTH = 250,
    BAR_WIDTH = 430,
    LINE = 18,
    TITLE = 24,
    GAP = 14,
    GOAL_TEXT_SIZE = 160,
};

static void put_text(FILE *file, int x, int y, const char *style, const char *text)
{
    fprintf(file, "<text x=\"%d\" y=\"%d\" %s>", x, y, style);
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else
            fputc(*text, file);
    }
    fputs("</text>\n", file);
}

static int block_height(const bench_result *result)
{
    return TITLE + LINE * (result->contender_count + result->goal_count) + GAP;
}

static void put_bar(FILE *file, const bench_result *result, int i, int y, double largest)
{
    char text[64];
    double median = result->figures[i].median;
    put_text(file, 20, y + 13, "", result->row->contenders[i].name);
    if (isnan(median)) {
        put_text(file, NAME_WIDTH, y + 13, "fill=\"#888\"", "not to be had");
        return;
    }
    double length = largest > 0 ? fmax(median, 0) / largest * BAR_WIDTH : 0;
    fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n",
            NAME_WIDTH, y + 2, fmax(length, 1), LINE - 5,
            result->row->contenders[i].yardstick ? "#b9c4d0" : "#2a6fbb");
    snprintf(text, sizeof(text), median >= 1000 ? "%.0f %s" : "%.3g %s", median, result->row->unit);
    put_text(file, NAME_WIDTH + (int)length + 6, y + 13, "", text);
}

static void put_block(FILE *file, const bench_result *result, int y)
{
    char text[GOAL_TEXT_SIZE + 32], goal[GOAL_TEXT_SIZE];
    double largest = 0;
    for (int i = 0; i < result->contender_count; i++)
        if (result->figures[i].median > largest)
            largest = result->figures[i].median;
    put_text(file, 8, y + 16, "font-weight=\"bold\"", result->row->what);
    y += TITLE;
    for (int i = 0; i < result->contender_count; i++, y += LINE)
        put_bar(file, result, i, y, largest);
    for (int i = 0; i < result->goal_count; i++, y += LINE) {
        bool met = result->goals[i].met;
        bench_goal_text(result->row, &result->row->goals[i], goal, sizeof(goal));
        snprintf(text, sizeof(text), "%s: %s (%.3g)", met ? "met" : "missed", goal,
                 result->goals[i].value);
        put_text(file, NAME_WIDTH, y + 13, met ? "fill=\"#1a7f37\"" : "fill=\"#c62828\"", text);
    }
}

bool report_svg(FILE *file, const machine_info *machine, const bench_result *results, size_t count)
{
    char text[512];
    int height = 2 * TITLE;
    for (size_t i = 0; i < count; i++)
        height += block_height(&results[i]);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, height);
    snprintf(text, sizeof(text), "%s, %u cores, %s, %s", machine->processor, machine->usable_cores,
             machine->kernel, machine->compiler);
    put_text(file, 8, 18, "fill=\"#555\"", text);
    int y = TITLE + 8;
    for (size_t i = 0; i < count; i++) {
        put_block(file, &results[i], y);
        y += block_height(&results[i]);
    }
    fputs("</svg>\n", file);
    return !ferror(file);
}
