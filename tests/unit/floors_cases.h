/* Cases over runtime/floor/records.h, which C++ cannot include. */
#ifndef FR_TESTS_UNIT_FLOORS_CASES_H
#define FR_TESTS_UNIT_FLOORS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_test_heap fr_test_heap;
typedef struct fr_floors_case fr_floors_case;

fr_floors_case *floors_case_open(fr_test_heap *heap); /* NULL without memory */
void floors_case_close(fr_floors_case *it);

/* Publishes a change: indices NULL for base. False without memory (nothing is published then). */
bool floors_case_publish(fr_floors_case *it, uint64_t ordinal, const uint32_t *indices,
                         uint32_t count, uint32_t capacity);
/* Takes the next fold; *out_serials: of the record and of the one before. False when there is none.
 * A fold that was begun is ended by the next call. */
bool floors_case_fold(fr_floors_case *it, uint64_t out_serials[2]);

typedef struct fr_floors_view fr_floors_view; /* a record that is held */
fr_floors_view *floors_case_hold(fr_floors_case *it);
void floors_case_let_go(fr_floors_case *it, fr_floors_view *view);
uint64_t floors_view_effective(const fr_floors_view *view, uint32_t index);
uint64_t floors_view_base(const fr_floors_view *view);
uint64_t floors_view_serial(const fr_floors_view *view);
uint64_t floors_view_least(const fr_floors_view *view);
uint32_t floors_view_count(const fr_floors_view *view);

/* A thread publishes base 1..rounds, another holds records and looks that base, serial and every
 * effective floor agree: returns how often they did not, or went down. */
uint64_t floors_case_race(fr_floors_case *it, uint32_t rounds);

#ifdef __cplusplus
}
#endif

#endif
