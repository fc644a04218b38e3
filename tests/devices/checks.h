/* What a client must see of columns on devices, whichever driver there is. Each check gets a client
 * that has begun, and leaves its failure in it. */
#ifndef FR_TESTS_DEVICES_CHECKS_H
#define FR_TESTS_DEVICES_CHECKS_H

#include "tests/devices/client.h"

/* --- checks_frame.c: order. --- */
void check_frame(client *self);
void check_frame_on_the_stages_streams(client *self);
void check_held_groups(client *self);
void check_event_recorded_again(client *self);
void check_complete_without_an_event(client *self);
void check_stalled_producer(client *self);
void check_many_stalled_ordinals(client *self);
void check_managed_tensors(client *self);
void check_refusals(client *self);

/* --- checks_rows.c: values. --- */
void check_rows(client *self);
void check_rows_of_the_host(client *self);
void check_column_of_the_host(client *self);
void check_history(client *self);
void check_map(client *self);
void check_filters(client *self);
void check_arrays(client *self);
void check_large_column(client *self);

/* --- checks_two.c: two devices. --- */
void check_written_here_read_there(client *self);
void check_column_on_the_other_device(client *self);
void check_map_of_another_device(client *self);
void check_arrays_of_another_device(client *self);

#endif
