/* Judging a write by what the ops accepted before it leave behind at or below its ordinal (L3):
 * does a prim exist, and which schema does a key have.
 *
 * Pairs (ordinal, op id): an earlier one in both counts, whatever has run meanwhile besides. */
#ifndef FR_RUNTIME_STORE_JUDGE_H
#define FR_RUNTIME_STORE_JUDGE_H

#include "runtime/store/column.h"

/* The newest ordinal at or below `ordinal` at which the key was written to this column, by what was
 * accepted before op_id; 0: never. */
uint64_t fr_judge_written(fr_column *column, uint32_t prim, uint64_t ordinal, uint64_t op_id);
/* The column that holds a key for a judgement at (ordinal, op_id): the one with the newest write to
 * it at or below; NULL: the key is not there, or was deleted since. */
fr_column *fr_judge_key(const fr_attribute *attribute, uint32_t prim, uint64_t ordinal,
                        uint64_t op_id);
/* The same, and when that write was. */
fr_column *fr_judge_key_written(const fr_attribute *attribute, uint32_t prim, uint64_t ordinal,
                                uint64_t op_id, uint64_t *out_written);
/* Whether the prim is there for a judgement: it was made, and an attribute of it lives. */
bool fr_judge_prim(fr_store *store, uint32_t prim, uint64_t ordinal, uint64_t op_id);
/* Whether the prim is there in what is sealed by the record: an attribute of it lives at that
 * attribute's floor. Constant time for prims that no delete has named, of stages that are sealed as
 * a whole; else it may look at each attribute. */
bool fr_judge_prim_sealed(fr_store *store, uint32_t prim, const fr_floor_record *record);

#endif
