/* Sleeping and waking (scheduler/idle.h, and how scheduler/worker.c uses it): WORKERS workers with a deque each, an intake, and one
 * publisher from outside.
 *
 * Memory is weak: a push becomes visible to others only when the machine lands it, unless the pusher fences. A read-modify-write of
 * the state word is atomic, but without the fence behind it the looks that follow may be done before it.
 *
 * What tokens do:
 *   by default nothing;
 *   MEET    two tokens from outside, each waits until both have begun, so two workers are needed;
 *   NEST    one token from outside pushes another one into its worker's deque, then both meet;
 *   LATE    besides: the first one that is taken is found to be without work, so who takes it while it searches goes on searching.
 *
 * Checked: when nothing moves any more, every token has run, every worker sleeps, and the state word says so. */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TOKENS
#define TOKENS 2
#endif
#ifdef NEST
#define FROM_OUTSIDE 1
#define TOTAL 2
#else
#define FROM_OUTSIDE TOKENS
#define TOTAL TOKENS
#endif
#if defined(MEET) || defined(NEST)
#define WAIT_FOR_ALL (begun == TOTAL)
#else
#define WAIT_FOR_ALL true
#endif

byte intake, deque[WORKERS];
byte landing_intake, landing_deque[WORKERS]; /* pushed, not visible yet */
byte searching, sleeping, permits;           /* the state word: changed atomically */
byte epoch;
bool in_futex[WORKERS];
byte begun, ended;
bool pushed_child, had_none;

proctype machine()
{
    byte v;
end:
    do
    :: atomic { landing_intake > 0 -> landing_intake--; intake++ }
    :: atomic { landing_deque[0] > 0 -> landing_deque[0]--; deque[0]++ }
    :: atomic { landing_deque[1] > 0 -> landing_deque[1]--; deque[1]++ }
#if WORKERS > 2
    :: atomic { landing_deque[2] > 0 -> landing_deque[2]--; deque[2]++ }
#endif
    od
}

/* fr_idle_notify; `landing` is what the caller has pushed. */
inline notify(landing)
{
#ifndef FR_MUTATE_IDLE_NO_SUBMIT_FENCE
    (landing == 0);
#endif
    if
    :: atomic { searching > 0 || sleeping == 0 -> skip }
    :: atomic { searching == 0 && sleeping > 0 -> skip };
        if
        :: atomic { searching > 0 || sleeping == 0 -> skip } /* the compare-and-swap saw another word */
        :: atomic { searching == 0 && sleeping > 0 -> sleeping--; searching++; permits++ };
            epoch++;
            if /* futex_wake of one */
            :: atomic { in_futex[0] -> in_futex[0] = false }
            :: atomic { in_futex[1] -> in_futex[1] = false }
#if WORKERS > 2
            :: atomic { in_futex[2] -> in_futex[2] = false }
            :: atomic { !in_futex[0] && !in_futex[1] && !in_futex[2] -> skip }
#else
            :: atomic { !in_futex[0] && !in_futex[1] -> skip }
#endif
            fi
        fi
    fi
}

inline look()
{
    seen = false;
    if
    :: intake > 0 -> seen = true
    :: else
    fi;
    k = 0;
    do
    :: k < WORKERS && !seen ->
        if
        :: deque[k] > 0 -> seen = true
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

/* One look everywhere, taking a token if there is one. */
inline take()
{
    got = false;
    (landing_deque[me] == 0); /* a pop fences */
    if
    :: atomic { deque[me] > 0 -> deque[me]--; got = true }
    :: atomic { deque[me] == 0 -> skip }
    fi;
    if
    :: !got ->
        atomic { many = intake; intake = 0 };
        if
        :: many > 0 ->
            got = true;
            landing_deque[me] = landing_deque[me] + many - 1;
#ifndef FR_MUTATE_POOL_NO_BATCH_WAKE
            if
            :: many > 1 -> notify(landing_deque[me])
            :: else
            fi;
#endif
            many = 0
        :: else
        fi
    :: else
    fi;
    k = 0;
    do
    :: k < WORKERS && !got ->
        if
        :: atomic { k != me && deque[k] > 0 -> deque[k]--; got = true }
        :: atomic { k == me || deque[k] == 0 -> skip }
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

inline run_token()
{
    begun++;
#ifdef NEST
    if
    :: atomic { !pushed_child -> pushed_child = true };
        landing_deque[me]++;
        notify(landing_deque[me])
    :: else
    fi;
#endif
    WAIT_FOR_ALL;
    ended++
}

inline end_search()
{
#if defined(FR_MUTATE_IDLE_NO_SEARCH_END_FENCE)
    look();
    atomic { last = (searching == 1 && sleeping > 0); searching-- };
    if
    :: last && seen -> notify(landing_deque[me])
    :: else
    fi;
#elif defined(FR_MUTATE_POOL_NO_CHAIN_WAKE)
    searching--;
#else
    atomic { last = (searching == 1 && sleeping > 0); searching-- };
    if
    :: last ->
        look();
        if
        :: seen -> notify(landing_deque[me])
        :: else
        fi
    :: else
    fi;
#endif
    last = false
}

inline announce()
{
    atomic {
        sleeping++;
        if
        :: search -> searching--
        :: else
        fi;
        search = false
    }
}

inline cancel()
{
    atomic {
        if
        :: permits > 0 -> permits--; search = true
        :: permits == 0 && searching < 1 -> sleeping--; searching++; search = true
        :: else -> sleeping--
        fi
    }
}

proctype worker(byte me)
{
    byte k, many, e;
    bool got, seen, search, last;
awake:
    take();
    if
    :: got ->
#ifdef LATE
        if
        :: atomic { !had_none -> had_none = true; begun++; ended++ }; goto awake
        :: else
        fi;
#endif
        run_token(); goto awake
    :: else
    fi;
    if
    :: atomic { searching < 1 -> searching++; search = true }
    :: atomic { searching >= 1 -> skip }
    fi;
look_everywhere:
    take();
    if
    :: got ->
#ifdef LATE
        if
        :: atomic { !had_none -> had_none = true; begun++; ended++ };
            if
            :: search -> goto look_everywhere
            :: else -> goto awake
            fi
        :: else
        fi;
#endif
#ifdef FR_MUTATE_POOL_BEGIN_KEEPS_SEARCH
        if
        :: search -> run_token(); goto look_everywhere
        :: else
        fi;
#endif
        if
        :: search -> search = false; end_search()
        :: else
        fi;
        run_token();
        goto awake
    :: else
    fi;
#if defined(FR_MUTATE_IDLE_CHECK_THEN_ANNOUNCE)
    look();
    announce();
    e = epoch;
#elif defined(FR_MUTATE_IDLE_NO_SLEEP_FENCE)
    if
    :: e = epoch; look(); announce()
    :: announce(); e = epoch; look()
    fi;
#else
    announce();
    e = epoch;
    look();
#endif
decide:
    if
    :: seen -> cancel(); seen = false; goto look_everywhere
    :: else
    fi;
    if
    :: atomic { permits > 0 -> permits--; search = true; goto look_everywhere }
    :: atomic { permits == 0 -> skip }
    fi;
#ifdef FR_MUTATE_IDLE_LATE_EPOCH
    e = epoch;
#endif
    if
    :: atomic { epoch == e -> in_futex[me] = true }
    :: atomic { epoch != e -> skip }
    fi;
end_asleep:
    (!in_futex[me]);
    e = epoch;
#ifndef FR_MUTATE_IDLE_CHECK_THEN_ANNOUNCE
    look();
#endif
    goto decide
}

proctype publisher()
{
    byte n;
    do
    :: n < FROM_OUTSIDE -> landing_intake++; notify(landing_intake); n++
    :: else -> break
    od
}

proctype monitor()
{
    timeout -> assert(ended == TOTAL);
    assert(searching == 0 && permits == 0 && sleeping == WORKERS)
}

init
{
    atomic {
        run machine(); run worker(0); run worker(1);
#if WORKERS > 2
        run worker(2);
#endif
        run publisher(); run monitor()
    }
}
