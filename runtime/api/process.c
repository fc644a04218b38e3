#include "runtime/api/process.h"

#include <pthread.h>

#include "runtime/log/log.h"

static struct {
    fr_mutex lock; /* guards everything below but `epoch` and `forked` */
    uint64_t initializations, instances;
    uint64_t state; /* number of the state that is up, or was last */
    uint64_t model; /* for RUNTIME_DEFAULT; 0: the default */
    uint32_t last_number;
    bool fork_handled; /* the handler is registered */
    fr_stage *live;    /* list */
    fr_pool *pool;
    _Atomic uint64_t epoch;
    _Atomic uint32_t forked;
} fr_process;

static void fr_process_in_child(void)
{
    fr_store_relaxed(&fr_process.forked, 1); /* the child has one thread: this one */
    fr_add_relaxed(&fr_process.epoch, 1);
}

bool fr_process_forked(void)
{
    return fr_load_relaxed(&fr_process.forked) != 0;
}

ovstage_api_status_t fr_process_forked_error(void)
{
    return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                        "this process was forked off one that had used the library: only a process "
                        "that starts a program of its own can use it");
}

/* --- references ------------------------------------------------------------------------------- */

static bool fr_process_handle_fork_locked(void)
{
    if (!fr_process.fork_handled)
        fr_process.fork_handled = pthread_atfork(NULL, NULL, fr_process_in_child) == 0;
    return fr_process.fork_handled;
}

static bool fr_process_is_up_locked(void)
{
    return fr_process.initializations + fr_process.instances > 0;
}

/* Before a reference is taken. */
static void fr_process_begin_locked(void)
{
    if (!fr_process_is_up_locked())
        fr_process.state++;
}

/* What is left to be torn down without the lock, since it waits for threads that may call us. By
 * then the next state may be up. */
typedef struct fr_process_end {
    uint64_t state; /* whose last reference went; 0: it is up */
    fr_pool *pool;
} fr_process_end;

static fr_process_end fr_process_end_locked(void)
{
    if (fr_process_is_up_locked())
        return (fr_process_end){0, NULL};
    fr_pool *pool = fr_process.pool;
    fr_process.pool = NULL;
    fr_process.model = 0;
    return (fr_process_end){fr_process.state, pool};
}

static void fr_process_tear_down(fr_process_end end)
{
    if (end.pool)
        fr_pool_destroy(end.pool);
    if (end.state != 0)
        fr_log_end(end.state);
}

uint64_t fr_process_state(void)
{
    fr_mutex_lock(&fr_process.lock);
    uint64_t state = fr_process_is_up_locked() ? fr_process.state : 0;
    fr_mutex_unlock(&fr_process.lock);
    return state;
}

static bool fr_process_number_used_locked(uint32_t number)
{
    for (const fr_stage *stage = fr_process.live; stage; stage = stage->next_live)
        if (stage->instance_number == number)
            return true;
    return false;
}

static uint64_t fr_process_model_locked(void)
{
    return fr_process.model ? fr_process.model
                            : OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL;
}

ovstage_api_status_t fr_process_reserve(uint32_t *out_instance_number, uint64_t *out_model)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    fr_mutex_lock(&fr_process.lock);
    if (!fr_process_handle_fork_locked()) {
        fr_mutex_unlock(&fr_process.lock);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a fork handler");
    }
    if (fr_process.instances >= FR_INSTANCES_MAX) {
        fr_mutex_unlock(&fr_process.lock);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                            "%u instances are alive, which is the limit", FR_INSTANCES_MAX);
    }
    do
        fr_process.last_number = fr_process.last_number % FR_INSTANCE_NUMBERS + 1;
    while (fr_process_number_used_locked(fr_process.last_number));
    *out_instance_number = fr_process.last_number;
    *out_model = fr_process_model_locked();
    fr_process_begin_locked();
    fr_process.instances++;
    fr_mutex_unlock(&fr_process.lock);
    return OVSTAGE_OK;
}

void fr_process_release(void)
{
    fr_mutex_lock(&fr_process.lock);
    fr_process.instances--;
    fr_process_end end = fr_process_end_locked();
    fr_mutex_unlock(&fr_process.lock);
    fr_process_tear_down(end);
}

fr_pool *fr_process_pool(const fr_pool_config *config)
{
    fr_mutex_lock(&fr_process.lock);
    fr_pool *pool = fr_process.pool;
    fr_mutex_unlock(&fr_process.lock);
    if (pool)
        return pool;
    fr_pool *made = fr_pool_create(config); /* without the lock: it allocates */
    fr_mutex_lock(&fr_process.lock);
    if (!fr_process.pool) {
        fr_process.pool = made;
        made = NULL;
    }
    pool = fr_process.pool;
    fr_mutex_unlock(&fr_process.lock);
    if (made)
        fr_pool_destroy(made);
    return pool;
}

/* --- live instances --------------------------------------------------------------------------- */

void fr_process_publish(fr_stage *stage)
{
    fr_mutex_lock(&fr_process.lock);
    stage->next_live = fr_process.live;
    fr_process.live = stage;
    fr_mutex_unlock(&fr_process.lock);
    /* [process.epoch.change] pairs [process.epoch.read] : remembered pointers are looked up again
     */
    fr_add_release(&fr_process.epoch, 1);
}

/* Where the list leads to the stage; NULL: it is not there. */
static fr_stage **fr_process_find_locked(const fr_stage *stage)
{
    for (fr_stage **link = &fr_process.live; *link; link = &(*link)->next_live)
        if (*link == stage)
            return link;
    return NULL;
}

ovstage_api_status_t fr_process_retire(fr_stage *stage,
                                       ovstage_api_status_t (*may_go)(fr_stage *stage))
{
    fr_mutex_lock(&fr_process.lock);
    bool is_mine = fr_process_find_locked(stage) && !stage->leaving;
    if (is_mine)
        stage->leaving = true; /* so that it stays where it is */
    fr_mutex_unlock(&fr_process.lock);
    if (!is_mine)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "%p is no live instance (destroyed, or being destroyed, or never one)",
                            (void *)stage);
    ovstage_api_status_t status = may_go(stage); /* which may allocate */
    fr_mutex_lock(&fr_process.lock);
    stage->leaving = false;
    if (status == OVSTAGE_OK)
        *fr_process_find_locked(stage) = stage->next_live;
    fr_mutex_unlock(&fr_process.lock);
    if (status == OVSTAGE_OK)
        /* [process.epoch.retire] pairs [process.epoch.read] : as process.epoch.change */
        fr_add_release(&fr_process.epoch, 1);
    return status;
}

/* Pointers that this thread found live, and when. */
#define FR_ENTERED_PLACES 4
static _Thread_local struct {
    const fr_stage *stage;
    uint64_t epoch;
} fr_entered[FR_ENTERED_PLACES];

static ovstage_api_status_t fr_stage_enter_slow(fr_stage *stage, size_t place)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    if (!stage)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the instance is NULL");
    fr_mutex_lock(&fr_process.lock);
    uint64_t epoch = fr_load_relaxed(&fr_process.epoch);
    bool found = fr_process_find_locked(stage) != NULL;
    fr_mutex_unlock(&fr_process.lock);
    if (!found)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "%p is no live instance (destroyed, or being destroyed, or never one)",
                            (void *)stage);
    fr_entered[place].stage = stage;
    fr_entered[place].epoch = epoch;
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_stage_enter(fr_stage *stage)
{
    size_t place = ((uintptr_t)stage >> 12) % FR_ENTERED_PLACES;
    /* [process.epoch.read] pairs [process.epoch.change], [process.epoch.retire] : who learned of a
     * new instance's pointer from its creator sees at least the creator's epoch */
    uint64_t epoch = fr_load_acquire(&fr_process.epoch);
    if (stage && fr_entered[place].stage == stage && fr_entered[place].epoch == epoch)
        return OVSTAGE_OK;
    return fr_stage_enter_slow(stage, place);
}

/* --- configuration (R5, R6) ------------------------------------------------------------------- */

static ovstage_api_status_t fr_config_model_check(size_t index, uint64_t value)
{
    if (value < OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL ||
        value > OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "entries[%zu]: %llu is no hierarchy computation model (1 to 4)", index,
                            (unsigned long long)value);
    return OVSTAGE_OK;
}

/* One entry by itself. */
static ovstage_api_status_t fr_config_entry_check(const ovstage_config_entry_t *entry, size_t index)
{
    switch (entry->key_type) {
    case OVSTAGE_CONFIG_KEY_TYPE_UINT64:
        if (entry->key.uint64_key == OVSTAGE_CONFIG_RUNTIME_DEFAULT_HIERARCHY_COMPUTATION_MODEL)
            return fr_config_model_check(index, entry->value.uint_value);
        break;
    case OVSTAGE_CONFIG_KEY_TYPE_STRING:
        if (entry->key.string_key == OVSTAGE_CONFIG_BINARY_PACKAGE_ROOT_PATH) {
            if (!entry->value.string_value.ptr && entry->value.string_value.length > 0)
                return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                    "entries[%zu]: a NULL text with %zu bytes", index,
                                    entry->value.string_value.length);
            return OVSTAGE_OK;
        }
        break;
    case OVSTAGE_CONFIG_KEY_TYPE_BOOL:
    case OVSTAGE_CONFIG_KEY_TYPE_INT64:
    case OVSTAGE_CONFIG_KEY_TYPE_DOUBLE:
    case OVSTAGE_CONFIG_KEY_TYPE_BLOB:
        break;
    default:
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "entries[%zu]: key type %u is not below %d", index,
                            (unsigned)entry->key_type, OVSTAGE_CONFIG_KEY_TYPE_COUNT);
    }
    return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "entries[%zu]: there is no key %u of key type %u", index,
                        (unsigned)entry->key.uint64_key, (unsigned)entry->key_type);
}

/* All of them; *out_model: what is asked for, 0 for nothing. */
static ovstage_api_status_t fr_config_check(const ovstage_config_t *config, uint64_t *out_model)
{
    *out_model = 0;
    if (!config || config->entry_count == 0)
        return OVSTAGE_OK;
    if (!config->entries)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "entries is NULL, entry_count is %zu",
                            config->entry_count);
    size_t seen[OVSTAGE_CONFIG_KEY_TYPE_COUNT] = {0}; /* each type has one key at most */
    for (size_t i = 0; i < config->entry_count; i++) {
        const ovstage_config_entry_t *entry = &config->entries[i];
        ovstage_api_status_t status = fr_config_entry_check(entry, i);
        if (status != OVSTAGE_OK)
            return status;
        if (seen[entry->key_type] > 0)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "entries[%zu] and entries[%zu] set the same key",
                                seen[entry->key_type] - 1, i);
        seen[entry->key_type] = i + 1;
        if (entry->key_type == OVSTAGE_CONFIG_KEY_TYPE_UINT64 &&
            entry->value.uint_value != OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT)
            *out_model = entry->value.uint_value;
    }
    return OVSTAGE_OK;
}

ovstage_api_status_t ovstage_initialize(const ovstage_config_t *config)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    uint64_t model;
    ovstage_api_status_t status = fr_config_check(config, &model);
    if (status != OVSTAGE_OK)
        return status;
    fr_mutex_lock(&fr_process.lock);
    uint64_t active = fr_process_model_locked();
    bool first = !fr_process_is_up_locked();
    bool handled = fr_process_handle_fork_locked();
    bool differs = !first && model != 0 && model != active;
    if (handled && !differs) {
        if (model != 0)
            fr_process.model = model;
        fr_process_begin_locked();
        fr_process.initializations++;
    }
    fr_mutex_unlock(&fr_process.lock);
    if (!handled)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a fork handler");
    if (differs)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "hierarchy computation model %llu differs from %llu, which is in use",
                            (unsigned long long)model, (unsigned long long)active);
    return OVSTAGE_OK;
}

ovstage_api_status_t ovstage_shutdown(void)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    fr_mutex_lock(&fr_process.lock);
    bool out = fr_process.initializations > 0;
    bool waits_for_itself = fr_process.initializations + fr_process.instances == 1 &&
                            fr_process.pool && fr_pool_thread_is_starting();
    if (out && !waits_for_itself)
        fr_process.initializations--;
    fr_process_end end =
        out && !waits_for_itself ? fr_process_end_locked() : (fr_process_end){0, NULL};
    fr_mutex_unlock(&fr_process.lock);
    fr_process_tear_down(end);
    if (out && waits_for_itself)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the last ovstage_initialize cannot be undone from inside "
                            "worker_started: the workers end with it");
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "no ovstage_initialize is left to be undone");
    return OVSTAGE_OK;
}
