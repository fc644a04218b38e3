/* Waiting for conditions (scheduler/wait.h, fr_graph_wait_condition): COMPLETERS threads that publish something and then look for
 * waiters, WAITERS threads that announce themselves, look at the condition and sleep on the epoch.
 *
 * Memory is weak: what was published becomes visible only when the machine lands it, unless its thread fences; and without a fence
 * behind the announcement the look at the condition may be done before it.
 *
 * Checked: when nothing moves any more, nobody sleeps. */

#ifndef COMPLETERS
#define COMPLETERS 2
#endif
#define WAITERS 2

byte value, landing[COMPLETERS]; /* the condition: value == COMPLETERS */
byte announced, epoch;
bool in_futex[WAITERS];
byte ended;

proctype machine()
{
end:
    do
    :: atomic { landing[0] > 0 -> landing[0]--; value++ }
#if COMPLETERS > 1
    :: atomic { landing[1] > 0 -> landing[1]--; value++ }
#endif
    od
}

proctype completer(byte me)
{
    landing[me]++;
#ifndef FR_MUTATE_WAIT_NO_FENCE
    (landing[me] == 0);
#endif
    if
    :: announced > 0 ->
        epoch++;
        atomic { in_futex[0] = false; in_futex[1] = false }
    :: else
    fi
}

proctype waiter(byte me)
{
    byte seen_epoch;
    bool is_ready;
again:
    if
    :: value == COMPLETERS -> goto out
    :: else
    fi;
#if defined(FR_MUTATE_WAIT_NO_ANNOUNCE_FENCE)
    if
    :: seen_epoch = epoch; is_ready = (value == COMPLETERS); announced++
    :: announced++; seen_epoch = epoch; is_ready = (value == COMPLETERS)
    fi;
#elif defined(FR_MUTATE_WAIT_LATE_EPOCH)
    announced++;
    is_ready = (value == COMPLETERS);
    seen_epoch = epoch;
#else
    announced++;
    seen_epoch = epoch;
    is_ready = (value == COMPLETERS);
#endif
    if
    :: is_ready -> skip
    :: else ->
        if
        :: atomic { epoch == seen_epoch -> in_futex[me] = true }
        :: atomic { epoch != seen_epoch -> skip }
        fi;
        (!in_futex[me])
    fi;
    announced--;
    goto again;
out:
    ended++
}

proctype monitor()
{
    timeout -> assert(ended == WAITERS && announced == 0)
}

init
{
    atomic {
        run machine(); run waiter(0); run waiter(1); run completer(0);
#if COMPLETERS > 1
        run completer(1);
#endif
        run monitor()
    }
}
