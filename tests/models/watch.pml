/* Work whose end nobody tells (scheduler/watch.h, and how worker.c and graph_wait.c use it): WORKERS workers, WAITERS threads that
 * wait, and a client that begins some work and goes away. The work is over when somebody looks.
 *
 *   waiter 0 waits for the work; waiter 1 for something that the client tells right after it has begun the work.
 *   TOKENS tokens are pushed meanwhile; who runs one does not come back before the work is over.
 *   LATE_LOOKS: what the client looks at to find somebody is read before its begin has become visible.
 *
 * The word of the watches, and that of idle.h, are changed atomically, each for itself. The lock of the list is the atomicity of
 * enter, call and leave.
 *
 * Checked: when nothing moves any more, the work is over, all tokens have run, all waiters are gone, all workers sleep without a
 * deadline, and nobody is the looker. */

#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef TOKENS
#define TOKENS 1
#endif

byte outstanding; /* with `looker` the word of the watches */
bool looker;
bool begun, told;
#define OVER (begun && outstanding == 0)

byte tokens, ran;
byte searching, sleeping, permits, epoch;
bool in_futex[3];

bool in_list[3], called[3], woken[3], asleep[3];
byte signal[3]; /* what a waiter sleeps on */
byte gone;

#define UNATTENDED (outstanding > 0 && !looker)

inline wake_waiter(n)
{
    woken[n] = true;
    signal[n]++;
    asleep[n] = false
}

/* One look: what was begun is over, and who waits for it is told. */
inline look()
{
    atomic {
        if
        :: outstanding > 0 ->
            outstanding--;
            if
            :: in_list[0] -> wake_waiter(0)
            :: else
            fi
        :: else
        fi
    }
}

inline call()
{
    atomic {
        if
        :: in_list[0] -> called[0] = true; signal[0]++; asleep[0] = false
        :: in_list[1] -> called[1] = true; signal[1]++; asleep[1] = false
        :: !in_list[0] && !in_list[1] -> skip
        fi
    }
}

/* fr_idle_notify and what is made of its answer. */
inline notify()
{
    if
    :: atomic { searching == 0 && sleeping > 0 -> sleeping--; searching++; permits++ };
        epoch++;
        atomic { in_futex[0] = false; in_futex[1] = false };
        notified = true
    :: atomic { searching > 0 || sleeping == 0 -> notified = false }
    fi
}

inline attend()
{
    if
    :: atomic { !UNATTENDED -> skip }
    :: atomic { UNATTENDED -> skip };
        notify();
        if
        :: notified
        :: !notified ->
            if
            :: atomic { searching > 0 -> skip }
            :: atomic { searching == 0 -> skip }; call()
            fi
        fi
    fi;
    notified = false
}

/* fr_watches_nap: both directions are one step. */
inline nap()
{
    atomic {
        if
        :: mine && outstanding == 0 -> looker = false; mine = false
        :: !mine && UNATTENDED -> looker = true; mine = true
        :: else
        fi
    }
}

inline give_back()
{
    if
    :: mine -> looker = false; mine = false; attend()
    :: else
    fi
}

inline cancel()
{
    atomic {
        if
        :: permits > 0 -> permits--; search = true
        :: permits == 0 && searching < 1 -> sleeping--; searching++; search = true
        :: else -> sleeping--; search = false
        fi
    }
}

inline take()
{
    if
    :: atomic { tokens > 0 -> tokens--; got = true }
    :: atomic { tokens == 0 -> got = false }
    fi
}

proctype worker(byte me)
{
    byte e, n;
    bool got, search, mine, notified, last;
awake:
    take();
    if
    :: got -> goto busy
    :: else
    fi;
    if
    :: atomic { searching < 1 -> searching++; search = true }
    :: atomic { searching >= 1 -> skip }
    fi;
look_everywhere:
    if
    :: mine -> look()
    :: else
    fi;
    take();
    if
    :: got -> goto found
    :: else
    fi;
    atomic {
        sleeping++;
        if
        :: search -> searching--
        :: else
        fi;
        search = false
    }
decide:
    e = epoch;
    if
    :: atomic { tokens > 0 -> skip }; cancel(); goto look_everywhere
    :: atomic { tokens == 0 -> skip }
    fi;
    if
    :: atomic { permits > 0 -> permits--; search = true; goto look_everywhere }
    :: atomic { permits == 0 -> skip }
    fi;
    nap();
    if
    :: atomic { epoch == e -> in_futex[me] = true }
    :: atomic { epoch != e -> skip }
    fi;
end_asleep:
    if
    :: atomic { !in_futex[me] -> skip }; goto decide
    :: atomic { in_futex[me] && mine -> in_futex[me] = false }; cancel(); goto look_everywhere /* by time */
    fi;
found:
    give_back();
    if
    :: search ->
        search = false;
        atomic { last = (searching == 1 && sleeping > 0); searching-- };
        if
        :: last && tokens > 0 -> notify()
        :: else
        fi;
#ifndef FR_MUTATE_WATCH_LEFT_ALONE
        attend()
#endif
    :: else
    fi;
busy:
    OVER;
    ran++;
    goto awake
}

proctype waiter(byte me)
{
    byte seen;
    bool mine, notified, is_called;
again:
    if
    :: (me == 0 && OVER) || (me == 1 && told) -> goto out
    :: else
    fi;
    atomic {
        in_list[me] = true; called[me] = false; woken[me] = false;
        if
        :: (me == 0 && OVER) || (me == 1 && told) -> woken[me] = true
        :: else
        fi
    }
sleep:
    atomic { seen = signal[me]; if :: woken[me] -> goto leave :: else fi };
    nap();
    if
    :: atomic { signal[me] == seen -> asleep[me] = true }
    :: atomic { signal[me] != seen -> skip }
    fi;
    if
    :: atomic { !asleep[me] -> skip }
    :: atomic { asleep[me] && mine -> asleep[me] = false }; look() /* by time */
    fi;
    goto sleep;
leave:
    atomic { in_list[me] = false; is_called = called[me] };
    if
    :: mine -> give_back()
    :: else ->
#ifndef FR_MUTATE_WATCH_CALL_DROPPED
        if
        :: is_called -> attend()
        :: else
        fi
#else
        skip
#endif
    fi;
    goto again;
out:
    gone++
}

proctype client()
{
    bool was_attended, notified, sees_searcher;
#ifdef LATE_LOOKS
    sees_searcher = searching > 0;
    atomic { outstanding++; begun = true; was_attended = looker };
    if
    :: !was_attended && !sees_searcher -> attend()
    :: else
    fi;
#else
    atomic { outstanding++; begun = true; was_attended = looker };
#ifndef FR_MUTATE_WATCH_NOT_TOLD
    if
    :: !was_attended -> attend()
    :: else
    fi;
#endif
#endif
    atomic {
        told = true;
        if
        :: in_list[1] -> wake_waiter(1)
        :: else
        fi
    }
}

proctype pusher()
{
    byte n;
    bool notified;
    do
    :: n < TOKENS -> tokens++; notify(); n++
    :: else -> break
    od
}

proctype monitor()
{
    timeout -> assert(OVER && ran == TOKENS && gone == WAITERS);
    assert(!looker && searching == 0 && permits == 0 && sleeping == WORKERS)
}

init
{
    atomic {
#if WORKERS > 0
        run worker(0);
#endif
#if WORKERS > 1
        run worker(1);
#endif
#if WAITERS > 0
        run waiter(0);
#endif
#if WAITERS > 1
        run waiter(1);
#endif
        run client();
#if TOKENS > 0
        run pusher();
#endif
        run monitor()
    }
}
