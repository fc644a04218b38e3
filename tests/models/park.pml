/* Parking (scheduler/graph_park.c): an op that parks up to PARKS times and is resumed by threads that run nothing, workers that
 * take its token or its lane's, and a thread that waits and runs it without a token. LANE: it is the first of two in a lane;
 * else it is an op of its own. WORKERS=0: nobody but the thread that waits.
 *
 * Every step that is one atomic access of the op's or the lane's word is one step here. A thread that waits looks again when it
 * was told to: `told` is its epoch, which it reads before it looks.
 *
 * Checked: nobody runs a parked op, nor two at a time; its token is in the queue once; what is resumed runs again, whichever
 * came first, and all is over in the end; an op of its own lets its record go once, and nobody touches it afterwards. */

#ifndef PARKS
#define PARKS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif

byte deps, parks, resumes, parked, queue = 1;
bool claimed, token = true, finished, running, told, blocked;
byte retired;
byte count = 2; /* ops in the lane */

inline push()
{
    assert(queue == 0);
    queue++;
    told = true
}

inline retire()
{
    assert(finished);
    retired++;
    assert(retired == 1)
}

/* Ends a share. The last one makes it runnable. */
inline end_share()
{
    assert(retired == 0);
#ifdef LANE
    atomic { deps--; is_last = (deps == 0) };
    if
    :: is_last ->
        atomic {
            assert(blocked);
            blocked = false;
            had_token = token;
            token = true
        }
    :: else
    fi;
#else
    atomic {
        deps--;
        is_last = (deps == 0);
        had_token = token;
        if
        :: is_last -> token = true
        :: else
        fi
    };
#endif
#ifdef FR_MUTATE_PARK_PUSHES_TWICE
    had_token = false;
#endif
    if
    :: is_last && !had_token -> push()
#ifdef FR_MUTATE_UNBLOCK_TELLS_NOBODY
    :: is_last && had_token -> skip
#else
    :: is_last && had_token -> told = true /* it may lie where nobody takes it */
#endif
    :: else
    fi;
    is_last = false;
    had_token = false
}

/* has_parked: or it is over. */
inline run_op()
{
    assert(!running && retired == 0 && !finished && parked == 0);
    running = true;
    if
    :: parks < PARKS ->
#ifdef RESUMED_BEFORE_IT_PARKS
        parks++;
        parked++;
        deps = deps + (deps == 0 -> 2 : 1);
#else
        deps = deps + (deps == 0 -> 2 : 1);
        atomic { parks++; parked++ };
#endif
        has_parked = true
    :: skip -> has_parked = false
    fi;
    running = false
}

#ifdef LANE

inline drain()
{
    do
    :: blocked -> assert(false)
    :: else ->
        if
        :: count == 2 ->
            if
            :: deps > 1 ->
                atomic { claimed = false; blocked = true };
                end_share();
                break
            :: else -> run_op();
                if
                :: !has_parked -> atomic { finished = true; count-- }; told = true
                :: else
                fi
            fi
        :: count == 1 ->
            assert(finished && parked == 0);
            atomic { count--; claimed = false; told = true };
            break
        fi
    od
}

inline take_token()
{
    atomic {
        token = false;
        mine = (count > 0 && !claimed && !blocked);
        if
        :: mine -> claimed = true
        :: else
        fi
    };
    if
    :: mine -> drain()
    :: else -> told = true
    fi;
    mine = false
}

#define IS_OVER (count == 0)
#define CLAIMABLE (count > 0 && !claimed && !blocked)

#else

inline drain()
{
    do
    :: run_op();
        if
        :: has_parked ->
            atomic {
                goes_on = (deps == 1);
#ifdef FR_MUTATE_PARK_IS_LEFT
                goes_on = false;
#endif
                deps--;
                if
                :: !goes_on -> claimed = false
                :: else
                fi
            };
            if
            :: goes_on -> skip
            :: else -> break
            fi
        :: else ->
            atomic { finished = true; had_token = token };
            if
            :: had_token -> skip
            :: else -> retire()
            fi;
            had_token = false;
            told = true;
            break
        fi
    od;
    goes_on = false
}

inline take_token()
{
    atomic {
        assert(retired == 0);
        token = false;
#ifdef FR_MUTATE_PARK_TOKEN_RUNS
        mine = !claimed;
#else
        mine = (!claimed && deps == 0);
#endif
        is_stale = finished;
        if
        :: mine -> claimed = true
        :: else
        fi
    };
    if
    :: mine -> drain()
    :: else ->
        if
        :: is_stale -> retire()
        :: else
        fi;
        told = true
    fi;
    mine = false;
    is_stale = false
}

#define IS_OVER finished
#define CLAIMABLE (!claimed && deps == 0 && !finished)

#endif

proctype worker()
{
    bool mine, has_parked, is_last, had_token, goes_on, is_stale;
end:
    do
    :: atomic { queue > 0 -> queue-- };
        take_token()
    od
}

proctype waiter()
{
    bool mine, has_parked, is_last, had_token, goes_on, is_stale;
end:
    do
    :: told = false;
        if
        :: IS_OVER -> break
        :: else
        fi;
        atomic {
            mine = CLAIMABLE;
            if
            :: mine -> claimed = true
            :: else
            fi
        };
        if
        :: mine -> drain()
        :: else ->
end_asleep:
            told
        fi;
        mine = false
    od
}

proctype resumer()
{
    bool is_last, had_token;
end:
    do
    :: atomic { parked > 0 -> parked--; resumes++ };
        end_share()
    od
}

proctype monitor()
{
    timeout -> assert(IS_OVER && resumes == parks && parked == 0);
#if !defined(LANE) && WORKERS > 0
    assert(retired == 1)
#endif
}

init
{
    byte n;
    atomic {
        do
        :: n < WORKERS -> run worker(); n++
        :: else -> break
        od;
        run waiter();
        run resumer();
        run resumer();
        run monitor()
    }
}
