/* Values in predicates: texts that are read as the type of a column tells, and compared with its
 * rows (L10).
 *
 *   strings   columns of token ids (texts, assets: of their two tokens one has to do) and path ids
 *             (connections: the path or the token), and STRING rows. Compared by bytes.
 *   numbers   integers and floats of up to 64 bits, in decimal (integers in hexadecimal too, with
 *             0x), and bools: true, false, 1, 0. A value for a row of several lanes has a number
 *             for each of them, with spaces or commas between and, if one likes, brackets around;
 *             or one number, which then stands for all. IN: all lanes are equal. LT, LE, GT, GE:
 *             true for each lane. CONTAINS: one of the lanes is equal. A value for floats is
 *             rounded to their type first, so that 0.1 is in a column of 32 bits.
 *   arrays    one of the elements has to do; CONTAINS is as IN. (A STRING row is a string.)
 *
 * Threads: a test is made and used by one op. Memory: 16 bytes for each number. */
#ifndef FR_RUNTIME_QUERY_VALUE_H
#define FR_RUNTIME_QUERY_VALUE_H

#include "runtime/query/filter.h"

typedef enum fr_value_kind {
    FR_VALUE_OTHER, /* a type that has no values here */
    FR_VALUE_TOKENS,
    FR_VALUE_PATHS,
    FR_VALUE_PATH_TOKENS, /* of each two the first is a path, the second a token */
    FR_VALUE_TEXT,
    FR_VALUE_INTEGERS,
    FR_VALUE_FLOATS,
} fr_value_kind;

__extension__ typedef __int128 fr_wide_integer;

typedef union fr_number {
    fr_wide_integer integer;
    double real;
} fr_number;

/* A predicate's values, for columns of one schema. */
typedef struct fr_value_test {
    const fr_predicate *predicate;
    fr_schema schema;
    fr_value_kind kind;
    /* Lanes of each value that the schema can have; of IN, and what is like it, in order. */
    fr_number *numbers;
    uint32_t number_count;
    bool *usable; /* of each value, in the same block */
    size_t numbers_bytes;
    char text[160]; /* why one is not, if any is not */
} fr_value_test;

fr_value_kind fr_value_kind_of(const fr_schema *schema);
/* False without memory. */
bool fr_value_test_make(fr_stage *stage, const fr_predicate *predicate, const fr_schema *schema,
                        fr_value_test *out);
void fr_value_test_release(fr_stage *stage, fr_value_test *test);
static inline bool fr_value_is_usable(const fr_value_test *test, uint32_t value)
{
    return test->text[0] == '\0' || (test->usable && test->usable[value]);
}
/* Of a row: `count` elements of the schema's lanes; 1 when that is no array. */
bool fr_value_holds(const fr_value_test *test, const fr_dictionary *dictionary,
                    const unsigned char *elements, uint64_t count);

/* The value nearest to a real one in a binary format with so many bits of mantissa (52 at most) and
 * the exponents of its normal numbers; ties to even. */
double fr_value_round(double value, int mantissa_bits, int exponent_low, int exponent_high);
/* One element of a column of floats. */
double fr_value_real(const fr_schema *schema, const unsigned char *element);

#endif
