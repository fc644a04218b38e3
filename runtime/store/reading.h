/* One attribute's part of a read: what its parts share (read.c, range_read.c). */
#ifndef FR_RUNTIME_STORE_READING_H
#define FR_RUNTIME_STORE_READING_H

#include "runtime/store/bind.h"
#include "runtime/store/snapshot.h"

typedef struct fr_reading {
    fr_store *store;
    fr_attribute *attribute;
    ovx_token_t name;
    fr_query *query;
    bool is_range;
    uint64_t start;   /* of a range */
    uint64_t ordinal; /* N as asked, the end of a range */
    uint64_t floor;   /* the attribute's */
    uint64_t at;      /* min(N, floor) */
    uint64_t above;   /* changes at or below N and above this one are unsealed, and wanted */
    uint64_t derived; /* fr_derive_look */
    bool buried;      /* some of the query's keys of the column have tombstones */
    fr_read_result *result;
} fr_reading;

/* The prim at this position of the query is why the read fails. */
static inline void fr_reading_refuse_prim(const fr_reading *reading, uint32_t position)
{
    reading->result->refused_prim = reading->query->prims[position];
}
/* Unsealed changes (reading_open.c): an ordinal at or below N of a version, or of rows without a
 * place, that has one of the query's keys, which is the read's refused prim then; 0: none. In this
 * order: what a seal lays out is a version before it stops to be an unplaced row. */
uint64_t fr_reading_open_unplaced(const fr_reading *reading, fr_column *column);
uint64_t fr_reading_open_versions(const fr_reading *reading, const fr_binding *binding);
/* Whether rows at or below the ordinal have no place yet. */
bool fr_column_has_unplaced(fr_column *column, uint64_t ordinal);
/* Whether an entry at or below the ordinal may be open, or not folded. */
bool fr_reading_may_be_open(const fr_segment *segment, uint64_t ordinal);
/* Who has a key of a column at the moment: of several columns of the attribute the one with the
 * newest write to it at or below that. */
typedef enum fr_owner {
    FR_OWNER_HERE,
    FR_OWNER_ELSEWHERE, /* or nobody: it was deleted since */
    FR_OWNER_UNKNOWN,   /* what would tell is not kept any more */
} fr_owner;
/* `written`: when the column itself wrote it; 0: that is not known. */
fr_owner fr_reading_owner(const fr_reading *reading, const fr_column *column, uint32_t position,
                          uint64_t written);
/* Whether no other column can have keys of it. */
bool fr_reading_is_alone(const fr_reading *reading, const fr_column *column);
/* Every position has a row that existed at the moment, and is the column's own. */
bool fr_reading_has_all(const fr_reading *reading, const fr_binding *binding);
/* The whole binding into the snapshot, whose arrays are used as they are; gathered already, if the
 * same states were before. */
ovstage_api_status_t fr_reading_take_all(const fr_reading *reading, const fr_binding *binding,
                                         fr_snapshot *snapshot);

#endif
