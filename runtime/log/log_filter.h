/* Which messages a log callback wants (R169): a severity for everybody, and entries channel=level.
 *
 * An entry is about its channel and those below it, by dots; the longest one that fits decides.
 * Blanks around names are ignored. A plain value: no threads, no memory of its own. */
#ifndef FR_RUNTIME_LOG_LOG_FILTER_H
#define FR_RUNTIME_LOG_LOG_FILTER_H

#include <ovstage/ovstage_types.h>

#define FR_LOG_ENTRIES 32u
#define FR_LOG_CHANNEL_BYTES 64u

typedef struct fr_log_filter_entry {
    char channel[FR_LOG_CHANNEL_BYTES]; /* ends with a NUL */
    int level;                          /* a severity, or above all */
} fr_log_filter_entry;

typedef struct fr_log_filter {
    int severity; /* where no entry fits */
    uint32_t count;
    fr_log_filter_entry entries[FR_LOG_ENTRIES];
} fr_log_filter;

/* text: NULL or empty for no entries. INVALID_ARGUMENT with the text set: *out is not to be used.
 */
ovstage_api_status_t fr_log_filter_parse(ovstage_log_severity_t severity, const ovx_string_t *text,
                                         fr_log_filter *out);
bool fr_log_filter_wants(const fr_log_filter *filter, ovstage_log_severity_t severity,
                         const char *channel);
/* The lowest severity of which anything can be wanted. */
int fr_log_filter_lowest(const fr_log_filter *filter);

#endif
