/* The intake (scheduler/intake.h): two pushers, two takers, and a last take when all is quiet.
 *
 * A push is an exchange of the head and then a store of the link; in between the token's link says so. The exchange releases, so a
 * pusher's stores cannot be delayed beyond its next push, and single steps are all the weakness there is.
 *
 * Checked: every token is handed on exactly once, and no pusher writes to a token that was handed on. */

#define TOKENS 3
#define NONE 0
#define UNLINKED 9

byte newest = NONE;
byte next[TOKENS + 1];
bool handed[TOKENS + 1];
byte pushing = 2;

inline link(token)
{
    assert(!handed[token]); /* it may be freed by now */
    next[token] = before
}

inline push(token)
{
    next[token] = UNLINKED;
#ifdef FR_MUTATE_INTAKE_CHECK_THEN_STORE
    before = newest;
    newest = token;
#else
    atomic { before = newest; newest = token };
#endif
    link(token);
    before = NONE
}

inline take()
{
    atomic { list = newest; newest = NONE };
    do
    :: list != NONE ->
#ifdef FR_MUTATE_INTAKE_NO_LINK_WAIT
        after = next[list];
        if
        :: after == UNLINKED -> after = NONE
        :: else
        fi;
#else
        atomic { next[list] != UNLINKED -> after = next[list] };
#endif
        assert(!handed[list]);
        handed[list] = true;
        list = after
    :: else -> break
    od;
    after = NONE
}

proctype pusher(byte first, last)
{
    byte before, n;
    n = first;
    do
    :: n <= last -> push(n); n++
    :: else -> break
    od;
    pushing--
}

proctype taker()
{
    byte list, after;
    take();
    take()
}

init
{
    byte list, after;
    atomic { run pusher(1, 2); run pusher(3, 3); run taker(); run taker() }
    (pushing == 0 && _nr_pr == 1);
    take();
    assert(handed[1] && handed[2] && handed[3])
}
