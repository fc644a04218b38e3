/* The deque (scheduler/deque.c): one owner that pushes, pops and grows its ring once, and two thieves.
 *
 * Memory is weak: the owner's stores wait in a buffer and land in any order but that of one word and of releases. Thieves
 * write by compare-and-swap alone, so they need no buffer; without their fence their two loads may swap.
 *
 * Checked: every token is taken exactly once, and nothing is read from a slot that was not written. */

#define TOKENS 3
#define FIRST_SLOTS 2 /* ring 0; ring 1 has twice as many */
#define BUFFER 4

/* words: 0 bottom, 1 ring, 2.. slots of ring 0, then those of ring 1 */
#define BOTTOM 0
#define RING 1
#define SLOT(r, i) (2 + (r) * FIRST_SLOTS + (i) % (FIRST_SLOTS * (1 + (r))))
#define WORDS (2 + FIRST_SLOTS * 3)

byte memory[WORDS];
byte top;
byte taken[TOKENS + 1];

byte word[BUFFER], value[BUFFER];
bool release[BUFFER];
byte buffered;

#ifdef FR_MUTATE_DEQUE_RELAXED_PUBLISH
#define PUBLISH_RELEASES false
#else
#define PUBLISH_RELEASES true
#endif
#ifdef FR_MUTATE_DEQUE_RELAXED_PUSH
#define PUSH_RELEASES false
#else
#define PUSH_RELEASES true
#endif

inline take(token)
{
    assert(token > 0 && token <= TOKENS); /* a slot that was written */
    assert(taken[token] == 0);
    taken[token] = 1
}

/* Lands the store at place `at`. */
inline land(at)
{
    memory[word[at]] = value[at];
    k = at;
    do
    :: k + 1 < buffered -> word[k] = word[k + 1]; value[k] = value[k + 1]; release[k] = release[k + 1]; k++
    :: else -> break
    od;
    buffered--;
    word[buffered] = 0; value[buffered] = 0; release[buffered] = false; k = 0
}

#define OTHERS1 (word[0] != word[1])
#define OTHERS2 (word[0] != word[2] && word[1] != word[2])

proctype machine()
{
    byte k;
end:
    do
    :: atomic { buffered > 0 -> land(0) }
    :: atomic { buffered > 1 && !release[1] && OTHERS1 -> land(1) }
    :: atomic { buffered > 2 && !release[2] && OTHERS2 -> land(2) }
    od
}

inline store(w, v, r)
{
    atomic { buffered < BUFFER -> word[buffered] = w; value[buffered] = v; release[buffered] = r; buffered++ }
}

inline fence()
{
    (buffered == 0)
}

byte owner_bottom, owner_ring; /* the owner's own words, as it knows them */
bool done;

inline push(token)
{
    if
    :: owner_ring == 0 && owner_bottom - top >= FIRST_SLOTS ->
        i = top;
        do
        :: i < owner_bottom -> store(SLOT(1, i), copy[SLOT(0, i)], false); copy[SLOT(1, i)] = copy[SLOT(0, i)]; i++
        :: else -> break
        od;
        owner_ring = 1;
        store(RING, 1, PUBLISH_RELEASES)
    :: else
    fi;
    store(SLOT(owner_ring, owner_bottom), token, false);
    copy[SLOT(owner_ring, owner_bottom)] = token;
    owner_bottom++;
    store(BOTTOM, owner_bottom, PUSH_RELEASES)
}

inline pop()
{
    if
    :: owner_bottom <= top -> exhausted = true
    :: else ->
        owner_bottom--;
        store(BOTTOM, owner_bottom, true);
#ifndef FR_MUTATE_DEQUE_NO_POP_FENCE
        fence();
#endif
        t = top;
        if
        :: t < owner_bottom -> take(copy[SLOT(owner_ring, owner_bottom)])
        :: t == owner_bottom ->
            fence(); /* the compare-and-swap releases */
            if
            :: atomic { top == t -> top++; take(copy[SLOT(owner_ring, owner_bottom)]) }
            :: atomic { top != t -> skip }
            fi;
            owner_bottom++;
            store(BOTTOM, owner_bottom, true)
        :: else ->
            owner_bottom++;
            store(BOTTOM, owner_bottom, true)
        fi;
        t = 0
    fi
}

proctype owner()
{
    byte copy[WORDS]; /* slots as the owner wrote them */
    byte i, t;
    bool exhausted;
    push(1);
    push(2);
    push(3);
    do
    :: !exhausted -> pop()
    :: exhausted -> break
    od;
    done = true
}

proctype thief(byte steals)
{
    byte t, b, r, v;
    do
    :: steals > 0 ->
        steals--;
#ifdef FR_MUTATE_DEQUE_NO_STEAL_FENCE
        if
        :: t = top; b = memory[BOTTOM]
        :: b = memory[BOTTOM]; t = top
        fi;
#else
        t = top;
        b = memory[BOTTOM];
#endif
        if
        :: t < b ->
            r = memory[RING];
            v = memory[SLOT(r, t)];
            if
            :: atomic { top == t -> top++; take(v) }
            :: atomic { top != t -> skip }
            fi
        :: else
        fi;
        t = 0; b = 0; r = 0; v = 0
    :: else -> break
    od
}

init
{
    atomic { run machine(); run owner(); run thief(2); run thief(1) }
    (done && _nr_pr == 2);
    assert(taken[1] == 1 && taken[2] == 1 && taken[3] == 1)
}
