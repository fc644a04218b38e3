/* The stack of what open ordinals have made (runtime/store/touch.h): two writers that push, two takers (a seal, a discard) that empty
 * it under a lock, and a last take when all is quiet.
 *
 * Records are few and used again: one that a seal has taken may be pushed by another writer while a third still has its address as the
 * top that he saw. A push that then succeeds puts its record on that one, whichever it is by now, so it is on the stack; nobody takes
 * a part of the stack by an address that he saw before.
 *
 * A writer's plain stores (the link, and what the record says) wait in his store buffer: a compare-and-swap that releases empties it
 * first. With a relaxed one they may come later. What is not modelled: a taker's loads that are satisfied before its exchange, which
 * acquires.
 *
 * Checked: each push is taken once, what it says is what its writer wrote, and nothing is lost.
 *
 * -DTAKE_ONE: a taker takes the top alone, by the link that it has read. With the lock nobody else takes it meanwhile, so that is right
 * too; -DNO_LOCK: without, the top may be another use of the same record by then. */

#define WRITERS 2
#define PUSHES 2 /* each */
#define RECORDS 2
#define NONE 0

byte newest = NONE;
byte next[RECORDS + 1], says[RECORDS + 1]; /* memory */
byte use[RECORDS + 1];                     /* how often it was given out: what it is to say */
bool given[RECORDS + 1], stacked[RECORDS + 1], kept[RECORDS + 1];
byte delayed[WRITERS], delayed_next[WRITERS]; /* the store buffers: whose link and word; NONE: empty */
byte pushed = 0, taken = 0, writing = WRITERS;
bool locked = false;

inline flush(w)
{
    d_step {
        if
        :: delayed[w] != NONE ->
            next[delayed[w]] = delayed_next[w];
            says[delayed[w]] = use[delayed[w]];
            delayed[w] = NONE
        :: else
        fi
    }
}

/* What is not on the way anywhere. */
inline get(record)
{
    atomic {
        if
        :: !given[1] -> record = 1
        :: !given[2] -> record = 2
        :: else -> record = NONE
        fi;
        if
        :: record != NONE -> given[record] = true; use[record]++
        :: else
        fi
    }
}

inline push(w, record)
{
    seen = newest;
    swapped = false;
    do
    :: !swapped ->
        d_step {
            delayed[w] = record;
            delayed_next[w] = seen;
#ifndef FR_MUTATE_TOUCH_RELAXED_PUSH
            next[record] = seen; /* nobody looks at it before the next step */
            says[record] = use[record];
            delayed[w] = NONE
#endif
        };
        atomic {
            if
            :: newest == seen -> newest = record; stacked[record] = true; pushed++; swapped = true
            :: else -> seen = newest
            fi
        }
    :: else -> break
    od
}

proctype writer(byte w)
{
    byte k = 0, record = NONE, seen = NONE;
    bool swapped = false;
    do
    :: k < PUSHES ->
        delayed[w] == NONE;
        get(record);
        if
        :: record != NONE -> push(w, record)
        :: else
        fi;
        record = NONE;
        k++
    :: else -> break
    od;
    delayed[w] == NONE;
    writing--
}

/* What is buffered gets to memory at some time. */
proctype memory()
{
    do
    :: delayed[0] != NONE -> flush(0)
    :: delayed[1] != NONE -> flush(1)
    :: writing == 0 -> break
    od
}

/* Sealed: its record may be used again at once. Else it is put in order, for a later take. */
inline have(record, all)
{
    d_step {
        assert(stacked[record]);
        assert(says[record] == use[record]);
        stacked[record] = false;
        taken++
    }
    if
    :: given[record] = false
    :: !all -> kept[record] = true
    fi
}

inline take_order()
{
    k = 1;
    do
    :: k <= RECORDS ->
        atomic {
            if
            :: kept[k] -> kept[k] = false; given[k] = false
            :: else
            fi
        };
        k++
    :: else -> k = 0; break
    od
}

inline take(all)
{
#ifndef NO_LOCK
    atomic { !locked -> locked = true };
#endif
#ifdef TAKE_ONE
    list = newest;
    do
    :: list != NONE ->
        after = next[list];
        atomic {
            if
            :: newest == list -> newest = after
            :: else -> list = NONE /* another time */
            fi
        };
        if
        :: list != NONE -> have(list, all); list = newest
        :: else -> list = (all -> newest : NONE)
        fi
    :: else -> break
    od;
#else
    atomic { list = newest; newest = NONE };
    do
    :: list != NONE ->
        after = next[list]; /* before the record may be somebody's */
        have(list, all);
        list = after
    :: else -> break
    od;
#endif
    take_order();
    after = NONE;
#ifndef NO_LOCK
    locked = false
#endif
}

proctype taker()
{
    byte list = NONE, after = NONE, k = 0;
    take(false)
}

init
{
    byte list = NONE, after = NONE, k = 0;
    atomic { run memory(); run writer(0); run writer(1); run taker(); run taker() }
    (writing == 0 && _nr_pr == 1);
    take(true);
    assert(pushed == taken && newest == NONE);
    assert(!stacked[1] && !stacked[2])
}
