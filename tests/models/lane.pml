/* A lane with hand-over (scheduler/lane.h, graph_run.c, graph_wait.c): one submitter of OPS ops, WORKERS workers, and waiters: the
 * first one waits for the first op, the second for the last but one.
 *
 * The lane's word changes by compare-and-swap alone, here by atomic steps; what an op's completion publishes goes with its entry.
 * A waiter runs the lane when nobody does, up to its own op; else it enters itself in the list, sets flags, and sleeps.
 *
 * Checked: every op runs once and in order, on a waiter only up to the awaited one; when nothing moves any more, the waiters have
 * ended, and with workers every op has run. */

#ifndef OPS
#define OPS 3
#endif
#ifndef WORKERS
#define WORKERS 0
#endif
#define WAITERS 2

/* The word. */
byte count;
bool drainer, token, waiters;
byte tokens_out;         /* in the pool */

byte accepted, ran;      /* ops 0 .. ran - 1 have run, the last ones perhaps not counted out */
bool done[OPS];          /* entries */
bool entry_waiters[OPS];
bool listed[WAITERS], signal[WAITERS];
byte awaited[WAITERS], ended;

inline wake_all()
{
    atomic {
        w = 0;
        do
        :: w < WAITERS ->
            if
            :: listed[w] -> signal[w] = true
            :: else
            fi;
            w++
        :: else -> break
        od;
        w = 0
    }
}

/* Runs ops up to `limit`, then settles. The caller holds the right to drain. */
inline drain(limit)
{
    stop = false;
    do
    :: !stop ->
        /* one op */
        assert(ran < accepted && drainer);
        assert(ran <= limit);
        atomic {
            op = ran;
            ran++;
            done[op] = true;
            had = entry_waiters[op];
            entry_waiters[op] = false
        };
        if
        :: had -> wake_all()
        :: else
        fi;
        stop = (op == limit);
        settle(1)
    :: else -> break
    od
}

/* Counts n out; leaves when nothing is left, or on stop. */
inline settle(n)
{
#ifdef FR_MUTATE_LANE_DROP_DIRTY
    atomic { left = count - n; count = left };
    if
    :: left == 0 || stop ->
        atomic { had = waiters; waiters = false; drainer = false; stop = true };
        push = (left > 0 && !token);
        token = token || push;
        if
        :: had -> wake_all()
        :: else
        fi;
        if
        :: push -> tokens_out++
        :: else
        fi
    :: else
    fi;
#else
    atomic {
        count = count - n;
        had = false;
        push = false;
        if
        :: count == 0 || stop ->
            stop = true;
            had = waiters;
            waiters = false;
            drainer = false;
            push = (count > 0 && !token);
            token = token || push
        :: else
        fi
    };
#ifndef FR_MUTATE_LANE_NO_HAND_OVER_WAKE
    if
    :: had -> wake_all()
    :: else
    fi;
#endif
    if
    :: push -> tokens_out++
    :: else
    fi;
#endif
    push = false;
    had = false
}

proctype submitter()
{
    bool push;
    do
    :: accepted < OPS ->
        atomic {
            accepted++;
            count++;
            push = (!drainer && !token);
            token = token || push
        };
        if
        :: push -> tokens_out++
        :: else
        fi
    :: else -> break
    od
}

proctype worker()
{
    bool stop, had, push, mine;
    byte op, left, w;
end:
    do
    :: atomic { tokens_out > 0 -> tokens_out-- };
        atomic {
            token = false;
            mine = (count > 0 && !drainer);
            drainer = drainer || mine
        };
        if
        :: mine -> drain(OPS)
        :: else
        fi;
        mine = false
    od
}

proctype waiter(byte me)
{
    bool stop, had, push;
    byte op, left, w, mine;
    mine = awaited[me];
    (accepted > mine); /* it has the id */
look:
    if
    :: done[mine] -> goto out
    :: else
    fi;
    if
    :: atomic { count > 0 && !drainer -> drainer = true };
#ifndef FR_MUTATE_WAIT_NO_LOOK_AFTER_CLAIM
        if
        :: done[mine] -> stop = true; settle(0); goto out
        :: else
        fi;
#endif
        drain(mine);
        goto look
    :: else
    fi;
    listed[me] = true;
    signal[me] = false;
    /* The lane that somebody else drains. */
#ifdef FR_MUTATE_WAIT_CHECK_THEN_ANNOUNCE
    if
    :: drainer -> skip
    :: else -> listed[me] = false; goto look
    fi;
    waiters = true;
#else
    if
    :: atomic { drainer -> waiters = true }
    :: atomic { !drainer -> listed[me] = false }; goto look
    fi;
#endif
    /* The awaited op itself. */
    if
    :: atomic { !done[mine] -> entry_waiters[mine] = true }
    :: atomic { done[mine] -> listed[me] = false }; goto out
    fi;
    (signal[me]);
    listed[me] = false;
    goto look;
out:
    listed[me] = false;
    ended++
}

proctype monitor()
{
    timeout -> assert(ended == WAITERS);
    assert(!drainer);
    assert(WORKERS == 0 || ran == OPS)
}

init
{
    byte k;
    awaited[0] = 0;
    awaited[1] = OPS - 2; /* nobody waits for the last op */
    atomic {
        run submitter(); run waiter(0); run waiter(1); run monitor();
        do
        :: k < WORKERS -> run worker(); k++
        :: else -> break
        od
    }
}
