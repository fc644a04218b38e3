/* The graph on one thread, where what happens is known. Each body answers NULL, or the text of the
 * first check that does not hold. */
#ifndef FR_TESTS_UNIT_GRAPH_CASES_H
#define FR_TESTS_UNIT_GRAPH_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* graph_cases.c: acceptance, order, edges, seals. */
const char *graph_ids(void);
const char *graph_lane_order(void);
const char *graph_refusal(void);
const char *graph_queue_full(void);
const char *graph_undo(void);
const char *graph_complete_at_birth(void);
const char *graph_seal(void);
const char *graph_scoped_seal(void);
const char *graph_many_seals(void);
const char *graph_many_scoped_seals(void);
const char *graph_many_idle_lanes(void);
const char *graph_many_run_by_request(void);
const char *graph_many_blocked(void);
const char *graph_many_late_tokens(void);
const char *graph_join_below_seal(void);
const char *graph_seals_hold_up_seals_only(void);
const char *graph_producers(void);
const char *graph_blocked_lane(void);
const char *graph_failures(void);
const char *graph_failure_of_producers(void);
const char *graph_release(void);

/* graph_cases_wait.c: waiting and running. */
const char *graph_wait_runs_the_chain_only(void);
const char *graph_poll_runs_one_op(void);
const char *graph_finite_wait(void);
const char *graph_wait_many(void);
const char *graph_wait_unknown(void);
const char *graph_wait_condition(void);
const char *graph_wait_cycle(void);
const char *graph_wait_beneath(void);
const char *graph_deep_chain(void);
const char *graph_run_some(void);
const char *graph_tasks(void);
const char *graph_split(void);
const char *graph_trace(void);
const char *graph_destroy(void);

/* graph_cases_memory.c: bounds, and what happens without memory. */
const char *graph_lanes_and_records_are_used_again(void);
const char *graph_open_ordinals(void);
const char *graph_wide_seal(void);
const char *graph_failing_allocations(void);

/* graph_cases_report.c: what is submitted, and what is complete. */
const char *graph_report_is_what_clients_know(void);
const char *graph_report_of_what_is_over(void);
const char *graph_reports_of_a_lane(void);
const char *graph_report_of_a_seal(void);
const char *graph_report_of_a_seal_that_raises_nothing(void);
const char *graph_report_concerns_nobody_else(void);
const char *graph_report_has_producers(void);
const char *graph_report_fails_as_its_op(void);
const char *graph_report_refused(void);
const char *graph_report_waited_for_inside(void);
const char *graph_report_explained(void);
const char *graph_many_reports(void);
const char *graph_report_joined_below_a_seal(void);
const char *graph_report_ids_cross_blocks(void);
const char *graph_report_dropped(void);
const char *graph_report_failing_allocations(void);

/* graph_cases_park.c: ops that keep their place and no thread. */
const char *graph_parked_runs_again(void);
const char *graph_parked_is_resumed_at_once(void);
const char *graph_parked_holds_its_lane(void);
const char *graph_parked_explained(void);
const char *graph_parked_is_waited_for_inside(void);
const char *graph_parked_is_dropped(void);

/* graph_cases_watch.c: who looks at work whose end nobody tells. */
const char *graph_watch_is_looked_at_by_polls(void);
const char *graph_watch_is_looked_at_by_waits(void);
const char *graph_watch_is_looked_at_by_who_runs(void);
const char *graph_watch_parked(void);
const char *graph_watch_parked_with_workers(void);
const char *graph_watch_is_looked_at_by_lent_threads(void);
const char *graph_watch_destroyed(void);

#ifdef __cplusplus
}
#endif

#endif
