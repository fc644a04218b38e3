/* A small number for each thread, by which threads that would meet at one place spread over
 * several. Threads: any. */
#ifndef FR_SCHEDULER_THREAD_H
#define FR_SCHEDULER_THREAD_H

#include <stdint.h>

/* From 1, in the order in which threads ask first. */
uint32_t fr_thread_number(void);

#endif
