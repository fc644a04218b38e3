/* Pins of versions (runtime/store/pin.h): readers, one who writes in place, one who kills the version; whoever is told to lets
 * go of the payload and uses the record anew.
 *
 * Memory is weak: what the writer writes waits in its store buffer and lands in any order, until a release empties it. A
 * read-modify-write of the pin word is one step; so is a compare-and-swap, since the value that was
 * loaded before it decides nothing.
 *
 * Also: RELAXED_END, RELAXED_DROP, orders that are too weak; TAKE_BACK, a take that adds first and takes a useless pin back;
 * TWO_WORDS, pins and X apart, which holds only FENCED.
 *
 * Checked: a pinned payload is whole and stays as it is; nobody reads while one is exclusive; a payload is let go when nobody
 * uses it, and none is forgotten. */

#define READERS 2
#ifndef TURNS
#define TURNS 2
#endif

byte pins;
bool X, D;              /* with pins: the word */
byte memory[2];         /* the payload, as others see it */
bool waits[2];          /* in the store buffer of the writer */
byte stored[2];
bool flag_waits;        /* TWO_WORDS: X in the store buffer */
byte reading, writing;  /* who may use the payload */

proctype machine()
{
end:
    do
    :: atomic { waits[0] -> memory[0] = stored[0]; waits[0] = false }
    :: atomic { waits[1] -> memory[1] = stored[1]; waits[1] = false }
#ifdef TWO_WORDS
    :: atomic { flag_waits -> X = true; flag_waits = false }
#endif
    od
}

/* fr_pin_init is a release: the new payload is there when the word is. */
inline let_go()
{
    atomic { assert(reading == 0 && writing == 0); memory[0] = 0; memory[1] = 0 };
    atomic { pins = 0; X = false; D = false }
}

inline take()
{
#if defined(FR_MUTATE_PIN_LOOK_THEN_ADD)
    got = !(X || D);
    if
    :: got -> atomic { pins++; reading++ }
    :: else
    fi
#elif defined(TAKE_BACK) || defined(TWO_WORDS)
#ifdef TWO_WORDS
    pins++;
    atomic { got = !X; reading = reading + got };
#else
    atomic { got = !(X || D); reading = reading + got; pins++ };
#endif
    if
    :: !got -> pins--
    :: else
    fi
#else
    atomic {
        got = !(X || D);
        if
        :: got -> pins++; reading++
        :: else
        fi
    }
#endif
}

inline look()
{
    first = memory[0];
    second = memory[1];
    assert(first == second);
    assert(memory[0] == first);
    first = 0;
    second = 0
}

proctype reader()
{
    byte turn, first, second;
    bool got, last;
    do
    :: turn < TURNS ->
        take();
        if
        :: got ->
#ifdef RELAXED_DROP
            if
            :: look(); atomic { last = D && pins == 1; reading--; pins-- }
            :: atomic { last = D && pins == 1; reading--; pins-- }; look()
            fi;
#else
            look();
            atomic { last = D && pins == 1; reading--; pins-- };
#endif
            if
            :: last -> let_go()
            :: else
            fi
        :: else
        fi;
        got = false;
        last = false;
        turn++
    :: else -> break
    od
}

inline exclusive()
{
#if defined(FR_MUTATE_PIN_CHECK_THEN_WRITE)
    got = pins == 0 && !X && !D;
    if
    :: got -> atomic { X = true; writing++ }
    :: else
    fi
#elif defined(TWO_WORDS)
    flag_waits = true;
#ifdef FENCED
    (!flag_waits);
#endif
    atomic { got = pins == 0; writing = writing + got }
#else
    atomic {
        got = pins == 0 && !X && !D;
        if
        :: got -> X = true; writing++
        :: else
        fi
    }
#endif
}

proctype writer()
{
    byte turn;
    bool got, dead;
    do
    :: turn < TURNS ->
        exclusive();
        if
        :: got ->
            assert(reading == 0);
            atomic { (!waits[0]); stored[0] = turn + 1; waits[0] = true };
            atomic { (!waits[1]); stored[1] = turn + 1; waits[1] = true };
            assert(reading == 0)
        :: else
        fi;
#ifndef RELAXED_END
        (!waits[0] && !waits[1] && !flag_waits);
#endif
        if
        :: got -> atomic { dead = D; X = false; writing-- }
        :: else
#ifdef TWO_WORDS
            -> X = false
#endif
        fi;
        if
        :: dead -> let_go()
        :: else
        fi;
        got = false;
        dead = false;
        turn++
    :: else -> break
    od
}

proctype killer()
{
    byte turn;
    bool alone;
    do
    :: turn < TURNS ->
        atomic { alone = pins == 0 && !X && !D; D = true };
        if
        :: alone -> let_go()
        :: else
        fi;
        turn++
    :: else -> break
    od
}

proctype monitor()
{
    timeout -> assert(pins == 0 && !X && !D)
}

init
{
    atomic {
        run machine(); run reader(); run reader(); run writer();
#ifndef TWO_WORDS
        run killer();
#endif
        run monitor()
    }
}
