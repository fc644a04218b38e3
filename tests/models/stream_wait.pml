/* Waiting for a stream of ours (runtime/device/park.h): an op that is not stalled, and one whose producers' fence is pending, want
 * the one stream that there may be, which somebody has, gives back, and leaves work in that ends. The fence gets over at any
 * time; from then on the second op may have the spare stream, which has no other user. FAILS: who has it is still making it, and
 * cannot: then others may make one. TURNS: it stalls, for longer than the first op lasts, for which there is one more from then
 * on.
 *
 * One step is what is done under the device's lock.
 *
 * Checked: each op that parks is resumed once, both get a stream in the end, and no stream is taken by nobody. */

#define OPS 2
#define NOBODY 9
#define STALLED 1 /* the op with a fence */
#define WORK 0

bool stream_taken = true, stream_works, fence_over, entered, limited = true;
bool may_make, more_is_free, more_is_given; /* one more, for the op without a fence */
#define HAS_MORE(n) (n == WORK && (may_make || more_is_free || more_is_given))
bool is_ready, in_list[OPS], has[OPS], done[OPS];
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
#ifdef FR_MUTATE_DEVICE_PARKED_IS_RESUMED_TWICE
        is_mine = true;
#endif
        if
        :: is_mine -> resume(n)
        :: else
        fi;
        is_mine = false
    :: else -> resume(n)
    fi
}

/* With the lock: to who waits for it. */
inline give()
{
    given = NOBODY;
#ifndef FR_MUTATE_DEVICE_GIVE_TELLS_NOBODY
    if
    :: stream_taken || stream_works -> skip
    :: else ->
        if
        :: in_list[0] -> given = 0
        :: !in_list[0] && in_list[1] -> given = 1
        :: else
        fi;
        if
        :: given != NOBODY -> in_list[given] = false; has[given] = true; stream_taken = true
        :: else
        fi
    fi
#endif
}

inline give_back(with_work)
{
    atomic {
        stream_taken = false;
        stream_works = with_work;
        give()
    };
    if
    :: given != NOBODY -> resume_unless_called(given)
    :: else
    fi;
    given = NOBODY
}

proctype op(byte self)
{
    byte given = NOBODY;
    bool is_mine, found, waits, over;
    do
    :: over = (self == STALLED && fence_over);
        atomic {
            found = has[self];
            if
            :: !found && (over || !limited) -> found = true /* another one */
            :: !found && HAS_MORE(self) ->
                found = true;
                may_make = false
            :: !found && !over && limited && !stream_taken && !stream_works && !HAS_MORE(self) ->
                found = true;
                stream_taken = true;
                has[self] = true
            :: else
            fi
        };
        if
        :: found -> break
        :: else
        fi;
        /* parks */
#ifdef CHECK_THEN_LINK
        waits = (stream_taken || stream_works) && limited && !HAS_MORE(self);
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
                waits = (stream_taken || stream_works) && limited && !HAS_MORE(self);
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
    :: has[self] -> has[self] = false; give_back(true)
    :: else
    fi;
    done[self] = true
}

#ifndef FAILS
/* Who has the stream at first. */
proctype holder()
{
    byte given = NOBODY;
    bool is_mine;
#ifndef TURNS
    if
    :: give_back(true)
    :: give_back(false)
    fi
#else
    bool makes;
#ifndef FR_MUTATE_DEVICE_NEVER_TURNS
    atomic {
        makes = in_list[WORK];
#ifdef FR_MUTATE_DEVICE_TURNED_TELLS_NOBODY
        makes = false;
#endif
        may_make = !makes /* else it is counted */
    };
    if
    :: makes ->
        atomic {
            if
            :: in_list[WORK] -> in_list[WORK] = false; more_is_given = true; given = WORK
            :: else -> more_is_free = true
            fi
        };
        if
        :: given != NOBODY -> resume_unless_called(given)
        :: else
        fi;
        given = NOBODY
    :: else
    fi;
#endif
    give_back(true)
#endif
}
#else
proctype maker()
{
    byte given = NOBODY;
    bool is_mine;
    limited = false;
#ifndef FR_MUTATE_DEVICE_UNMADE_TELLS_NOBODY
    do
    :: atomic {
            given = (in_list[0] -> 0 : (in_list[1] -> 1 : NOBODY));
            if
            :: given != NOBODY -> in_list[given] = false
            :: else
            fi
        };
        if
        :: given != NOBODY -> resume_unless_called(given)
        :: else -> break
        fi
    od;
#endif
    stream_taken = false /* there is none: nobody takes it, since it is told by `limited` */
}
#endif

/* Looks at the work of the stream: each time that it is over the stream may be given away. */
proctype looker()
{
    byte given = NOBODY;
    bool is_mine;
end:
    do
#ifdef TURNS
    :: atomic { stream_works && done[WORK] -> stream_works = false; give() };
#else
    :: atomic { stream_works -> stream_works = false; give() };
#endif
        if
        :: given != NOBODY -> resume_unless_called(given)
        :: else
        fi;
        given = NOBODY
    od
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
    timeout -> assert(done[0] && done[1] && !stream_taken && wanted[0] == 0 && wanted[1] == 0)
}

init
{
    atomic {
#ifdef FAILS
        run maker();
#else
        run holder();
#endif
        run op(0);
        run op(1);
        run looker();
        run fence();
        run monitor()
    }
}
