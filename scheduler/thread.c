#include "scheduler/thread.h"

#include "scheduler/atomic.h"

static _Thread_local uint32_t fr_this_thread_number __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t fr_threads_numbered;

uint32_t fr_thread_number(void)
{
    if (fr_this_thread_number == 0)
        fr_this_thread_number = fr_add_relaxed(&fr_threads_numbered, 1) + 1;
    return fr_this_thread_number;
}
