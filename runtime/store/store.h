/* The store: attributes, columns, segments, versions. How ordinals get out of each other's way.
 *
 * Attribute: a name (canonical: omni:xform and omni:fabric:localMatrix are one, D19). Column:
 * (attribute, schema). Segment: a fixed prim list in a fixed order, laid out at the first seal that
 * makes its keys visible. Version: what one ordinal wrote to one segment (or, before keys are
 * placed, to the column: in the order first written). Each open ordinal writes only to versions of
 * its own.
 *
 * Threads: ops of one ordinal call the write functions one at a time; different ordinals, readers
 * and seals at the same time. Everything that can fail happens in the *_prepare functions. */
#ifndef FR_RUNTIME_STORE_STORE_H
#define FR_RUNTIME_STORE_STORE_H

#include "runtime/floor/floor.h"
#include "runtime/query/query.h"
#include "runtime/write/array_source.h"
#include "runtime/write/rows.h"
#include "scheduler/memory.h"
#include "scheduler/ordinal_tree.h"

typedef struct fr_store fr_store;
struct fr_device_run; /* runtime/device/run.h */
struct fr_device_fault;
struct fr_placed; /* runtime/device/placed.h */
typedef struct fr_column fr_column;
typedef struct fr_version fr_version;

typedef struct fr_schema {
    uint8_t code, bits; /* DLPack type */
    uint16_t lanes;     /* full tuple width */
    uint32_t row_bytes; /* fixed: lanes * bits / 8 rounded up; arrays: bytes of one element */
    ovstage_attribute_semantic_t semantic;
    bool is_array;
} fr_schema;

/* --- attributes ------------------------------------------------------------------------------- */
typedef struct fr_attribute {
    uint32_t index;    /* dense from 0; the lane filter's bit is index % 64 */
    ovx_token_t token; /* canonical name */
    /* guarded by the admission lock: */
    uint64_t accepted_floor;            /* own; effective = max(base, own) */
    bool schema_entered, schema_single; /* L3: the first schema accepted; still the only one */
    fr_schema schema;
    bool keys_deleted;    /* a delete that names it was accepted */
    uint32_t floor_state; /* the floor module's own use */
    /* the store's: */
    _Atomic(fr_column *) columns; /* list; usually one */
    _Atomic uint64_t tombstoned;  /* up to where deletes have become tombstones */
    /* Twice how often rows were derived at sealed ordinals (derive.h), or keys moved (rehome.h);
     * odd: some derived ones are seen. Changed under the seals' lock only. */
    _Atomic uint64_t derived;
} fr_attribute;

/* Known already, or NULL. Lock-free. Aliases give the same attribute. */
fr_attribute *fr_store_attribute_find(const fr_store *store, ovx_token_t token);
/* Known from now on. NULL without memory. */
fr_attribute *fr_store_attribute_enter(fr_store *store, ovx_token_t token);
uint32_t fr_store_attribute_count(const fr_store *store);
fr_attribute *fr_store_attribute_at(const fr_store *store, uint32_t index);

/* --- life ------------------------------------------------------------------------------------- */
typedef struct fr_store_config {
    const fr_allocator *allocator;
    uint64_t history_limit_bytes;
    uint32_t history_versions;
    uint64_t cache_limit_bytes;
    uint64_t pending_limit_bytes;
    bool builtin_payload_pool; /* false: payloads come from `allocator` as well (client hooks) */
    ovx_token_t alias_from, alias_to; /* omni:xform -> omni:fabric:localMatrix */
    ovx_token_t token_columns[2];     /* usd-prim-type, usd-schemas: see token_index.h */
    ovx_token_t derived_column;       /* omni:fabric:worldMatrix: its keys stay, see rehome.h */
} fr_store_config;

fr_store *fr_store_create(const fr_store_config *config);
void fr_store_destroy(fr_store *store); /* runs the deleters of adopted payloads last */

/* --- writing ---------------------------------------------------------------------------------- */
typedef struct fr_write {
    fr_attribute *attribute;
    fr_schema schema;
    fr_query *query;
    uint64_t ordinal, op_id;
    ovstage_prim_mode_t prim_mode;
    bool any_role;      /* written with semantic NONE: a key keeps the role it has, new keys get
                      schema.semantic (D11) */
    bool judge;         /* schema or INSERT must be judged against what is there (L3); false: the
                   attribute's only schema ever, UPSERT */
    bool prims_entered; /* the op enters its prims itself (fr_store_prims_reserve) */
    /* The query's prims, each once, when no column has had anything of one of them; else NULL. */
    const uint32_t *fresh;
    const fr_row_source *rows; /* of an array: slices that are still to be made, or its buffer's */
    fr_array_source *array; /* of an array without such a buffer. Adopted tensors are taken out of
                               it */
    /* Of an array in place of both: the slices that are the rows, which stay the caller's; and a
     * payload of some of them that no column has yet, or NULL. */
    struct fr_buffer *slices, *elements;
    /* The device that the rows go to, which is entered as long as memory is taken; NULL: the host.
     * Then they are moved by fr_store_write_place, and there are no chunks. Of an array the
     * elements are, and the rows have chunks; of slices that were there nothing of a device is
     * needed. */
    struct fr_opened *device;
} fr_write;

/* The prim of a logical element. */
static inline uint32_t fr_write_prim(const fr_query *query, const fr_row_source *rows,
                                     uint32_t element)
{
    return (uint32_t)query->prims[rows->positions ? rows->positions[element] : element];
}

typedef struct fr_write_plan {
    uint32_t chunk_count; /* pieces that fr_store_write_chunk may copy in parallel, 0 when nothing
                             is left to copy */
    bool adopts; /* the managed tensor, or the source's buffer, becomes the payload: its ownership
                    passes at commit */
    bool elsewhere; /* it was refused for where the column lies: fr_store_write_home */
    /* It was refused since all of its keys have a role, and lie with that one: what to write them
     * as; or NULL. */
    const fr_schema *as;
    char text[256];                        /* the reason, when prepare fails */
    ovx_primpath_t refused_prim;           /* whose it is; OVX_INVALID_PRIMPATH: of none alone */
    _Alignas(16) unsigned char state[352]; /* the store's */
} fr_write_plan;

/* Binds, judges, takes the memory. Not OK: nothing changed, plan->text says why (PRIM_NOT_FOUND,
 * INVALID_ARGUMENT, OUT_OF_MEMORY). */
ovstage_api_status_t fr_store_write_prepare(fr_store *store, const fr_write *write,
                                            fr_write_plan *plan);
/* The same in two steps, for writes of several columns of which all are done or none. reserve: as
 * prepare, but no row has a place yet; ended by cancel, which leaves nothing of it, or by enter,
 * which cannot fail. Plans of one op that are reserved at a time are of different columns, and
 * their queries outlive them. */
ovstage_api_status_t fr_store_write_reserve(fr_store *store, const fr_write *write,
                                            fr_write_plan *plan);
void fr_store_write_cancel(fr_store *store, fr_write_plan *plan);
void fr_store_write_enter(fr_store *store, fr_write_plan *plan);
void fr_store_write_chunk(fr_write_plan *plan,
                          uint32_t chunk); /* each once, any thread, any order */
void fr_store_write_commit(fr_store *store, fr_write_plan *plan);
/* The device that the column lies on; NULL: on the host, or nowhere yet. */
struct fr_opened *fr_store_write_home(const fr_attribute *attribute, const fr_schema *schema);
bool fr_store_write_is_on_host(const fr_attribute *attribute, const fr_schema *schema);
/* All rows of a source on a device, one after the other, to that address there. False: the fault
 * says why. */
bool fr_store_rows_collect(const fr_row_source *rows, uint64_t to, struct fr_device_run *run,
                           struct fr_device_fault *fault);
/* Where the rows of a write to a device lie. */
typedef struct fr_write_source {
    bool from_host;             /* they have been read when they are placed */
    struct fr_opened *device;   /* else */
    const struct fr_fence *dep; /* what comes before they may be read; NULL: nothing. The run waits
                                   for it, too */
    /* Out: behind the reads of them, where the run itself reads none: a reference, or NULL. */
    struct fr_fence *read;
} fr_write_source;

/* Of a write to a device that was reserved, and not entered: its rows into the payloads, by the
 * run. False: the fault says why; it is to be cancelled when the run has ended. */
bool fr_store_write_place(fr_write_plan *plan, fr_write_source *source, struct fr_device_run *run,
                          struct fr_device_fault *fault);

/* --- deleting --------------------------------------------------------------------------------- */
typedef struct fr_delete {
    fr_attribute *const *attributes;
    uint32_t attribute_count; /* 0: whole prims */
    const fr_query *query;
    uint64_t ordinal, op_id;
} fr_delete;

/* Leaves its marks (D12). OUT_OF_MEMORY: nothing changed. */
ovstage_api_status_t fr_store_delete(fr_store *store, const fr_delete *what);
/* D3: an attribute that lives on one of the prims and is sealed, by the record, at or above the
 * ordinal of a delete of whole prims; NULL: none. */
const fr_attribute *fr_store_delete_sealed(fr_store *store, const fr_delete *what,
                                           const fr_floor_record *record);

/* Prims that an op makes, for one with several columns. reserve: false without memory. It is
 * followed by enter with the same prims, or by cancel. */
bool fr_store_prims_reserve(fr_store *store, const uint32_t *prims, uint32_t count);
void fr_store_prims_enter(fr_store *store, const uint32_t *prims, uint32_t count, uint64_t ordinal,
                          uint64_t op_id);
void fr_store_prims_cancel(fr_store *store, uint32_t count);
/* Whether nothing was ever written to any of them, by what has run. */
bool fr_store_prims_are_fresh(const fr_store *store, const uint32_t *prims, uint32_t count);

/* --- judging ---------------------------------------------------------------------------------- */
/* An op is accepted that will be judged by what those before it leave behind at or below `ordinal`
 * (L3): what the store needs for that stays until the end, which comes once, when it has been
 * judged or dropped. filter: the bits (index mod 64) of the attributes whose schemas it is judged
 * by; all for INSERT once deletes were accepted. begin: under admission. */
void fr_store_judgement_begin(fr_store *store, uint64_t ordinal, uint64_t filter, uint64_t op_id);
void fr_store_judgement_end(fr_store *store, uint64_t op_id);
/* When it is judged: what it needs was lost for want of memory, so that it fails with that. */
bool fr_store_judgement_lost(const fr_store *store, uint64_t op_id);

/* Takes back all that an ordinal has written and deleted, above every floor that was accepted; for
 * its lane. False without memory: nothing changed. */
bool fr_store_discard(fr_store *store, uint64_t ordinal);

/* INSERT, decidable at submission: true if some addressed prim surely exists at `ordinal` by what
 * has run (then *prim says which). */
bool fr_store_insert_conflict(fr_store *store, const fr_query *query, const fr_row_source *rows,
                              uint64_t ordinal, uint64_t op_id, ovx_primpath_t *prim);
/* Whether an addressed prim does not exist, or (with an attribute) has no such key, by what has run
 * of the ops accepted before op_id at or below the ordinal; then *prim says which. */
bool fr_store_missing(fr_store *store, const fr_attribute *attribute, const fr_query *query,
                      const fr_row_source *rows, uint64_t ordinal, uint64_t op_id,
                      ovx_primpath_t *prim);
/* Whether an addressed key has another schema than the write, by what has run of the ops accepted
 * before write->op_id at or below its ordinal; then *prim and *existing say which. */
bool fr_store_schema_conflict(const fr_write *write, ovx_primpath_t *prim, fr_schema *existing);
/* What the keys of the write's prims have, by the same ops: their layout, and the role of one of
 * them. all false: the first key that is found speaks for all. DIFFER: *prim's is another one,
 * *out, or it has another role than is written. */
typedef enum fr_keys { FR_KEYS_NONE, FR_KEYS_AGREE, FR_KEYS_DIFFER } fr_keys;
fr_keys fr_store_keys_schema(const fr_write *write, bool all, fr_schema *out, ovx_primpath_t *prim);
/* One counter for the attribute: how often keys of it have got places (R82). */
uint64_t fr_store_layout_generation(const fr_attribute *attribute);
/* A buffer for the rows of a write (fr_row_source.buffer), contents undefined. NULL without memory.
 */
struct fr_buffer *fr_store_buffer_get(fr_store *store, size_t size_bytes);
/* The same over memory of a device, of which it gets the only reference. NULL: that is still the
 * caller's. */
struct fr_buffer *fr_store_buffer_of_placed(fr_store *store, struct fr_placed *placed,
                                            size_t size_bytes);
void fr_store_buffer_release(fr_store *store, struct fr_buffer *buffer); /* NULL is fine */
void *fr_store_buffer_data(const struct fr_buffer *buffer);
/* The same for rows of an array: so many elements in each, which are still to be placed. */
struct fr_buffer *fr_store_slices_get(fr_store *store, const size_t *element_counts,
                                      uint32_t row_count);
/* Bytes of such rows, elements of so many bytes included. */
uint64_t fr_store_slices_bytes(const struct fr_buffer *slices, uint32_t row_count,
                               uint32_t element_bytes);
/* Gives the rows their elements, zeroed and in one payload, and a tensor each, which *tensors is
 * then the buffer of. Once; false: no memory. */
bool fr_store_slices_place(fr_store *store, struct fr_buffer *slices, uint32_t row_count,
                           const fr_schema *schema, struct fr_buffer **tensors);
/* The same on a device, whose buffer `payload` is, with room for all elements, and is the slices'
 * then; NULL: there are none. */
bool fr_store_slices_place_on(fr_store *store, struct fr_buffer *slices, uint32_t row_count,
                              const fr_schema *schema, int32_t place, struct fr_buffer *payload,
                              struct fr_buffer **tensors);
uint64_t fr_store_slices_elements_bytes(const struct fr_buffer *slices, uint32_t row_count,
                                        uint32_t element_bytes);
/* What that is on the device; NULL: nothing. */
struct fr_placed *fr_store_slices_placed(const struct fr_buffer *slices, uint32_t row_count);
/* As many rows, with these elements, one behind the other, in a payload of the host. NULL without
 * memory. */
struct fr_buffer *fr_store_slices_on_host(fr_store *store, const struct fr_buffer *slices,
                                          uint32_t row_count, uint32_t element_bytes,
                                          const unsigned char *elements);
/* Bytes in unsealed versions (D25). */
uint64_t fr_store_pending_bytes(const fr_store *store);

/* --- sealing ---------------------------------------------------------------------------------- */
/* Before the record is published, one at a time: keys that become visible get their place. Readers
 * by the old record see nothing of it. What there is no memory for is left to the first read of it,
 * or to the next seal. */
void fr_store_seal_layout(fr_store *store, const fr_floor_record *next);
/* After it is published: folds versions, trims history. Called one at a time, in the order of
 * publication. May do part of its work or none for want of memory: readers follow the versions. */
void fr_store_seal(fr_store *store, const fr_floor_record *published,
                   const fr_floor_record *before);

/* --- reading ---------------------------------------------------------------------------------- */
/* One value group to be: rows of one schema. */
typedef struct fr_read_part {
    fr_attribute *attribute; /* NULL: not of the store (read/derived.h) */
    ovx_token_t name;        /* the token it was asked by */
    fr_schema schema;
    uint64_t ordinal; /* newest among its rows (D4) */
    uint64_t floor;   /* the attribute's effective floor at the moment of the read */
    uint64_t layout_generation;
    bool is_delete; /* they were deleted: there are no rows */
    uint32_t count; /* prims in this part */
    bool all_prims; /* the whole query in order; else positions says which */
    const uint32_t
        *positions;    /* count indices into the query's list, ascending; owned by the part */
    const void *data;  /* count compact rows in that order; NULL until materialized. Of an array
                         slices, on the host wherever their elements lie */
    size_t data_bytes; /* of an array's elements, once they have to do with a device */
    /* The device whose column it is of, NULL: the host; and there, in place of data, what holds the
     * rows as they are wanted, NULL: they would have to be gathered. */
    struct fr_opened *device;
    struct fr_placed *placed;
    struct fr_opened *shown; /* that the tensors of an array are on; NULL: the host */
    struct fr_placed *own;   /* `placed`, where it was made for this part */
    /* While the read is judged: the rows, together on the device that they come from. */
    struct fr_placed *together;
    struct fr_placed *copied;         /* or the payload that they are, of which `own` is a copy */
    struct fr_staged *staged;         /* where `data`, or an array's elements, come home to */
    struct fr_buffer *kept;           /* in place of `staged`, as soon as they are there */
    const DLTensor *tensors;          /* of an array, once materialized: one a row */
    struct fr_buffer *tensors_buffer; /* where they lie */
    void *state;                      /* the store's: pins, positions, gathered buffer */
} fr_read_part;

typedef struct fr_read_result {
    fr_read_part *parts; /* array of part_count, owned by the result */
    uint32_t part_count, part_capacity;
    char text[512];              /* the reason, when it fails */
    ovx_primpath_t refused_prim; /* whose it is; OVX_INVALID_PRIMPATH: that is not known */
} fr_read_result;

typedef struct fr_read_bounds {
    bool is_range;
    uint64_t start; /* of a range */
    uint64_t end;   /* N of a snapshot */
} fr_read_bounds;

/* One more part, all zero; NULL without memory. */
fr_read_part *fr_store_read_part(fr_store *store, fr_read_result *result);
/* latest(N) of one attribute over a query, or what changed in a range (L5), by the given floor
 * record: pins what it needs and adds parts to the result. WRITE_FLOOR_VIOLATION (an unsealed
 * change at or below N, or in the range, on a selected key), OUT_OF_RANGE (had a value at N, or
 * changed in the range to one, that is gone), OUT_OF_MEMORY. On failure nothing stays pinned by
 * this call. Constant time when the query's rows are one segment in order, the head is the version
 * wanted, and all rows are. */
ovstage_api_status_t fr_store_read_pin(fr_store *store, fr_attribute *attribute, ovx_token_t name,
                                       fr_query *query, const fr_read_bounds *bounds,
                                       const fr_floor_record *record, fr_read_result *result);
/* Makes part->data readable: nothing to do for a pointer to a head, else a gather into a compact
 * buffer (cached). OUT_OF_MEMORY. */
ovstage_api_status_t fr_store_read_materialize(fr_store *store, fr_query *query,
                                               fr_read_part *part);
/* Of an array that has to do with a device: its slices alone, and the bytes of its elements. */
ovstage_api_status_t fr_store_read_slices(fr_read_part *part);
/* The rows, or elements, of a part: on a device into a payload that the run writes, those that lie
 * there; of the host. False: the fault says why. */
bool fr_store_read_gather_placed(const fr_read_part *part, struct fr_device_run *run,
                                 struct fr_placed *to, struct fr_device_fault *fault);
void fr_store_read_pack(const fr_read_part *part, unsigned char *to);
/* Of a part on a device: a write of its rows that may be stalled, a reference, or NULL; or makes a
 * run wait for them as they lie; or the code of the device's fault that has lost some, 0: none. */
struct fr_fence *fr_store_read_stalled_by(const fr_read_part *part);
bool fr_store_read_wait(const fr_read_part *part, struct fr_device_run *run,
                        struct fr_device_fault *fault);
int32_t fr_store_read_lost(const fr_read_part *part);
/* Lets go of what a part holds. Any thread, any order, once. */
void fr_store_read_release(fr_store *store, fr_read_part *part);

/* A read that waits for a seal keeps its moment: while registered, nothing that latest(N) selects
 * is dropped. What it is registered by is the caller's, and stays where it is until released. */
void fr_store_moment_hold(fr_store *store, fr_ordinal_node *held, uint64_t ordinal);
void fr_store_moment_release(fr_store *store, fr_ordinal_node *held);

/* A snapshot that a client has open: states from its moment on are kept as long as
 * history_limit_bytes allows it. hold: from the first moment on, whichever it is; OUT_OF_MEMORY, or
 * OUT_OF_RANGE when FR_STORE_SNAPSHOTS are open. settle: that one is for this ordinal. release: one
 * for that ordinal is closed. */
#define FR_STORE_SNAPSHOTS 1024u
ovstage_api_status_t fr_store_snapshot_hold(fr_store *store);
void fr_store_snapshot_settle(fr_store *store, uint64_t ordinal);
void fr_store_snapshot_release(fr_store *store, uint64_t ordinal);

/* Of a range read besides, as long as it waits: changes from there on stay exact. */
void fr_store_start_hold(fr_store *store, fr_ordinal_node *held, uint64_t start);
void fr_store_start_release(fr_store *store, fr_ordinal_node *held);
/* The highest ordinal at which changes were merged, 0 while none were (L6): a range that begins at
 * or above it has exactly the keys that changed in it. */
uint64_t fr_store_merged(const fr_store *store);

/* The query is going away: frees its bindings and cached gathers. */
void fr_store_query_forget(fr_store *store, fr_query *query);

/* --- figures ---------------------------------------------------------------------------------- */
typedef struct fr_store_statistics {
    uint64_t prims, keys, columns, segments, versions_open, versions_sealed, pins;
    uint64_t payload_bytes, pending_bytes, history_bytes, membership_bytes, cache_bytes,
        pooled_bytes, table_bytes, snapshots_open;
    uint64_t folds_in_place, folds_with_spare, folds_with_copy, heads_replaced, gathers,
        gather_cache_hits, history_drops, compactions,
        seal_steps; /* entries of lists that seals have looked at, the same one again included */
} fr_store_statistics;
void fr_store_statistics_read(fr_store *store, fr_store_statistics *out);

#endif
