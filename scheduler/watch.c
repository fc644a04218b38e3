#include "scheduler/watch.h"

#include "scheduler/worker.h"

_Static_assert(FR_WATCH_ONE == FR_WATCH_LOOKER << 1, "the count lies above the flag");

/* --- watches ---------------------------------------------------------------------------------- */

void fr_watch_open(fr_watch *watch, fr_pool *pool, bool (*look)(void *user), void *user)
{
    fr_watches *watches = &pool->watches;
    *watch = (fr_watch){.pool = pool, .look = look, .user = user};
    fr_mutex_lock(&watches->lock);
    watch->next = watches->first;
    if (watch->next)
        watch->next->previous = watch;
    watches->first = watch;
    fr_mutex_unlock(&watches->lock);
}

/* False: a look is under way. */
static bool fr_watch_unlink(fr_watch *watch)
{
    fr_watches *watches = &watch->pool->watches;
    fr_mutex_lock(&watches->lock);
    watch->is_closing = true;
    bool is_free = watch->looks == 0;
    if (is_free) {
        *(watch->previous ? &watch->previous->next : &watches->first) = watch->next;
        if (watch->next)
            watch->next->previous = watch->previous;
    }
    fr_mutex_unlock(&watches->lock);
    return is_free;
}

void fr_watch_close(fr_watch *watch)
{
    while (!fr_watch_unlink(watch))
        fr_os_current->yield();
}

void fr_watch_begin(fr_watch *watch)
{
    fr_pool *pool = watch->pool;
    /* Relaxed: what is outstanding is known to who looks through the watch's own structures. */
    uint64_t before = fr_add_relaxed(&pool->watches.word, FR_WATCH_ONE);
#ifdef FR_MUTATE_WATCH_NOT_TOLD
    return;
#endif
    if ((before & FR_WATCH_LOOKER) == 0)
        fr_watches_attend(pool);
}

void fr_watch_end(fr_watch *watch)
{
    (void)fr_sub_relaxed(&watch->pool->watches.word, FR_WATCH_ONE);
}

bool fr_pool_is_watching(const fr_pool *pool)
{
    return fr_load_relaxed(&pool->watches.word) >= FR_WATCH_ONE;
}

bool fr_pool_look(fr_pool *pool)
{
    fr_watches *watches = &pool->watches;
    bool any = false;
    if (!fr_pool_is_watching(pool))
        return false;
    fr_mutex_lock(&watches->lock);
    for (fr_watch *watch = watches->first; watch; watch = watch->next) {
        if (watch->is_closing)
            continue;
        watch->looks++;
        fr_mutex_unlock(&watches->lock);
        bool saw = watch->look(watch->user);
        any = any || saw;
        fr_mutex_lock(&watches->lock);
        watch->looks--; /* it was in the list all the while, so the next one is */
    }
    fr_mutex_unlock(&watches->lock);
    return any;
}

/* --- who looks -------------------------------------------------------------------------------- */

static void fr_watches_call(fr_watches *watches)
{
    _Atomic uint32_t *word = NULL;
    fr_mutex_lock(&watches->lock);
    if (watches->standby) {
        watches->standby->is_called = true;
        word = watches->standby->word;
        /* [watch.call] pairs [waiter.signal.read] : it sees that it was called */
        (void)fr_add_release(word, FR_STANDBY_CALL);
    }
    fr_mutex_unlock(&watches->lock);
    /* It may have left by now: the word is at worst that of another thread, which looks again. */
    if (word)
        fr_os_current->futex_wake(word, UINT32_MAX);
}

void fr_watches_attend(fr_pool *pool)
{
    /* [watch.attend.fence] pairs [idle.announce.fence], [idle.search_end],
     * [worker.search_end.watches] : a worker that sleeps or stops searching after the looks below
     * sees that the watches are unattended */
    fr_fence_seq_cst();
    if (!fr_watch_is_unattended(fr_load_relaxed(&pool->watches.word)))
        return;
    if (fr_idle_notify(&pool->idle))
        (void)fr_add_relaxed(&pool->wakes, 1);
    else if (fr_idle_searching(fr_load_relaxed(&pool->idle.state)) == 0)
        fr_watches_call(&pool->watches);
}

uint64_t fr_watches_nap(fr_watches *watches, bool *is_looker, uint64_t left_ns)
{
    uint64_t word = fr_load_relaxed(&watches->word);
    for (;;) {
        bool wanted = *is_looker ? word < FR_WATCH_ONE : fr_watch_is_unattended(word);
        /* Relaxed: what hangs on it is the one step that sees both count and flag. */
        if (!wanted || fr_cas_relaxed(&watches->word, &word, word ^ FR_WATCH_LOOKER)) {
            *is_looker = *is_looker != wanted;
            return *is_looker && left_ns > FR_WATCH_NAP_NS ? FR_WATCH_NAP_NS : left_ns;
        }
    }
}

void fr_watches_give_back(fr_pool *pool, bool *is_looker)
{
    if (!*is_looker)
        return;
    *is_looker = false;
    (void)fr_and_relaxed(&pool->watches.word, ~FR_WATCH_LOOKER);
    fr_watches_attend(pool);
}

/* --- standing by ------------------------------------------------------------------------------ */

void fr_standby_enter(fr_standby *standby, fr_pool *pool, _Atomic uint32_t *word)
{
    fr_watches *watches = &pool->watches;
    *standby = (fr_standby){.word = word};
    fr_mutex_lock(&watches->lock);
    standby->next = watches->standby;
    if (standby->next)
        standby->next->previous = standby;
    watches->standby = standby;
    fr_mutex_unlock(&watches->lock);
}

uint64_t fr_standby_nap(fr_standby *standby, fr_pool *pool, uint64_t left_ns)
{
    return fr_watches_nap(&pool->watches, &standby->is_looker, left_ns);
}

void fr_standby_leave(fr_standby *standby, fr_pool *pool)
{
    fr_watches *watches = &pool->watches;
    fr_mutex_lock(&watches->lock);
    *(standby->previous ? &standby->previous->next : &watches->standby) = standby->next;
    if (standby->next)
        standby->next->previous = standby->previous;
    bool is_called = standby->is_called;
    fr_mutex_unlock(&watches->lock);
    if (standby->is_looker)
        fr_watches_give_back(pool, &standby->is_looker);
#ifndef FR_MUTATE_WATCH_CALL_DROPPED
    else if (is_called)
        fr_watches_attend(pool);
#endif
}
