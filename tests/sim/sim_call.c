#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <string.h>

#include "cuda/error.h"

const char *const fr_sim_call_names[FR_SIM_CALL_COUNT] = {
#define FR_SIM_NAME(name, version, symbol) #name,
    FR_CUDA_ENTRY_POINTS(FR_SIM_NAME)
#undef FR_SIM_NAME
};

enum { RULES = 16, LOGGED = 512, ANY = FR_SIM_CALL_COUNT };

typedef struct rule {
    uint64_t left; /* 0: no rule */
    uint32_t call;
    fr_cu_result result;
} rule;

typedef struct logged {
    uint64_t thread;
    enum fr_sim_call call;
    fr_cu_result result;
} logged;

static rule rules[RULES];
static uint64_t call_counts[FR_SIM_CALL_COUNT + 1]; /* the last: of all */
static logged call_log[LOGGED];
static uint64_t log_count;

void fr_sim_calls_reset(void)
{
    memset(rules, 0, sizeof rules);
    memset(call_counts, 0, sizeof call_counts);
    log_count = 0;
}

fr_sim_thread *fr_sim_this_thread(void)
{
    static _Thread_local fr_sim_thread thread;
    if (thread.generation != fr_sim_state.generation) {
        bool in_host_function = thread.in_host_function;
        thread = (fr_sim_thread){.generation = fr_sim_state.generation,
                                 .number = ++fr_sim_state.thread_count,
                                 .in_host_function = in_host_function};
    }
    return &thread;
}

fr_sim_context *fr_sim_current(void)
{
    const fr_sim_thread *thread = fr_sim_this_thread();
    if (thread->context_count == 0)
        return NULL;
    return fr_sim_handle_peek(FR_SIM_CONTEXT, thread->contexts[thread->context_count - 1]);
}

const char *fr_sim_call_name(void)
{
    return fr_sim_call_names[fr_sim_this_thread()->call];
}

/* Every rule counts every call that it is about; the first that strikes answers. */
static fr_cu_result fault(enum fr_sim_call call)
{
    fr_cu_result result = FR_CU_SUCCESS;
    for (int i = 0; i < RULES; i++) {
        if (rules[i].left == 0 || (rules[i].call != ANY && rules[i].call != (uint32_t)call))
            continue;
        if (--rules[i].left == 0 && result == FR_CU_SUCCESS)
            result = rules[i].result;
    }
    return result;
}

fr_cu_result fr_sim_enter(enum fr_sim_call call, unsigned int needs)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    fr_sim_thread *thread = fr_sim_this_thread();
    thread->call = call;
    call_counts[call]++;
    call_counts[FR_SIM_CALL_COUNT]++;
    if (thread->in_host_function && !(needs & FR_SIM_HOST_OK)) {
        fr_sim_tell(FR_SIM_BAD_CALL, "%s was called by a host function", fr_sim_call_names[call]);
        return FR_CU_ERROR_NOT_PERMITTED;
    }
    fr_cu_result result = fault(call);
    if (result != FR_CU_SUCCESS)
        return result;
    if ((needs & FR_SIM_NEEDS_INIT) && !fr_sim_state.initialized)
        return FR_CU_ERROR_NOT_INITIALIZED;
    if ((needs & FR_SIM_NEEDS_CONTEXT) == FR_SIM_NEEDS_CONTEXT) {
        const fr_sim_context *context = fr_sim_current();
        if (!context) {
            fr_sim_tell(FR_SIM_BAD_CALL, "%s needs a current context, and there is none",
                        fr_sim_call_names[call]);
            return FR_CU_ERROR_INVALID_CONTEXT;
        }
        if (context->sticky != FR_CU_SUCCESS)
            return context->sticky;
    }
    if (needs & FR_SIM_NO_CAPTURE)
        return fr_sim_capture_forbids();
    return FR_CU_SUCCESS;
}

fr_cu_result fr_sim_leave(enum fr_sim_call call, fr_cu_result result)
{
    fr_sim_thread *thread = fr_sim_this_thread();
    call_log[log_count++ % LOGGED] = (logged){thread->number, call, result};
    if (!thread->in_host_function)
        fr_sim_run_after_call();
    pthread_mutex_unlock(&fr_sim_state.lock);
    return result;
}

static bool find_call(const char *entry_point, uint32_t *call)
{
    *call = ANY;
    if (!entry_point)
        return true;
    for (uint32_t i = 0; i < FR_SIM_CALL_COUNT; i++) {
        if (strcmp(entry_point, fr_sim_call_names[i]) == 0) {
            *call = i;
            return true;
        }
    }
    return false;
}

bool fr_sim_fail_call(const char *entry_point, uint64_t k, fr_cu_result result)
{
    uint32_t call = 0;
    if (k == 0 || !find_call(entry_point, &call))
        return false;
    bool added = false;
    pthread_mutex_lock(&fr_sim_state.lock);
    for (int i = 0; i < RULES && !added; i++) {
        if (rules[i].left != 0)
            continue;
        rules[i] = (rule){k, call, result};
        added = true;
    }
    pthread_mutex_unlock(&fr_sim_state.lock);
    return added;
}

void fr_sim_fail_operation(fr_cu_device device, uint64_t k, fr_cu_result result)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    if (device >= 0 && device < FR_SIM_MAX_DEVICES) {
        fr_sim_state.devices[device].fail_operation = k;
        fr_sim_state.devices[device].fail_result = result;
    }
    pthread_mutex_unlock(&fr_sim_state.lock);
}

void fr_sim_clear_faults(void)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    memset(rules, 0, sizeof rules);
    for (int i = 0; i < FR_SIM_MAX_DEVICES; i++)
        fr_sim_state.devices[i].fail_operation = 0;
    pthread_mutex_unlock(&fr_sim_state.lock);
}

bool fr_sim_faults_pending(void)
{
    bool pending = false;
    pthread_mutex_lock(&fr_sim_state.lock);
    for (int i = 0; i < RULES; i++)
        pending |= rules[i].left != 0;
    for (int i = 0; i < FR_SIM_MAX_DEVICES; i++)
        pending |= fr_sim_state.devices[i].fail_operation != 0;
    pthread_mutex_unlock(&fr_sim_state.lock);
    return pending;
}

uint64_t fr_sim_calls(const char *entry_point)
{
    uint32_t call = 0;
    if (!find_call(entry_point, &call))
        return 0;
    pthread_mutex_lock(&fr_sim_state.lock);
    uint64_t count = call_counts[call];
    pthread_mutex_unlock(&fr_sim_state.lock);
    return count;
}

size_t fr_sim_log(char *text, size_t size_bytes)
{
    size_t used = 0;
    pthread_mutex_lock(&fr_sim_state.lock);
    for (uint64_t i = log_count > LOGGED ? log_count - LOGGED : 0; i < log_count; i++) {
        const logged *call = &call_log[i % LOGGED];
        const char *name = fr_cuda_error_name(call->result);
        char line[160];
        int length = snprintf(line, sizeof line, "%llu thread %llu %s %u %s\n",
                              (unsigned long long)i, (unsigned long long)call->thread,
                              fr_sim_call_names[call->call], call->result, name ? name : "");
        if (used + (size_t)length < size_bytes)
            memcpy(text + used, line, (size_t)length + 1);
        used += (size_t)length;
    }
    pthread_mutex_unlock(&fr_sim_state.lock);
    return used + 1;
}
