/* Admission and the write floor (scheduler/graph_submit.c): WRITERS writers at one ordinal, a seal of it, and a worker.
 *
 * Acceptance is one lock. What it guards, here the accepted floor, is written by plain stores: they become visible to others only
 * when the machine lands them, and at the latest when the lock is given back, which is a release.
 *
 * Checked: when the seal runs, every op that was accepted at its ordinal has run, and none is accepted later. */

#ifndef WRITERS
#define WRITERS 3
#endif

bool lock;
bool floor, landing_floor; /* accepted; written, not visible yet */
byte joined, ran;          /* the lane: its word changes by read-modify-writes alone */
bool seal_waits, sealed;
byte seal_edge;            /* the lane's last op when the seal was accepted */

proctype machine()
{
end:
    do
    :: atomic { landing_floor -> landing_floor = false; floor = true }
    od
}

inline take()
{
    atomic { !lock -> lock = true }
}

inline give()
{
#ifndef FR_MUTATE_MUTEX_RELAXED_UNLOCK
    (!landing_floor);
#endif
    lock = false
}

proctype writer()
{
    bool refused;
#ifdef FR_MUTATE_ADMIT_CHECK_OUTSIDE_LOCK
    refused = floor;
    take();
#else
    take();
    refused = floor;
#endif
    if
    :: !refused -> joined++
    :: else
    fi;
    give()
}

proctype sealer()
{
    take();
    landing_floor = true;
    seal_edge = joined;
    seal_waits = true;
    give()
}

proctype worker()
{
end:
    do
    :: atomic { ran < joined -> assert(!sealed); ran++ }
    :: atomic { seal_waits && ran >= seal_edge -> assert(ran == joined); seal_waits = false; sealed = true }
    od
}

proctype monitor()
{
    timeout -> assert(ran == joined && sealed && !lock)
}

init
{
    byte k;
    atomic {
        run machine(); run sealer(); run worker(); run monitor();
        do
        :: k < WRITERS -> run writer(); k++
        :: else -> break
        od
    }
}
