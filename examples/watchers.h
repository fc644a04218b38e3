/* Two threads that read while the pipeline publishes.
 *
 * The renderer holds the frame before the newest for a while, as one does that draws it, and checks
 * that it is one frame, the right one, and that nothing in it changes while it is held. The monitor
 * looks at the newest frame at its own rate and shows how far things are. */
#ifndef WATCHERS_H
#define WATCHERS_H

#include "examples/pipeline.h"

typedef struct watcher_options {
    uint32_t hold_ms;    /* how long the renderer holds a frame */
    uint32_t monitor_ms; /* pause between two looks of the monitor */
} watcher_options;

typedef struct watcher_counts {
    uint32_t frames_held, frames_gone;
    uint32_t frames_changed, frames_mixed; /* both must stay 0 */
    uint32_t frames_monitored;
    bool failed; /* a read failed; a line is on stderr */
} watcher_counts;

typedef struct watchers watchers;

/* NULL: no memory or no thread. */
watchers *watchers_start(const pipeline *line, const watcher_options *options);
/* Waits until both have seen the last frame, which must be sealed or about to be, or until
 * `give_up`. */
watcher_counts watchers_join(watchers *both, bool give_up);

#endif
