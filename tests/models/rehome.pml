/* Keys that move to another segment (runtime/store/rehome.h): a seal, a writer who reads what it has written, a reader and a
 * judgement; or WRITERS=2, of an ordinal each, alone.
 *
 * Segments 0 and 1 have a key each, 2 is the new one. Each step under a lock is one step; who reads a counter has taken a lock
 * after who emptied a segment, so memory is not weak here.
 *
 * Also: TELLS_READERS_FIRST and EMPTIES_FIRST, the seal's steps in another order.
 *
 * Checked: nobody takes an emptied segment for what its keys are; a write that is complete is seen by who reads next; no write is
 * lost; a writer waits once; all ends. */

#ifndef WRITERS
#define WRITERS 1
#endif
#define BIT(who, key) (1 << (2 * (who) + (key)))

byte place[2];          /* of the keys */
bool retired[3], emptied[3];
byte claims[3];
byte opened[3];         /* who has written which key there, and is not sealed */
byte rehomed, derived;
bool sealing;           /* the seals' lock */
bool complete[2];

inline retire(segment)
{
    atomic {
        if
        :: claims[segment] == 0 && opened[segment] == 0 -> retired[segment] = true
        :: else -> goes_back = true
        fi
    }
}

inline clear(segment)
{
    atomic { assert(opened[segment] == 0); emptied[segment] = true }
}

proctype seal()
{
    bool goes_back;
    atomic { !sealing -> sealing = true };
    retire(0);
    if
    :: !goes_back -> retire(1)
    :: else
    fi;
    if
    :: goes_back ->
        retired[0] = false;
        retired[1] = false
    :: else ->
#ifdef EMPTIES_FIRST
        clear(0);
        clear(1);
#endif
#ifndef FR_MUTATE_REHOME_OPENS_TOO_EARLY
        retired[2] = true;
#endif
        place[0] = 2;
        place[1] = 2;
#ifdef TELLS_READERS_FIRST
        derived++;
        rehomed++;
#else
#ifndef FR_MUTATE_REHOME_KEEPS_BINDINGS
        rehomed++;
#endif
#ifndef FR_MUTATE_REHOME_TELLS_NO_READER
        derived++;
#endif
#endif
        retired[2] = false;
#ifndef EMPTIES_FIRST
        clear(0);
        clear(1)
#endif
    fi;
    sealing = false
}

/* By what is kept with the query, or looked up key by key. */
inline bind()
{
    if
    :: atomic { rehomed == 0 -> at[0] = 0; at[1] = 1 }
    :: at[0] = place[0]; at[1] = place[1]
    fi
}

inline claim(key)
{
    atomic {
        stays = true;
#ifndef FR_MUTATE_REHOME_LETS_WRITERS_IN
        stays = !retired[at[key]];
        claims[at[key]] = claims[at[key]] + stays
#endif
    }
}

inline let_go(key)
{
#ifndef FR_MUTATE_REHOME_LETS_WRITERS_IN
    claims[at[key]]--
#else
    skip
#endif
}

inline write(key)
{
    atomic {
        opened[at[key]] = opened[at[key]] | BIT(me, key);
#ifndef FR_MUTATE_REHOME_LETS_WRITERS_IN
        claims[at[key]]--
#endif
    }
}

inline look(key)
{
    atomic {
        found = found | (opened[at[key]] & (BIT(0, key) | BIT(1, key)));
        gone = gone || emptied[at[key]]
    }
}

inline begin()
{
    atomic {
        found = 0;
        gone = false;
        wanted = (complete[0] -> BIT(0, 0) | BIT(0, 1) : 0) | (complete[1] -> BIT(1, 0) | BIT(1, 1) : 0)
    }
}

inline read()
{
    begin();
    do
    :: true ->
        seen = derived;
        bind();
        look(0);
        look(1);
        if
        :: derived == seen -> break
        :: else -> atomic { found = 0; gone = false }
        fi
    od;
    assert(!gone);
    assert((found & wanted) == wanted)
}

proctype writer(byte me)
{
    byte at[2], waits, found, wanted, seen;
    bool stays, gone;
    do
    :: true ->
        bind();
        claim(0);
        if
        :: stays ->
            claim(1);
            if
            :: stays -> break
            :: else -> let_go(0)
            fi
        :: else
        fi;
        waits++;
        assert(waits < 2);
        (!sealing)
    od;
    write(0);
    write(1);
    complete[me] = true;
    read()
}

proctype reader()
{
    byte at[2], found, wanted, seen;
    bool gone;
    read()
}

/* Of one key. */
proctype judge()
{
    byte at[1], found, wanted, seen;
    bool gone;
    begin();
    do
    :: true ->
        seen = rehomed;
        at[0] = place[0];
        look(0);
        if
        :: rehomed == seen -> break
        :: else -> atomic { found = 0; gone = false }
        fi
    od;
    assert(!gone);
    assert((found & wanted & (BIT(0, 0) | BIT(1, 0))) == (wanted & (BIT(0, 0) | BIT(1, 0))))
}

proctype monitor()
{
    timeout ->
    assert(complete[0] && (complete[1] || WRITERS == 1) && !sealing);
    assert((opened[place[0]] & BIT(0, 0)) != 0 && (opened[place[1]] & BIT(0, 1)) != 0);
    assert(WRITERS == 1 || ((opened[place[0]] & BIT(1, 0)) != 0 && (opened[place[1]] & BIT(1, 1)) != 0));
    assert(claims[0] == 0 && claims[1] == 0 && claims[2] == 0)
}

init
{
    atomic {
        place[1] = 1;
        run seal();
        run writer(0);
#if WRITERS > 1
        run writer(1);
#else
        run reader(); run judge();
#endif
        run monitor()
    }
}
