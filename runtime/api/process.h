/* What all instances of a process share: the reference count of R1 to R7, the list of live
 * instances, the pool of workers, and the knowledge of having been forked.
 *
 * Threads: every function from any thread; one lock, taken by life-cycle calls and by a thread's
 * first call on an instance after the list changed. Invariants: an instance is in the list from the
 * moment its creation is finished until its destruction begins. The epoch goes up with every change
 * of the list and in a forked child, so that a thread may remember a pointer that it found live as
 * long as the epoch stays. Memory: nothing but the pool; the pool goes with the last reference.
 * Limits: a pointer to memory where a destroyed instance was is refused until a new instance lies
 * there. */
#ifndef FR_RUNTIME_API_PROCESS_H
#define FR_RUNTIME_API_PROCESS_H

#include "runtime/api/stage.h"

#define FR_INSTANCE_NUMBERS 32767u /* used in turn; ids stay below 2^63 */
#define FR_INSTANCES_MAX 4096u     /* alive at the same time */

/* True in a child that was forked off after the library had been used: its worker threads are gone,
 * locks may be held for ever. (A child made by a raw clone system call is not noticed.) */
bool fr_process_forked(void);
/* The status of every call in such a child, with the text set. */
ovstage_api_status_t fr_process_forked_error(void);

/* A process reference for an instance that is being made: its number and what R7 makes it capture.
 * Not OK: no reference, the text is set. */
ovstage_api_status_t fr_process_reserve(uint32_t *out_instance_number, uint64_t *out_model);
/* Enters the finished instance in the list. */
void fr_process_publish(fr_stage *stage);
/* Takes it from the list, if it is there and may_go answers OK: of several callers one at most gets
 * that far, and OK. Else the text is set. The pointer need not be valid. */
ovstage_api_status_t fr_process_retire(fr_stage *stage,
                                       ovstage_api_status_t (*may_go)(fr_stage *stage));
/* Gives the reference back. */
void fr_process_release(void);

/* The number of the process state that somebody holds a reference to; 0: nobody does. Each state,
 * from a first reference to the last one's end, has another. */
uint64_t fr_process_state(void);

/* The process's pool; made with this configuration if there is none yet. Valid while the caller
 * holds a process reference. NULL without memory. */
fr_pool *fr_process_pool(const fr_pool_config *config);

#endif
