/* The pin word of a version: what keeps its payload as it is.
 *
 *    31 30 29                0
 *   +--+--+-------------------+
 *   |D |X |       pins        |
 *   +--+--+-------------------+
 *
 *   bits   set by                                     cleared by
 *   pins   fr_pin_take (+1)                           fr_pin_drop (-1)
 *   X      fr_pin_exclusive, from "no pins, no X, no D"   fr_pin_exclusive_end
 *   D      fr_pin_kill                                fr_pin_init, when the record is used anew
 *
 * A reader adds its pin by compare-and-swap from a value without X and D; who wants to write in
 * place sets X by compare-and-swap from "no pins". One word, so neither can miss the other: with
 * two steps (look for pins, then write) a reader's group changes under it. A failed take leaves no
 * trace: were it an add that is taken back, it could be the last pin of a dead version, with nobody
 * to let go of the payload, or be taken back from a record that is used anew.
 *
 * Threads: all. Records are type-stable: a take may meet one that is used anew, gets a pin on the
 * new version then, and the caller looks again whether it is the wanted one.
 * Invariants: X goes with no pins. With D, pins only fall; the call that leaves D alone, without
 * pins and X, returns true, once in the life of a version: that caller lets go of the payload.
 * Progress: lock-free; take fails at once under X and D, and starts again only when another pin
 * came or went. Memory bound: none taken; pins are below 2^30, bounded by the ops in flight. */
#ifndef FR_RUNTIME_STORE_PIN_H
#define FR_RUNTIME_STORE_PIN_H

#include "scheduler/atomic.h"

#define FR_PIN_DEAD (UINT32_C(1) << 31)
#define FR_PIN_EXCLUSIVE (UINT32_C(1) << 30)
#define FR_PIN_COUNT_MASK (FR_PIN_EXCLUSIVE - 1)

typedef _Atomic uint32_t fr_pin;

_Static_assert(sizeof(fr_pin) == 4, "the pin word is 32 bits wide");
_Static_assert((FR_PIN_DEAD ^ FR_PIN_EXCLUSIVE ^ FR_PIN_COUNT_MASK) == UINT32_MAX,
               "count, X and D share the word without overlap");

/* The record's other fields are written before. */
static inline void fr_pin_init(fr_pin *pin)
{
    /* [pin.init] pairs [pin.take], [pin.exclusive] : a late take, through an old pointer to the
     * record, sees what the record is by now */
    fr_store_release(pin, 0);
}

/* False when somebody is exclusive or the version is dead: use another source. */
static inline bool fr_pin_take(fr_pin *pin)
{
    uint32_t seen = fr_load_relaxed(pin);
#ifdef FR_MUTATE_PIN_LOOK_THEN_ADD
    if (seen & (FR_PIN_EXCLUSIVE | FR_PIN_DEAD))
        return false;
    (void)fr_add_acquire(pin, 1);
    return true;
#else
    do {
        if (seen & (FR_PIN_EXCLUSIVE | FR_PIN_DEAD))
            return false;
        /* [pin.take] pairs [pin.exclusive_end], [pin.init] : reads see the rows that the last
         * exclusive one wrote, and the fields of the record */
    } while (!fr_cas_acquire(pin, &seen, seen + 1));
    return true;
#endif
}

/* True when it was the last pin of a dead version: the caller lets go of its payload. */
static inline bool fr_pin_drop(fr_pin *pin)
{
    /* [pin.drop] pairs [pin.exclusive], [pin.drop], [pin.kill] : what the reader read is read
     * before the payload is written again or given back */
    return fr_sub_acq_rel(pin, 1) == (FR_PIN_DEAD | 1);
}

/* True when nobody had a pin; nobody gets one until fr_pin_exclusive_end. */
static inline bool fr_pin_exclusive(fr_pin *pin)
{
    uint32_t none = 0;
#ifdef FR_MUTATE_PIN_CHECK_THEN_WRITE
    if (fr_load_acquire(pin) != none)
        return false;
    (void)fr_or_acq_rel(pin, FR_PIN_EXCLUSIVE);
    return true;
#else
    /* [pin.exclusive] pairs [pin.drop], [pin.exclusive_end], [pin.init] : writes come after the
     * reads of those who dropped their pins */
    return fr_cas_acquire(pin, &none, FR_PIN_EXCLUSIVE);
#endif
}

/* True when the version was killed meanwhile: the caller lets go of its payload. */
static inline bool fr_pin_exclusive_end(fr_pin *pin)
{
    /* [pin.exclusive_end] pairs [pin.take], [pin.exclusive], [pin.kill] : hands on the rows that
     * were written */
    return (fr_and_acq_rel(pin, ~FR_PIN_EXCLUSIVE) & FR_PIN_DEAD) != 0;
}

/* No pin is given from now on. True when there is none and nobody is exclusive: the caller lets go
 * of the payload; else the last drop, or the end of the exclusive one, does. A second kill does
 * nothing and returns false. */
static inline bool fr_pin_kill(fr_pin *pin)
{
    /* [pin.kill] pairs [pin.drop], [pin.exclusive_end] : who lets go comes after all reads and
     * writes of the payload */
    return fr_or_acq_rel(pin, FR_PIN_DEAD) == 0;
}

/* For figures: it may be another number by now. */
static inline uint32_t fr_pin_count(const fr_pin *pin)
{
    return fr_load_relaxed(pin) & FR_PIN_COUNT_MASK;
}

#endif
