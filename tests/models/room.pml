/* Waiting for room in pinned memory (runtime/device/park.h, staging.h): two ops want some, one of which waits for its producers'
 * fence as well; a piece of somebody's takes all there is, and is given back. The fence gets over at any time; from then on that
 * op has room elsewhere. An op that finds room begins, and takes a piece in a later step, above the limit if need be; or it is
 * dropped, or fails, and takes none.
 *
 * One step is what is done under the device's lock.
 *
 * Checked: each op that parks is resumed once, both end, and nobody looks at the record of one that has. */

#define OPS 2
#define NOBODY 9
#define STALLED 1 /* the op with a fence */

byte taken = 1;
#define HAS_ROOM (taken < 1)
bool fence_over, entered, is_ready, in_list[OPS], done[OPS];
byte wanted[OPS]; /* resumes that are to come */
byte resumes[OPS];

inline resume(n)
{
    atomic {
        assert(wanted[n] > 0); /* not once more than it parked, nor when it is over */
        wanted[n]--;
        resumes[n]++
    }
}

/* Who has ended its wait: the call of the fence is not made any more, or it resumes. */
inline resume_unless_called(n)
{
    if
    :: n == STALLED ->
        atomic { is_mine = entered; entered = false };
        if
        :: is_mine -> resume(n)
        :: else
        fi;
        is_mine = false
    :: else -> resume(n)
    fi
}

inline give_back()
{
    taken--;
#ifndef FR_MUTATE_DEVICE_ROOM_TELLS_NOBODY
    do
    :: atomic {
            if
            :: HAS_ROOM && in_list[0] -> given = 0
            :: HAS_ROOM && in_list[1] -> given = 1
            :: !HAS_ROOM || (!in_list[0] && !in_list[1]) -> given = NOBODY
            fi;
            if
            :: given != NOBODY ->
                assert(!done[given]); /* its record lies with the op */
                in_list[given] = false
            :: else
            fi
        };
        if
        :: given != NOBODY -> resume_unless_called(given)
        :: else -> break
        fi;
#ifdef FR_MUTATE_DEVICE_ROOM_TELLS_ONE
        break
#endif
    od;
#endif
    given = NOBODY
}

proctype op(byte self)
{
    byte given = NOBODY;
    bool is_mine, waits, over;
    do
    :: over = (self == STALLED && fence_over);
        if
        :: over || HAS_ROOM -> break
        :: else
        fi;
        /* parks */
#ifdef CHECK_THEN_LINK
        waits = !HAS_ROOM;
#endif
        wanted[self]++;
        is_mine = false;
        if
        :: self == STALLED ->
            is_ready = false;
            atomic {
                over = fence_over;
                if
                :: !over -> entered = true
                :: else
                fi
            };
            if
            :: over -> resume(self)
            :: else
            fi
        :: else -> over = false
        fi;
        if
        :: over -> skip
        :: else ->
            atomic {
#ifndef CHECK_THEN_LINK
                waits = !HAS_ROOM;
#endif
                waits = waits && !(self == STALLED && is_ready);
                in_list[self] = waits
            };
            if
            :: waits -> skip
            :: else -> resume_unless_called(self)
            fi
        fi;
        atomic { resumes[self] > 0 -> resumes[self]--; assert(wanted[self] == 0) }
    od;
    if
    :: over -> skip /* its piece is of the other kind */
    :: !over -> taken++; give_back()
    :: !over -> skip /* dropped */
    fi;
    done[self] = true
}

/* Who has the piece at first. */
proctype holder()
{
    byte given = NOBODY;
    bool is_mine;
    give_back()
}

proctype fence()
{
    bool calls;
    atomic { fence_over = true; calls = entered; entered = false };
    if
    :: calls ->
        atomic {
            is_ready = true;
#ifndef READY_STAYS_IN_LIST
            in_list[STALLED] = false
#endif
        };
        resume(STALLED)
    :: else
    fi
}

proctype monitor()
{
    timeout -> assert(done[0] && done[1] && taken == 0 && wanted[0] == 0 && wanted[1] == 0)
}

init
{
    atomic {
        run holder();
        run op(0);
        run op(1);
        run fence();
        run monitor()
    }
}
