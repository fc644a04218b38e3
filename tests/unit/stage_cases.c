#include "tests/unit/stage_cases.h"

#include "scheduler/os.h"

static const fr_os *stage_case_real;
static fr_os stage_case_os;
static _Atomic uint32_t stage_case_left, stage_case_refused;

static bool stage_case_thread_start(fr_os_thread *thread, void (*body)(void *), void *argument,
                                    const char *name)
{
    uint32_t left = fr_load_relaxed(&stage_case_left);
    do {
        if (left == 0) {
            fr_add_relaxed(&stage_case_refused, 1);
            return false;
        }
    } while (!fr_cas_relaxed(&stage_case_left, &left, left - 1));
    return stage_case_real->thread_start(thread, body, argument, name);
}

void stage_case_threads_begin(uint32_t count)
{
    fr_store_relaxed(&stage_case_left, count);
    fr_store_relaxed(&stage_case_refused, 0);
    stage_case_real = fr_os_current;
    stage_case_os = *fr_os_current;
    stage_case_os.thread_start = stage_case_thread_start;
    fr_os_current = &stage_case_os;
}

uint32_t stage_case_threads_end(void)
{
    fr_os_current = stage_case_real;
    return fr_load_relaxed(&stage_case_refused);
}
