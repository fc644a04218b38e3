/* Waits inside ops (scheduler/graph_walk.c, graph_condition.c): THREADS threads, each inside an op of its own, of several graphs.
 * Each completes its op at once, or waits first: for the op of another, for op X, or for room.
 *
 * A wait enters a frame when a walk through frames finds that it closes no cycle. The frames have one lock; under it the walk takes
 * one step at a time, between which ops complete and others are accepted, since it holds the admission of one graph at a time.
 *
 * With ROOM there are also waits for room, and op X: accepted at some moment into a lane whose token is out, perhaps with an edge
 * from the op of thread 0, and run by who waits for it or for room. Who sleeps for room is woken by what others tell; before it
 * sleeps it looks whether any op can complete before such a wait ends, and is refused when none can.
 *
 * Checked: when nothing moves any more, all threads have ended, so of the waits that close a cycle one is refused. Who is refused
 * for a cycle would have closed one of threads that do wait. Who is refused for room has seen no thread at work, and nothing to
 * run. */

#ifndef THREADS
#define THREADS 3
#endif
#define X THREADS
#define NO_FRAME 0
#define FOR_OP 1
#define FOR_ROOM 2
#define NOT_ACCEPTED 0
#define RUNNABLE 1
#define HELD 2
#define BLOCKED 3
#define OVER 4

byte frame[THREADS], awaited[THREADS], room[THREADS];
bool waits[THREADS];       /* in earnest: what the refusals are judged by */
bool frames_lock;
bool done[THREADS];        /* entries */
bool settled[THREADS];     /* out of their lanes */
byte pending = THREADS;    /* not counted out */
byte x, x_edges;           /* its lane, and edges with its own share */
bool x_has_edge;
byte announced;
bool changed[THREADS];     /* the epoch is another one than the waiter has read */
byte ended;

inline tell()
{
    if
    :: announced > 0 ->
        atomic {
            k = 0;
            do
            :: k < THREADS -> changed[k] = true; k++
            :: else -> break
            od;
            k = 0
        }
    :: else
    fi
}

/* From op `start`; closed: it leads to op `mine`, or with for_room to a wait for room. */
inline walk(start, mine, for_room)
{
    at = start;
    closed = false;
    do
    :: atomic {
            at == X ->
                if
                :: x != OVER && x_has_edge && !done[0] -> at = 0
                :: else -> at = 0; break
                fi
       }
    :: atomic {
            at < X ->
                if
                :: done[at] -> at = 0; break
                :: !done[at] && at == mine -> closed = true; at = 0; break
                :: !done[at] && at != mine && frame[at] == FOR_OP -> at = awaited[at]
                :: !done[at] && at != mine && frame[at] == FOR_ROOM ->
                    closed = (for_room && pending > room[at]);
                    at = 0;
                    break
                :: !done[at] && at != mine && frame[at] == NO_FRAME -> at = 0; break
                fi
       }
    od
}

inline judge_cycle()
{
    atomic {
        at = awaited[me];
        do
        :: at == me -> break
        :: at != me && at == X -> assert(x != OVER && x_has_edge && !done[0]); at = 0
        :: at != me && at < X -> assert(!done[at] && waits[at] && frame[at] == FOR_OP); at = awaited[at]
        od;
        at = 0
    }
}

inline lock_frames()
{
    atomic { !frames_lock -> frames_lock = true }
}

inline leave()
{
    lock_frames();
    atomic { frame[me] = NO_FRAME; waits[me] = false; frames_lock = false }
}

/* Leaves the right to drain the lane of X, or runs X. */
inline drain_x()
{
    if
    :: x_edges > 1 ->
        x = BLOCKED;
#ifndef FR_MUTATE_WAIT_NO_LOOK_AT_BLOCKED
        tell();
#endif
        x_edges--;
        if
        :: atomic { x_edges == 0 -> x = RUNNABLE }; tell()
        :: else
        fi
    :: x_edges <= 1 ->
        atomic { x = OVER; x_edges = 0 };
        pending--;
        tell()
    fi
}

inline wait_for_op()
{
    lock_frames();
#ifdef ENTER_FIRST
    frame[me] = FOR_OP;
    frames_lock = false;
    lock_frames();
#endif
    walk(awaited[me], me, false);
#ifdef FR_MUTATE_FRAME_CHECK_THEN_ENTER
    frames_lock = false;
    lock_frames();
#endif
    if
    :: closed -> judge_cycle(); frames_lock = false; leave()
    :: else ->
        atomic { frame[me] = FOR_OP; waits[me] = true; frames_lock = false };
#ifndef FR_MUTATE_WAIT_NO_LOOK_AT_FRAMES
        tell();
#endif
        do
        :: awaited[me] < X && done[awaited[me]] -> break
        :: awaited[me] == X && (x == OVER || x == NOT_ACCEPTED) -> break
        :: atomic { awaited[me] == X && x == RUNNABLE -> x = HELD }; drain_x()
#ifdef TIMED
        :: true -> break
#endif
        od;
        leave()
    fi
}

/* Under the lock of the frames. open: an op can complete before a wait for room ends. */
inline look_for_progress()
{
    atomic {
        x_seen = (x != NOT_ACCEPTED);
        open = pending <= room[me] || x == RUNNABLE || x == HELD;
        seen = (x == BLOCKED);
        k = 0;
        do
        :: k < THREADS ->
            if
            :: settled[k] -> skip
            :: else ->
                seen++;
                open = open || frame[k] == NO_FRAME
            fi;
            k++
        :: else -> break
        od;
        k = 0;
        open = open || seen != pending;
        seen = 0
    };
    holder = 0;
    do
    :: holder < THREADS && !open ->
        if
        :: settled[holder] -> skip
        :: !settled[holder] && frame[holder] == FOR_ROOM -> open = pending <= room[holder]
        :: else -> walk(awaited[holder], THREADS + 1, true); open = !closed
        fi;
        holder++
    :: else -> break
    od;
    holder = 0
}

inline judge_room()
{
    atomic {
        assert(!x_seen || (x != RUNNABLE && x != HELD)); /* else it was accepted since */
        k = 0;
        do
        :: k < THREADS -> assert(settled[k] || frame[k] != NO_FRAME); k++
        :: else -> break
        od;
        k = 0
    }
}

inline wait_for_room()
{
    lock_frames();
    atomic { frame[me] = FOR_ROOM; waits[me] = true; frames_lock = false };
#ifndef FR_MUTATE_WAIT_NO_LOOK_AT_FRAMES
    tell();
#endif
    do
    :: pending <= room[me] -> break
    :: else ->
        if
        :: atomic { x == RUNNABLE -> x = HELD }; drain_x()
        :: x != RUNNABLE ->
            atomic { announced++; changed[me] = false };
            if
            :: pending <= room[me] || x == RUNNABLE -> open = false
            :: else ->
                lock_frames();
                look_for_progress();
                if
                :: !open -> judge_room(); frames_lock = false; announced--; break
                :: else -> frames_lock = false
                fi;
                (changed[me]);
                open = false
            fi;
            announced--
        fi
    od;
    open = false;
    x_seen = false;
    leave()
}

proctype thread(byte me)
{
    byte at, k, seen, holder;
    bool closed, open, x_seen;
    if
    :: true /* completes at once */
    :: awaited[me] = (me + 1) % THREADS; wait_for_op()
    :: awaited[me] = (me + 2) % THREADS; wait_for_op()
#ifdef ROOM
    :: atomic { x != NOT_ACCEPTED -> awaited[me] = X }; wait_for_op()
    :: room[me] = 0; wait_for_room()
    :: room[me] = 1; wait_for_room()
    :: room[me] = 2; wait_for_room()
#endif
    fi;
    atomic {
        done[me] = true;
        closed = (me == 0 && x_has_edge);
        if
        :: closed -> x_edges--; closed = (x_edges == 0 && x == BLOCKED)
        :: else -> closed = false
        fi;
        if
        :: closed -> x = RUNNABLE
        :: else
        fi
    };
    if
    :: closed -> tell()
    :: else
    fi;
    closed = false;
    settled[me] = true;
    pending--;
    tell();
    ended++
}

proctype submitter()
{
    byte k;
    atomic {
        x = RUNNABLE;
        x_edges = 1;
        pending++;
        if
        :: x_edges = 1
        :: !done[0] -> x_edges = 2; x_has_edge = true
        fi
    };
#ifndef FR_MUTATE_JOIN_TELLS_NOBODY
    tell()
#endif
}

proctype monitor()
{
    timeout -> assert(ended == THREADS && announced == 0 && !frames_lock)
}

init
{
    atomic {
        run thread(0); run thread(1);
#if THREADS > 2
        run thread(2);
#endif
#ifdef ROOM
        run submitter();
#endif
        run monitor()
    }
}
