#include "tests/unit/attributes_cases.h"

#include "runtime/store/attributes.h"

fr_attributes *attributes_case_open(const struct fr_allocator *allocator, uint64_t alias_from,
                                    uint64_t alias_to)
{
    return fr_attributes_create(allocator, alias_from, alias_to);
}

void attributes_case_close(fr_attributes *attributes)
{
    fr_attributes_destroy(attributes);
}

fr_attribute *attributes_case_find(const fr_attributes *attributes, uint64_t token)
{
    return fr_attributes_find(attributes, token);
}

fr_attribute *attributes_case_enter(fr_attributes *attributes, uint64_t token)
{
    return fr_attributes_enter(attributes, token);
}

fr_attribute *attributes_case_at(const fr_attributes *attributes, uint32_t index)
{
    return fr_attributes_at(attributes, index);
}

uint32_t attributes_case_count(const fr_attributes *attributes)
{
    return fr_attributes_count(attributes);
}

size_t attributes_case_bytes(const fr_attributes *attributes)
{
    return fr_attributes_bytes(attributes);
}

uint64_t attributes_case_token(const fr_attribute *attribute)
{
    return attribute->token;
}

uint32_t attributes_case_index(const fr_attribute *attribute)
{
    return attribute->index;
}

bool attributes_case_is_fresh(const fr_attribute *attribute)
{
    return attribute->accepted_floor == 0 && !attribute->schema_entered &&
           !attribute->schema_single && attribute->floor_state == 0 &&
           fr_load_relaxed(&attribute->columns) == NULL &&
           fr_load_relaxed(&attribute->tombstoned) == 0 && !attribute->keys_deleted;
}
