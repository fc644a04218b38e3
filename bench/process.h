/* What the system and the allocator say of this process. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdint.h>

/* Its own memory, without pages of files. */
uint64_t process_resident_bytes(void);
uint64_t process_cpu_ns(void);
/* Of all threads but the calling one. */
uint64_t process_others_cpu_ns(void);
/* Gives the system back what the allocator keeps, so that resident bytes mean something. */
void process_trim(void);
/* Bytes of code and constants that a program file loads, as `size` counts them; 0: cannot be read.
 */
uint64_t process_text_bytes(const char *path);

#endif
