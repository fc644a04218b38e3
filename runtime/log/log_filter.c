#include "runtime/log/log_filter.h"

#include <string.h>

#include "runtime/api/error.h"

/* Above what is ever logged. */
#define FR_LOG_LEVEL_FATAL 2

typedef struct fr_log_level {
    const char *name;
    int level;
} fr_log_level;

static const fr_log_level fr_log_levels[] = {
    {"verbose", OVSTAGE_LOG_VERBOSE}, {"debug", OVSTAGE_LOG_VERBOSE},
    {"info", OVSTAGE_LOG_INFO},       {"warn", OVSTAGE_LOG_WARNING},
    {"warning", OVSTAGE_LOG_WARNING}, {"error", OVSTAGE_LOG_ERROR},
    {"fatal", FR_LOG_LEVEL_FATAL},    {"none", OVSTAGE_LOG_NONE},
};

/* A piece of the filter's text. */
typedef struct fr_log_piece {
    const char *text;
    size_t length;
} fr_log_piece;

static fr_log_piece fr_log_piece_trim(const char *text, size_t length)
{
    while (length > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return (fr_log_piece){text, length};
}

static bool fr_log_level_find(fr_log_piece name, int *out)
{
    for (size_t k = 0; k < sizeof(fr_log_levels) / sizeof(fr_log_levels[0]); k++) {
        const fr_log_level *level = &fr_log_levels[k];
        if (strlen(level->name) == name.length &&
            memcmp(level->name, name.text, name.length) == 0) {
            *out = level->level;
            return true;
        }
    }
    return false;
}

static ovstage_api_status_t fr_log_entry_parse(fr_log_piece piece, uint32_t number,
                                               fr_log_filter_entry *out)
{
    const char *equals = piece.length > 0 ? memchr(piece.text, '=', piece.length) : NULL;
    if (!equals)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "entry %u of the log filter, '%.*s', is not channel=level", number,
                            (int)(piece.length < 80 ? piece.length : 80), piece.text);
    size_t before = (size_t)(equals - piece.text);
    fr_log_piece channel = fr_log_piece_trim(piece.text, before);
    fr_log_piece level = fr_log_piece_trim(equals + 1, piece.length - before - 1);
    if (channel.length == 0 || channel.length >= FR_LOG_CHANNEL_BYTES ||
        memchr(channel.text, '\0', channel.length))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "entry %u of the log filter has a channel name of %zu bytes: 1 to %u "
                            "without a NUL are needed",
                            number, channel.length, FR_LOG_CHANNEL_BYTES - 1);
    if (!fr_log_level_find(level, &out->level))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "entry %u of the log filter: '%.*s' is none of verbose, debug, info, "
                            "warn, warning, error, fatal, none",
                            number, (int)(level.length < 80 ? level.length : 80), level.text);
    memcpy(out->channel, channel.text, channel.length);
    out->channel[channel.length] = '\0';
    return OVSTAGE_OK;
}

static bool fr_log_severity_known(int severity)
{
    return (severity >= OVSTAGE_LOG_VERBOSE && severity <= OVSTAGE_LOG_ERROR) ||
           severity == OVSTAGE_LOG_NONE;
}

ovstage_api_status_t fr_log_filter_parse(ovstage_log_severity_t severity, const ovx_string_t *text,
                                         fr_log_filter *out)
{
    if (!fr_log_severity_known((int)severity))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "severity %d is none of -2, -1, 0, 1 and 3", (int)severity);
    if (text && !text->ptr && text->length > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the log filter is NULL, its length %zu", text->length);
    out->severity = (int)severity;
    out->count = 0;
    if (!text || text->length == 0)
        return OVSTAGE_OK;
    const char *next = text->ptr, *end = text->ptr + text->length;
    for (;;) {
        const char *comma = memchr(next, ',', (size_t)(end - next));
        const char *stop = comma ? comma : end;
        if (out->count == FR_LOG_ENTRIES)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "the log filter has more than %u entries", FR_LOG_ENTRIES);
        ovstage_api_status_t status = fr_log_entry_parse(
            fr_log_piece_trim(next, (size_t)(stop - next)), out->count, &out->entries[out->count]);
        if (status != OVSTAGE_OK)
            return status;
        out->count++;
        if (!comma)
            return OVSTAGE_OK;
        next = comma + 1;
    }
}

static size_t fr_log_entry_fit(const fr_log_filter_entry *entry, const char *channel)
{
    size_t length = strlen(entry->channel);
    bool fits = strncmp(channel, entry->channel, length) == 0 &&
                (channel[length] == '\0' || channel[length] == '.');
    return fits ? length : 0;
}

bool fr_log_filter_wants(const fr_log_filter *filter, ovstage_log_severity_t severity,
                         const char *channel)
{
    int level = filter->severity;
    size_t longest = 0;
    for (uint32_t k = 0; k < filter->count; k++) {
        size_t fit = fr_log_entry_fit(&filter->entries[k], channel);
        if (fit < longest || fit == 0)
            continue;
        longest = fit; /* of equals the last one */
        level = filter->entries[k].level;
    }
    return (int)severity >= level;
}

int fr_log_filter_lowest(const fr_log_filter *filter)
{
    int lowest = filter->severity;
    for (uint32_t k = 0; k < filter->count; k++)
        lowest = filter->entries[k].level < lowest ? filter->entries[k].level : lowest;
    return lowest;
}
