/* Values of predicates, for each column of their attributes. */
#include "runtime/dictionary/dictionary.h"
#include "runtime/query/predicate.h"
#include "runtime/store/column.h"

#include <stdio.h>

void fr_tests_release(fr_stage *stage, fr_tests *tests)
{
    for (size_t k = 0; k < tests->count; k++)
        fr_value_test_release(stage, &tests->items[k].test);
    fr_memory_release(&stage->allocator, tests->items, tests->capacity * sizeof(*tests->items));
    *tests = (fr_tests){0};
}

static bool fr_tests_add(fr_stage *stage, fr_tests *tests, const fr_predicate *predicate,
                         const fr_column *column)
{
    if (tests->count == tests->capacity) {
        size_t capacity = tests->capacity > 0 ? 2 * tests->capacity : 4;
        fr_column_test *larger =
            fr_memory_grow(&stage->allocator, tests->items, tests->capacity * sizeof(*larger),
                           capacity * sizeof(*larger), 16);
        if (!larger)
            return false;
        tests->items = larger;
        tests->capacity = capacity;
    }
    fr_column_test *made = &tests->items[tests->count];
    made->column = column;
    if (!fr_value_test_make(stage, predicate, &column->schema, &made->test))
        return false;
    tests->count++;
    return true;
}

/* Of the tests from `first` on: each value can be in one of the columns. NULL: that is so; else
 * what the last one says. */
static const char *fr_tests_refusal(const fr_tests *tests, size_t first,
                                    const fr_predicate *predicate)
{
    for (uint32_t v = 0; v < predicate->value_count && first < tests->count; v++) {
        bool usable = false;
        for (size_t k = first; k < tests->count && !usable; k++)
            usable = fr_value_is_usable(&tests->items[k].test, v);
        if (!usable)
            return tests->items[tests->count - 1].test.text;
    }
    return NULL;
}

static ovstage_api_status_t fr_tests_predicate(fr_stage *stage, fr_tests *tests,
                                               const fr_predicate *predicate, char *text,
                                               size_t text_bytes)
{
    size_t first = tests->count;
    for (const fr_column *column = fr_column_first(predicate->attribute); column;
         column = column->next) {
        if (!fr_tests_add(stage, tests, predicate, column)) {
            (void)snprintf(text, text_bytes, "no memory for %u values", predicate->value_count);
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        }
    }
    const char *refusal = fr_tests_refusal(tests, first, predicate);
    if (!refusal)
        return OVSTAGE_OK;
    ovx_string_t name = fr_dictionary_token_text(stage->dictionary, predicate->token);
    (void)snprintf(text, text_bytes, "attribute '%.*s': %s",
                   (int)(name.length < 48 ? name.length : 48), name.ptr, refusal);
    return OVSTAGE_ERROR_INVALID_ARGUMENT;
}

ovstage_api_status_t fr_tests_make(fr_stage *stage, const fr_filter *filter, fr_tests *out,
                                   char *text, size_t text_bytes)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    *out = (fr_tests){0};
    for (uint32_t p = 0; p < filter->predicate_count && status == OVSTAGE_OK; p++) {
        const fr_predicate *predicate = &filter->predicates[p];
        bool computed =
            predicate->reserved >= FR_RESERVED_PATH && predicate->reserved <= FR_RESERVED_ACTIVE;
        if (!computed && predicate->op != OVSTAGE_FILTER_OP_HAS && predicate->attribute)
            status = fr_tests_predicate(stage, out, predicate, text, text_bytes);
    }
    if (status != OVSTAGE_OK)
        fr_tests_release(stage, out);
    return status;
}
