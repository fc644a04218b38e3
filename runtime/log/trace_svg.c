/* The trace as a picture: a row for each thread, time to the right, a colour for each lane. */
#include "runtime/log/trace.h"

#include <stdio.h>

#define FR_SVG_WIDTH 1400.0
#define FR_SVG_LEFT 110.0
#define FR_SVG_RIGHT 70.0
#define FR_SVG_TOP 64.0
#define FR_SVG_ROW 34.0
#define FR_SVG_BAR 26.0
#define FR_SVG_INSET 4.0   /* a bar inside another is that much lower at both edges */
#define FR_SVG_DEPTH_MAX 4 /* deeper ones are drawn like this */
#define FR_SVG_MERGE 0.35  /* bars of one colour that are closer become one */
#define FR_SVG_TEXT_MIN 34.0
#define FR_SVG_CHARACTER 6.2
#define FR_SVG_TICKS 12.0
#define FR_SVG_COLOURS 10

static const char *const fr_svg_colours[FR_SVG_COLOURS] = {
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
    "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#8cd17d",
};
#define FR_SVG_NO_LANE "#b5b5b5"

typedef struct fr_svg {
    const fr_trace *trace;
    fr_trace_out *out;
    uint64_t begin_ns, end_ns;
    double pixels_per_ns;
    double y; /* of the row */
    /* the bar that is being joined from events that are too close to be told apart */
    bool open;
    double left, right;
    uint32_t depth;
    uint64_t joined;
    const char *name; /* of the longest, like `event` */
    fr_trace_event event;
} fr_svg;

static double fr_svg_x(const fr_svg *svg, uint64_t time_ns)
{
    return FR_SVG_LEFT + ((double)time_ns - (double)svg->begin_ns) * svg->pixels_per_ns;
}

static const char *fr_svg_colour(uint64_t ordinal)
{
    return ordinal == 0 ? FR_SVG_NO_LANE : fr_svg_colours[ordinal % FR_SVG_COLOURS];
}

static void fr_svg_range(fr_svg *svg, const fr_trace_ring **rows, uint32_t row_count,
                         uint64_t *out_events)
{
    svg->begin_ns = UINT64_MAX;
    svg->end_ns = 0;
    *out_events = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        uint64_t count = fr_trace_event_count(rows[row]);
        *out_events += count;
        for (uint64_t i = 0; i < count; i++) {
            const fr_trace_event *event = fr_trace_event_at(rows[row], i);
            if (event->start_ns < svg->begin_ns)
                svg->begin_ns = event->start_ns;
            if (event->end_ns > svg->end_ns)
                svg->end_ns = event->end_ns;
        }
    }
    if (svg->begin_ns >= svg->end_ns) {
        svg->begin_ns = svg->begin_ns == UINT64_MAX ? 0 : svg->begin_ns;
        svg->end_ns = svg->begin_ns + 1000;
    }
    svg->pixels_per_ns =
        (FR_SVG_WIDTH - FR_SVG_LEFT - FR_SVG_RIGHT) / (double)(svg->end_ns - svg->begin_ns);
}

/* --- bars ------------------------------------------------------------------------------------- */

static void fr_svg_bar_text(fr_svg *svg, double y, double height)
{
    double room = (svg->right - svg->left - 6.0) / FR_SVG_CHARACTER;
    char text[80];
    int length = snprintf(text, sizeof(text), "%.40s", svg->name);
    if (svg->event.ordinal != 0)
        length = snprintf(text, sizeof(text), "%.40s @%llu", svg->name,
                          (unsigned long long)svg->event.ordinal);
    if (svg->right - svg->left < FR_SVG_TEXT_MIN || length > (int)room)
        return;
    fr_trace_print(svg->out, "<text x=\"%.2f\" y=\"%.2f\" class=\"b\">", svg->left + 3.0,
                   y + height / 2.0 + 3.5);
    fr_trace_print_name(svg->out, text);
    fr_trace_print(svg->out, "</text>\n");
}

static void fr_svg_bar_end(fr_svg *svg)
{
    if (!svg->open)
        return;
    svg->open = false;
    double inset = FR_SVG_INSET * svg->depth;
    double y = svg->y + (FR_SVG_ROW - FR_SVG_BAR) / 2.0 + inset;
    double height = FR_SVG_BAR - 2.0 * inset;
    double width = svg->right - svg->left;
    fr_trace_print(
        svg->out,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"%s><title>",
        svg->left, y, width > 0.3 ? width : 0.3, height, fr_svg_colour(svg->event.ordinal),
        width > 3.0 ? " class=\"e\"" : "");
    fr_trace_print_name(svg->out, svg->name);
    if (svg->joined > 1)
        fr_trace_print(svg->out, " and %llu more", (unsigned long long)(svg->joined - 1));
    fr_trace_print(
        svg->out, ", ordinal %llu, operation 0x%llx, from %.3f us, %.3f us</title></rect>\n",
        (unsigned long long)svg->event.ordinal,
        (unsigned long long)fr_trace_event_op(svg->trace, &svg->event),
        (svg->left - FR_SVG_LEFT) / svg->pixels_per_ns / 1e3, width / svg->pixels_per_ns / 1e3);
    fr_svg_bar_text(svg, y, height);
}

static void fr_svg_bar(fr_svg *svg, const fr_trace_event *event, const char *name, uint32_t depth)
{
    double left = fr_svg_x(svg, event->start_ns), right = fr_svg_x(svg, event->end_ns);
    bool same = svg->open && svg->depth == depth &&
                fr_svg_colour(svg->event.ordinal) == fr_svg_colour(event->ordinal);
    bool thin = right - left < FR_SVG_MERGE || svg->right - svg->left < FR_SVG_MERGE;
    if (same && thin && svg->left - right < FR_SVG_MERGE) {
        if (left < svg->left)
            svg->left = left;
        svg->joined++;
        if (event->end_ns - event->start_ns > svg->event.end_ns - svg->event.start_ns) {
            svg->event = *event;
            svg->name = name;
        }
        return;
    }
    fr_svg_bar_end(svg);
    svg->open = true;
    svg->left = left;
    svg->right = right;
    svg->depth = depth;
    svg->joined = 1;
    svg->name = name;
    svg->event = *event;
}

/* Newest first: what ran inside a bar was recorded before it, and is drawn upon it. Returns the
 * busy time. */
static uint64_t fr_svg_row(fr_svg *svg, const fr_trace_ring *ring)
{
    uint64_t enclosing[FR_SVG_DEPTH_MAX]; /* starts of the bars around the current one */
    uint32_t depth = 0;
    uint64_t busy_ns = 0;
    for (uint64_t i = fr_trace_event_count(ring); i > 0 && !svg->out->failed; i--) {
        const fr_trace_event *event = fr_trace_event_at(ring, i - 1);
        while (depth > 0 && event->start_ns < enclosing[depth - 1])
            depth--;
        if (depth == 0)
            busy_ns += event->end_ns - event->start_ns;
        fr_svg_bar(svg, event, fr_trace_event_name(ring, event), depth);
        if (depth < FR_SVG_DEPTH_MAX - 1)
            enclosing[depth++] = event->start_ns;
    }
    fr_svg_bar_end(svg);
    return busy_ns;
}

/* --- frame ------------------------------------------------------------------------------------ */

static void fr_svg_axis(fr_svg *svg, double top, double bottom)
{
    double range_us = (double)(svg->end_ns - svg->begin_ns) / 1e3;
    double step_us = 1e-3;
    for (int i = 0; step_us * FR_SVG_TICKS < range_us; i++)
        step_us *= i % 3 == 1 ? 2.5 : 2.0; /* 1, 2, 5, 10, ... */
    const char *unit = step_us >= 1e6 ? "s" : step_us >= 1e3 ? "ms" : "us";
    double divisor = step_us >= 1e6 ? 1e6 : step_us >= 1e3 ? 1e3 : 1.0;
    int decimals = step_us / divisor < 1.0 ? 3 : 0;
    for (double at_us = 0.0; at_us <= range_us * 1.0001; at_us += step_us) {
        double x = FR_SVG_LEFT + at_us * 1e3 * svg->pixels_per_ns;
        fr_trace_print(svg->out,
                       "<line x1=\"%.2f\" y1=\"%.1f\" x2=\"%.2f\" y2=\"%.1f\" class=\"g\"/>\n", x,
                       top, x, bottom + 5.0);
        fr_trace_print(svg->out, "<text x=\"%.2f\" y=\"%.1f\" class=\"t\">%.*f %s</text>\n", x,
                       bottom + 19.0, decimals, at_us / divisor, unit);
    }
}

static void fr_svg_legend(fr_svg *svg, double y)
{
    double x = FR_SVG_LEFT;
    fr_trace_print(svg->out,
                   "<text x=\"%.1f\" y=\"%.1f\">Colour: last digit of the ordinal</text>\n", x,
                   y + 11.0);
    x += 205.0;
    for (int i = 0; i < FR_SVG_COLOURS; i++, x += 52.0)
        fr_trace_print(svg->out,
                       "<rect x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"14\" fill=\"%s\"/>"
                       "<text x=\"%.1f\" y=\"%.1f\">…%d</text>\n",
                       x, y, fr_svg_colours[i], x + 21.0, y + 11.0, i);
    fr_trace_print(svg->out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"14\" fill=\"%s\"/>"
                   "<text x=\"%.1f\" y=\"%.1f\">no ordinal (seals, reads, free tasks)</text>\n",
                   x, y, FR_SVG_NO_LANE, x + 21.0, y + 11.0);
}

static void fr_svg_head(fr_svg *svg, double height, uint64_t events, uint64_t lost,
                        uint32_t row_count)
{
    fr_trace_print(svg->out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                   "viewBox=\"0 0 %.0f %.0f\">\n",
                   FR_SVG_WIDTH, height, FR_SVG_WIDTH, height);
    fr_trace_print(svg->out,
                   "<style>text{font:12px sans-serif;fill:#222}.h{font:bold 15px sans-serif}"
                   ".t{text-anchor:middle}.r{text-anchor:end}.b{font-size:10.5px;fill:#111}"
                   ".g{stroke:#ddd;stroke-width:1}.e{stroke:#fff;stroke-width:0.5}</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
    fr_trace_print(svg->out,
                   "<text x=\"%.1f\" y=\"24\" class=\"h\">flyrail: %llu operations in %.3f ms on "
                   "%u threads",
                   FR_SVG_LEFT, (unsigned long long)events,
                   (double)(svg->end_ns - svg->begin_ns) / 1e6, row_count);
    if (lost > 0)
        fr_trace_print(svg->out, ", %llu more lost", (unsigned long long)lost);
    fr_trace_print(svg->out, "</text>\n");
    fr_trace_print(svg->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"r\">busy</text>\n",
                   FR_SVG_WIDTH - 14.0, FR_SVG_TOP - 6.0);
}

void fr_trace_write_svg(const fr_trace *trace, fr_trace_out *out)
{
    const fr_trace_ring *rows[FR_TRACE_RINGS_MAX];
    uint32_t row_count = fr_trace_rows(trace, rows);
    fr_svg svg = {.trace = trace, .out = out};
    uint64_t events;
    fr_svg_range(&svg, rows, row_count, &events);
    double bottom = FR_SVG_TOP + FR_SVG_ROW * row_count;
    fr_svg_head(&svg, bottom + 34.0, events, fr_trace_lost(trace), row_count);
    fr_svg_legend(&svg, 34.0);
    fr_svg_axis(&svg, FR_SVG_TOP, bottom);
    for (uint32_t row = 0; row < row_count && !out->failed; row++) {
        char name[32];
        svg.y = FR_SVG_TOP + FR_SVG_ROW * row;
        fr_trace_row_name(rows[row], row, name, sizeof(name));
        fr_trace_print(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"r\">%s</text>\n",
                       FR_SVG_LEFT - 8.0, svg.y + FR_SVG_ROW / 2.0 + 4.0, name);
        uint64_t busy_ns = fr_svg_row(&svg, rows[row]);
        fr_trace_print(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"r\">%.0f %%</text>\n",
                       FR_SVG_WIDTH - 14.0, svg.y + FR_SVG_ROW / 2.0 + 4.0,
                       100.0 * (double)busy_ns / (double)(svg.end_ns - svg.begin_ns));
    }
    fr_trace_print(out, "</svg>\n");
}
