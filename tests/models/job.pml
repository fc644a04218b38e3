/* Fork-join (scheduler/job.h): the thread that starts a job of CHUNKS chunks, two workers that take its token, and two
 * threads that come to help by themselves.
 *
 * Checked: each chunk runs once, the job finishes once and after all bodies, it is released once and after that, and nobody
 * touches it afterwards (but for looking at the count of references, whose memory is type-stable). */

#define CHUNKS 2
#define INVITATIONS 2

bool started, alive, finished, released;
byte next, left = CHUNKS, refs, invitations = INVITATIONS;
byte token; /* pushed and not yet taken */
byte body[CHUNKS];

inline drop()
{
    atomic { assert(alive); refs--; last = (refs == 0) };
    if
    :: last ->
        assert(finished && !released);
        released = true;
        alive = false
    :: else
    fi;
    last = false
}

inline count_down()
{
    atomic { assert(alive); left--; last = (left == 0) };
    if
    :: last -> counted_last = true
    :: else
    fi;
    last = false
}

inline run_body()
{
    assert(alive && !finished);
    body[n]++;
    assert(body[n] == 1)
}

inline work()
{
    do
    :: next < CHUNKS ->
        atomic { assert(alive); n = next; next++ };
        if
        :: n >= CHUNKS -> break
        :: else
        fi;
#ifdef FR_MUTATE_JOB_COUNT_BEFORE_BODY
        count_down();
        run_body();
#else
        run_body();
        count_down();
#endif
        if
        :: counted_last ->
            assert(!finished && body[0] == 1 && body[1] == 1);
            finished = true
        :: else
        fi;
        counted_last = false
    :: else -> break
    od;
    n = 0
}

inline invite()
{
    assert(alive);
    if
    :: invitations > 0 && next < CHUNKS ->
        invitations--;
#ifndef FR_MUTATE_JOB_TOKEN_WITHOUT_REFERENCE
        refs++;
#endif
        assert(token == 0); /* one place in the list */
        token++
    :: else
    fi
}

proctype starter()
{
    byte n;
    bool last, counted_last;
    atomic { alive = true; refs = 1; started = true };
    invite();
    work();
    drop()
}

proctype worker()
{
    byte n;
    bool last, counted_last;
end:
    do
    :: atomic { token > 0 -> token-- };
        invite();
        work();
        drop()
    od
}

proctype helper()
{
    byte n;
    bool last, counted_last;
    if
    :: atomic { refs > 0 -> refs++ };
        work();
        drop()
    :: atomic { refs == 0 -> skip }
    fi
}

proctype monitor()
{
    timeout -> assert(started && finished && released && refs == 0 && left == 0)
}

init
{
    atomic { run starter(); run worker(); run worker(); run helper(); run helper(); run monitor() }
}
