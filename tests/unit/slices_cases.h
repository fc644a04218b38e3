/* Slices on their own: references, and what a seal does to the payloads behind them. Each answers
 * NULL, or what was wrong. */
#ifndef FR_TESTS_SLICES_CASES_H
#define FR_TESTS_SLICES_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

const char *slices_copies_count_references(void);
const char *slices_copying_again_does_no_harm(void);
const char *slices_last_release_lets_go(void);
const char *slices_pending_bytes_leave_once(void);
const char *slices_a_pinned_head_is_not_compacted(void);

#ifdef __cplusplus
}
#endif

#endif
