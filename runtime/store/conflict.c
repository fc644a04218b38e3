/* What is known at submission already of a write that will fail. */
#include "runtime/store/judge.h"
#include "runtime/store/store_state.h"

bool fr_store_schema_conflict(const fr_write *write, ovx_primpath_t *prim, fr_schema *existing)
{
    bool any_role = write->any_role || write->schema.semantic == OVSTAGE_SEMANTIC_NONE;
    for (uint32_t element = 0; element < write->rows->count; element++) {
        *prim = fr_write_prim(write->query, write->rows, element);
        if (!fr_row_selected(write->rows, element))
            continue;
        const fr_column *holder =
            fr_judge_key(write->attribute, (uint32_t)*prim, write->ordinal, write->op_id);
        if (holder && (!fr_schema_same_layout(&holder->schema, &write->schema) ||
                       (!any_role && holder->schema.semantic != write->schema.semantic))) {
            *existing = holder->schema;
            return true;
        }
    }
    return false;
}

bool fr_store_insert_conflict(fr_store *store, const fr_query *query, const fr_row_source *rows,
                              uint64_t ordinal, uint64_t op_id, ovx_primpath_t *prim)
{
    for (uint32_t element = 0; element < rows->count; element++) {
        *prim = fr_write_prim(query, rows, element);
        if (fr_row_selected(rows, element) && fr_judge_prim(store, (uint32_t)*prim, ordinal, op_id))
            return true;
    }
    return false;
}

bool fr_store_missing(fr_store *store, const fr_attribute *attribute, const fr_query *query,
                      const fr_row_source *rows, uint64_t ordinal, uint64_t op_id,
                      ovx_primpath_t *prim)
{
    for (uint32_t element = 0; element < rows->count; element++) {
        *prim = fr_write_prim(query, rows, element);
        if (!fr_row_selected(rows, element))
            continue;
        bool there = attribute ? fr_judge_key(attribute, (uint32_t)*prim, ordinal, op_id) != NULL
                               : fr_judge_prim(store, (uint32_t)*prim, ordinal, op_id);
        if (!there)
            return true;
    }
    return false;
}
