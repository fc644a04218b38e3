/* Counts what the program's own objects, the library's among them, ask of the heap. The linker
 * sends their calls here (--wrap); what shared libraries call among themselves is not counted. */
#ifndef BENCH_HEAP_COUNT_H
#define BENCH_HEAP_COUNT_H

#include <stdint.h>

uint64_t heap_count(void);

#endif
