/* Fences, streams, blocks and placed payloads on devices whose events the test fires. Each case
 * answers what was not as it should be, or NULL. */
#ifndef FR_TESTS_UNIT_DEVICE_CASES_H
#define FR_TESTS_UNIT_DEVICE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

const char *device_case_nothing_is_opened_early(void);
const char *device_case_fences_are_over_in_order(void);
const char *device_case_what_is_due_is_not_watched(void);
const char *device_case_a_lane_keeps_its_stream(void);
const char *device_case_streams_have_a_limit(void);
const char *device_case_a_run_that_ends_early_keeps_its_stream(void);
const char *device_case_memory_comes_back(void);
const char *device_case_reads_hold_memory(void);
const char *device_case_writes_wait_for_all(void);
const char *device_case_many_readers(void);
const char *device_case_capture_waits_for_both(void);
const char *device_case_a_refused_gate_is_not_used_again(void);
const char *device_case_refused_gates_leave_nothing(void);
const char *device_case_a_dead_device_loses(void);
const char *device_case_each_call_fails(void);
const char *device_case_one_piece_has_the_limit(void);
const char *device_case_a_large_piece_serves(void);
const char *device_case_pieces_turn_with_their_run(void);
const char *device_case_what_has_come_home_takes_no_room(void);

/* device_cases_park.c */
const char *device_case_a_look_gives_streams_away(void);
const char *device_case_a_given_stream_is_given_on(void);
const char *device_case_a_dropped_op_gives_its_stream_back(void);
const char *device_case_what_is_ready_waits_no_longer(void);
const char *device_case_it_is_resumed_once(void);
const char *device_case_no_stream_is_made(void);
const char *device_case_a_stream_is_discarded(void);
const char *device_case_who_waits_for_what_is_stalled_is(void);
const char *device_case_one_more_for_one_that_turns(void);
const char *device_case_one_more_that_cannot_be_made(void);
const char *device_case_one_more_for_one_that_is_made(void);
const char *device_case_one_more_for_what_cannot_park(void);
const char *device_case_room_is_told_to_all(void);
const char *device_case_room_is_that_of_its_lane(void);
const char *device_case_who_has_begun_waits_for_no_room(void);
const char *device_case_a_stream_is_given_on_for_want_of_room(void);
const char *device_case_what_is_ready_has_other_room(void);
const char *device_case_room_comes_before_the_list(void);
const char *device_case_who_waits_for_room_is_dropped(void);

#ifdef __cplusplus
}
#endif

#endif
