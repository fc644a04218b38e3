#include "runtime/query/value.h"

#include "runtime/dictionary/dictionary.h"
#include "runtime/query/heap_sort.h"
#include "runtime/query/number.h"
#include "runtime/query/predicate.h"
#include "runtime/write/schema_text.h"

#include <stdio.h>
#include <string.h>

/* --- types ------------------------------------------------------------------------------------ */

static fr_value_kind fr_value_kind_of_number(const fr_schema *schema)
{
    switch (schema->code) {
    case kDLInt:
    case kDLUInt:
    case kDLBool:
        return schema->bits <= 64 && (schema->bits & (schema->bits - 1)) == 0 ? FR_VALUE_INTEGERS
                                                                              : FR_VALUE_OTHER;
    case kDLFloat:
        return schema->bits == 16 || schema->bits == 32 || schema->bits == 64 ? FR_VALUE_FLOATS
                                                                              : FR_VALUE_OTHER;
    case kDLBfloat:
        return schema->bits == 16 ? FR_VALUE_FLOATS : FR_VALUE_OTHER;
    default:
        return FR_VALUE_OTHER;
    }
}

fr_value_kind fr_value_kind_of(const fr_schema *schema)
{
    switch (schema->semantic) {
    case OVSTAGE_SEMANTIC_TOKEN_ID:
    case OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING:
    case OVSTAGE_SEMANTIC_ASSET_PATH_ID:
        return FR_VALUE_TOKENS;
    case OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID:
        return FR_VALUE_PATHS;
    case OVSTAGE_SEMANTIC_CONNECTION_PATH_ID:
        return FR_VALUE_PATH_TOKENS;
    case OVSTAGE_SEMANTIC_STRING:
        return FR_VALUE_TEXT;
    default:
        return fr_value_kind_of_number(schema);
    }
}

static bool fr_value_is_number(fr_value_kind kind)
{
    return kind == FR_VALUE_INTEGERS || kind == FR_VALUE_FLOATS;
}

/* --- reading values --------------------------------------------------------------------------- */

static fr_dtype_text fr_value_tell(const fr_schema *schema)
{
    return fr_dtype_tell(schema->code, schema->bits, schema->lanes);
}

static bool fr_value_read_one(const fr_schema *schema, ovx_string_t part, fr_number *out)
{
    if (fr_value_kind_of_number(schema) == FR_VALUE_FLOATS) {
        if (!fr_number_real(part, &out->real))
            return false;
        if (schema->code == kDLBfloat)
            out->real = fr_value_round(out->real, 7, -126, 127);
        else if (schema->bits == 16)
            out->real = fr_value_round(out->real, 10, -14, 15);
        else if (schema->bits == 32)
            out->real = fr_value_round(out->real, 23, -126, 127);
        return true;
    }
    if (schema->code == kDLBool && fr_number_bool(part, &out->integer))
        return true;
    return fr_number_integer(part, &out->integer) &&
           (schema->code != kDLBool || out->integer == 0 || out->integer == 1);
}

/* A number for each lane, or one for all of them. */
static bool fr_value_read(const fr_schema *schema, ovx_string_t value, fr_number *lanes)
{
    ovx_string_t rest = fr_number_list(value), part;
    uint32_t count = 0;
    while (fr_number_next(&rest, &part)) {
        if (count == schema->lanes || !fr_value_read_one(schema, part, &lanes[count]))
            return false;
        count++;
    }
    for (uint32_t lane = 1; count == 1 && lane < schema->lanes; lane++)
        lanes[lane] = lanes[0];
    return count == 1 || count == schema->lanes;
}

static void fr_value_refuse(fr_value_test *test, const char *what)
{
    (void)snprintf(test->text, sizeof(test->text), "%s a column of %s%s", what,
                   fr_value_tell(&test->schema).text, test->schema.is_array ? ", an array" : "");
}

static void fr_value_refuse_value(fr_value_test *test, ovx_string_t value)
{
    int shown = value.length < 48 ? (int)value.length : 48;
    (void)snprintf(test->text, sizeof(test->text), "'%.*s' is no value of %s%s", shown, value.ptr,
                   fr_value_tell(&test->schema).text, test->schema.is_array ? ", an array" : "");
}

/* Whether a row's element has to be a value, lane for lane. */
static bool fr_value_is_whole(const fr_value_test *test)
{
    return test->predicate->op == OVSTAGE_FILTER_OP_IN ||
           (test->predicate->op == OVSTAGE_FILTER_OP_CONTAINS &&
            (test->schema.is_array || test->schema.lanes == 1));
}

/* No element is like it. */
static bool fr_value_has_nan(const fr_value_test *test, const fr_number *lanes)
{
    bool has = false;
    for (uint32_t lane = 0; test->kind == FR_VALUE_FLOATS && lane < test->schema.lanes; lane++)
        has |= lanes[lane].real != lanes[lane].real;
    return has;
}

static int fr_number_compare(const fr_value_test *test, const fr_number *a, const fr_number *b)
{
    if (test->kind == FR_VALUE_FLOATS)
        return (a->real > b->real) - (a->real < b->real);
    return (a->integer > b->integer) - (a->integer < b->integer);
}

static int fr_value_compare_items(const void *items, size_t a, size_t b)
{
    const fr_value_test *test = items;
    uint32_t lanes = test->schema.lanes;
    int order = 0;
    for (uint32_t lane = 0; lane < lanes && order == 0; lane++)
        order = fr_number_compare(test, &test->numbers[a * lanes + lane],
                                  &test->numbers[b * lanes + lane]);
    return order;
}

static void fr_value_swap_items(void *items, size_t a, size_t b)
{
    const fr_value_test *test = items;
    uint32_t lanes = test->schema.lanes;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        fr_number kept = test->numbers[a * lanes + lane];
        test->numbers[a * lanes + lane] = test->numbers[b * lanes + lane];
        test->numbers[b * lanes + lane] = kept;
    }
}

bool fr_value_test_make(fr_stage *stage, const fr_predicate *predicate, const fr_schema *schema,
                        fr_value_test *out)
{
    *out = (fr_value_test){
        .predicate = predicate, .schema = *schema, .kind = fr_value_kind_of(schema)};
    size_t numbers = (size_t)predicate->value_count * schema->lanes;
    if (out->kind == FR_VALUE_OTHER)
        fr_value_refuse(out, "nothing can be compared with");
    else if (fr_value_is_number(out->kind) && predicate->op == OVSTAGE_FILTER_OP_PREFIX)
        fr_value_refuse(out, "PREFIX is for strings, and cannot be used on");
    if (!fr_value_is_number(out->kind) || out->text[0] != '\0' || numbers == 0)
        return true;
    out->numbers_bytes = numbers * sizeof(fr_number) + predicate->value_count;
    out->numbers = fr_memory_allocate(&stage->allocator, out->numbers_bytes, 16);
    if (!out->numbers)
        return false;
    out->usable = (bool *)(void *)(out->numbers + numbers);
    for (uint32_t v = 0; v < predicate->value_count; v++) {
        fr_number *lanes = &out->numbers[(size_t)out->number_count * schema->lanes];
        out->usable[v] = fr_value_read(schema, predicate->values[v], lanes);
        if (!out->usable[v])
            fr_value_refuse_value(out, predicate->values[v]);
        else if (!fr_value_is_whole(out) || !fr_value_has_nan(out, lanes))
            out->number_count++;
    }
    if (fr_value_is_whole(out))
        fr_heap_sort(&(fr_sorted){fr_value_compare_items, fr_value_swap_items, out},
                     out->number_count);
    return true;
}

void fr_value_test_release(fr_stage *stage, fr_value_test *test)
{
    fr_memory_release(&stage->allocator, test->numbers, test->numbers_bytes);
    test->numbers = NULL;
    test->numbers_bytes = 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static fr_wide_integer fr_value_integer(const fr_schema *schema, const unsigned char *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element, schema->bits / 8u); /* the lowest byte first, as on every x86 */
    if (schema->code == kDLBool)
        return bits != 0;
    if (schema->code == kDLInt && schema->bits < 64 && (bits >> (schema->bits - 1) & 1) != 0)
        bits |= UINT64_MAX << schema->bits;
    return schema->code == kDLInt ? (fr_wide_integer)(int64_t)bits : (fr_wide_integer)bits;
}

static fr_number fr_value_number(const fr_value_test *test, const unsigned char *lane)
{
    fr_number number;
    if (test->kind == FR_VALUE_FLOATS)
        number.real = fr_value_real(&test->schema, lane);
    else
        number.integer = fr_value_integer(&test->schema, lane);
    return number;
}

/* Of one lane; a NaN is in no order with anything. */
static bool fr_value_lane_holds(const fr_value_test *test, const unsigned char *lane,
                                const fr_number *value)
{
    const fr_number number = fr_value_number(test, lane);
    if (test->kind == FR_VALUE_FLOATS && (number.real != number.real || value->real != value->real))
        return false;
    int order = fr_number_compare(test, &number, value);
    switch (test->predicate->op) {
    case OVSTAGE_FILTER_OP_LT:
        return order < 0;
    case OVSTAGE_FILTER_OP_LE:
        return order <= 0;
    case OVSTAGE_FILTER_OP_GT:
#ifdef FR_MUTATE_VALUE_GREATER_TAKES_EQUAL
        return order >= 0;
#endif
        return order > 0;
    case OVSTAGE_FILTER_OP_GE:
        return order >= 0;
    default:
        return order == 0;
    }
}

/* The element against one of the values in order. */
static int fr_value_compare_element(const fr_value_test *test, const unsigned char *element,
                                    const fr_number *value)
{
    int order = 0;
    for (uint32_t lane = 0; lane < test->schema.lanes && order == 0; lane++) {
        const fr_number number = fr_value_number(test, element + lane * (test->schema.bits / 8u));
        if (test->kind == FR_VALUE_FLOATS && number.real != number.real)
            return 1; /* behind all of them, so that it is none */
        order = fr_number_compare(test, &number, &value[lane]);
    }
    return order;
}

static bool fr_value_is_one(const fr_value_test *test, const unsigned char *element)
{
    uint32_t first = 0, end = test->number_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        int order = fr_value_compare_element(test, element,
                                             &test->numbers[(size_t)middle * test->schema.lanes]);
        if (order == 0)
            return true;
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return false;
}

static bool fr_value_numbers_hold(const fr_value_test *test, const unsigned char *element,
                                  const fr_number *value)
{
    const fr_schema *schema = &test->schema;
    bool any = test->predicate->op == OVSTAGE_FILTER_OP_CONTAINS && !schema->is_array;
    for (uint32_t lane = 0; lane < schema->lanes; lane++)
        if (fr_value_lane_holds(test, element + lane * (schema->bits / 8u), &value[lane]) == any)
            return any;
    return !any;
}

static bool fr_value_id_holds(const fr_value_test *test, const fr_dictionary *dictionary,
                              uint64_t id, bool is_path)
{
    ovx_string_t text = is_path ? fr_dictionary_path_text(dictionary, id)
                                : fr_dictionary_token_text(dictionary, id);
    if (!text.ptr && id != 0)
        return false; /* nobody knows what it stands for */
    return fr_text_holds(text, test->predicate, test->schema.is_array);
}

static bool fr_value_ids_hold(const fr_value_test *test, const fr_dictionary *dictionary,
                              const unsigned char *element)
{
    for (uint32_t lane = 0; lane < test->schema.lanes; lane++) {
        uint64_t id;
        memcpy(&id, element + lane * sizeof(id), sizeof(id));
        bool is_path =
            test->kind == FR_VALUE_PATHS || (test->kind == FR_VALUE_PATH_TOKENS && lane % 2 == 0);
        if (fr_value_id_holds(test, dictionary, id, is_path))
            return true;
    }
    return false;
}

static bool fr_value_element_holds(const fr_value_test *test, const fr_dictionary *dictionary,
                                   const unsigned char *element)
{
    if (!fr_value_is_number(test->kind))
        return fr_value_ids_hold(test, dictionary, element);
    if (fr_value_is_whole(test))
        return fr_value_is_one(test, element);
    for (uint32_t v = 0; v < test->number_count; v++)
        if (fr_value_numbers_hold(test, element, &test->numbers[(size_t)v * test->schema.lanes]))
            return true;
    return false;
}

bool fr_value_holds(const fr_value_test *test, const fr_dictionary *dictionary,
                    const unsigned char *elements, uint64_t count)
{
    if (test->kind == FR_VALUE_OTHER || (fr_value_is_number(test->kind) && !test->numbers))
        return false;
    if (test->kind == FR_VALUE_TEXT) {
        ovx_string_t text = {(const char *)elements, count};
        return fr_text_holds(text, test->predicate, false);
    }
    for (uint64_t k = 0; k < count; k++)
        if (fr_value_element_holds(test, dictionary, elements + k * test->schema.row_bytes))
            return true;
    return false;
}
