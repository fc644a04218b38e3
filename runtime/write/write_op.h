/* The op behind write_attribute and write_attributes.
 *
 * A single write without maps lies entirely in the op record; a batch, maps and inner strides share
 * one block beside it.
 *
 * Threads: written by the submitting thread before acceptance (admit under the admission lock),
 * after that only by whoever runs the op. */
#ifndef FR_RUNTIME_WRITE_WRITE_OP_H
#define FR_RUNTIME_WRITE_WRITE_OP_H

#include "runtime/api/stage.h"
#include "runtime/write/payload.h"
#include "scheduler/job.h"

/* What is not more than this is not worth a helper. */
#ifdef FR_SHRINK
#define FR_WRITE_SPLIT_BYTES 256u
#else
#define FR_WRITE_SPLIT_BYTES (64u << 10)
#endif

/* A row source whose elements lie apart inside a row: rare, so that it does not make every entry
 * larger. */
typedef struct fr_write_inner {
    uint32_t dims, element_bytes;
    int64_t shape[FR_ROWS_MAX_DIMS], stride_bytes[FR_ROWS_MAX_DIMS];
} fr_write_inner;

/* Which prims of its query a write is for. */
typedef struct fr_write_positions {
    uint32_t count; /* also those that the payload's count does not reach */
    uint32_t rows[];
} fr_write_positions;

/* One attribute of a batch: what fr_row_source and fr_write say, packed. */
typedef struct fr_write_entry {
    fr_attribute *attribute;
    union {
        struct DLManagedTensorVersioned
            *managed;             /* the stage's until adopted; NULL: a client tensor, or adopted */
        struct fr_buffer *buffer; /* of a mapped one, in the same way */
    };
    const unsigned char *base;
    int64_t row_stride_bytes;
    union {                        /* in the block */
        const uint32_t *index_map; /* NULL: none */
        const uint64_t *mask;      /* has_mask */
    };
    const fr_write_positions *positions; /* in the block; NULL: the leading prims of the query */
    union {
        const fr_write_inner *inner; /* in the block; NULL: rows are contiguous */
        fr_array_source *array; /* of an array, in the block; its managed tensors as well; NULL:
                                   mapped */
    };
    uint32_t row_count, count, selected_count;
    fr_schema schema;
    bool compact, adoptable, judge, any_role;
    bool enters_schema, ends_single; /* what admit changed, for undo */
    bool has_mask;
    bool mapped;     /* its rows are `buffer` (map/) */
    bool from_host;  /* of a write on a device: its rows go through staging */
    bool on_host;    /* beside rows of devices: a write of the host like any other */
    uint8_t source;  /* of such a write: else the number of the device that they lie on */
    uint8_t counted; /* fr_write_counted, of a query that was not ready */
} fr_write_entry;

/* How many rows an entry has, as long as nobody knows how many prims its query has. */
typedef enum fr_write_counted {
    FR_WRITE_COUNT_GIVEN,  /* by the client: at most as many as prims */
    FR_WRITE_COUNT_OWN,    /* by the payload: as many as prims */
    FR_WRITE_COUNT_PACKED, /* an array of as many rows as there will turn out to be prims */
} fr_write_counted;

/* What must be so of all that is addressed, or nothing is written. */
typedef enum fr_write_demand {
    FR_DEMAND_NONE,
    FR_DEMAND_NEW_PRIMS, /* INSERT */
    FR_DEMAND_PRIMS,     /* they exist */
    FR_DEMAND_KEYS,      /* they have the attribute */
} fr_write_demand;

typedef struct fr_write_split fr_write_split;

typedef struct fr_write_op {
    fr_stage *stage;
    fr_query *query;         /* one reference */
    fr_write_entry *entries; /* &single, or in the block */
    void *block;
    uint32_t block_bytes;
    uint32_t entry_count, next_entry;
    /* Of the entry that is cut into chunks: set to true by who started its chunks, when it has let
     * go of them, and by who finished the last one. The second one goes on with the op. */
    _Atomic bool left;
    uint8_t demand;         /* fr_write_demand, NONE once it was judged */
    bool meets_query : 1;   /* submitted before its query was ready */
    bool judged : 1;        /* a judgement was begun with the store */
    bool on_device : 1;     /* write_device.h, at the head of the block */
    bool syncs : 1;         /* write_sync.h, behind that */
    uint64_t payload_bytes; /* in stage->accepted_payload_bytes */
    _Atomic(fr_write_split *)
        split; /* set by who runs the op before its chunks start, for helpers */
    fr_write_entry single;
} fr_write_op;

_Static_assert(sizeof(fr_write_op) <= FR_OP_PAYLOAD_BYTES, "a single write lies in its op record");

/* A write that is cut into chunks: lives until the last helper let go. Type-stable (slabs), as
 * fr_job_help wants it. */
struct fr_write_split {
    void *link; /* the slabs' */
    fr_job job;
    fr_stage *stage;
    fr_op *op;
    fr_row_source rows;
    fr_write_plan plan;
};

extern const fr_op_type fr_write_op_type;

void fr_write_entry_pack(fr_write_entry *entry, const fr_payload *payload, fr_write_inner *inner);
void fr_write_entry_unpack(const fr_write_entry *entry, fr_row_source *rows);
/* Bytes that its run copies, at most. */
uint64_t fr_write_entry_bytes(const fr_write_entry *entry);
/* write_run.c: the next entry, to a column of the host, at one go. Not done: the op has failed. */
void fr_write_one(fr_op *op, fr_write_op *write);
/* Deletes managed tensors that are still the op's. */
void fr_write_op_let_go(fr_write_op *write);

/* write.c. reserved: names with a say in what is written (R115, R116); payload: NULL when there is
 * none to look at. admit, undo: what the acceptance of an entry does to its attribute (admission).
 */
ovstage_api_status_t fr_write_check_reserved(const fr_stage *stage, ovx_token_t token,
                                             const ovstage_write_data_t *data, fr_payload *payload);
void fr_write_admit_schema(const fr_stage *stage, fr_write_entry *entry);
void fr_write_undo_schema(fr_write_entry *entry);

/* write_judge.c. judging: in `accepted`, of an op that is judged when it runs, if it is one. joins:
 * the entry agrees with the attribute's first schema (admission). submitted: refused, with the text
 * set, for what is known already. demand: when the op runs; false: it failed. demand_filter: bits
 * of what the ops accepted before must have run of, to judge it. */
void fr_write_judging(fr_write_op *write, uint64_t ordinal, uint64_t op_id);
bool fr_write_joins(const fr_write_entry *entry);
ovstage_api_status_t fr_write_judge_submitted(const fr_write_op *write, uint64_t ordinal);
bool fr_write_judge_demand(fr_op *op, fr_write_op *write);
uint64_t fr_write_demand_filter(const fr_write_op *write);
/* Whether what has run decides about an INSERT that is about to be submitted. */
bool fr_write_decides_insert(fr_stage *stage, uint64_t ordinal);

/* A call that writes. */
#define FR_WRITE_PRIM_MODES 2 /* of the interface; those of flyrail_write_mode_t go on from there */
typedef struct fr_write_request {
    ovstage_query_handle_t query;
    const ovstage_attribute_write_t *writes;
    size_t count;
    bool some; /* of the query's prims, those at `rows`; then there is one entry */
    const uint32_t *rows;
    size_t row_count;
    ovstage_ordinal_t ordinal;
    int mode, mode_count;                 /* one of so many */
    const ovstage_placement_t *placement; /* NULL: none */
} fr_write_request;

/* Checks, and accepts or refuses it; managed tensors are the stage's in any case. */
ovstage_enqueue_result_t fr_write_enter(fr_stage *stage, const fr_write_request *request);

/* write_pending.c: writes over queries that are not ready when they are submitted. count: what an
 * entry is checked against. ready: when an op runs; false: the query has failed, and the op with
 * it. meet: the entries against the prims that there are; false: it failed. doomed: an op in place
 * of a write whose payload is wrong, which it says if the query has prims (R101); it takes a
 * reference of the query. NULL without memory. */
uint32_t fr_write_pending_count(const ovstage_write_data_t *data, fr_write_counted *out_counted);
bool fr_write_query_ready(fr_op *op, const fr_query *query);
bool fr_write_meet_query(fr_op *op, fr_write_op *write);
fr_op *fr_write_doomed(fr_stage *stage, fr_query *query, ovstage_api_status_t status,
                       ovx_string_t text);

/* "attribute 'a' of prim '/p'"; OVX_INVALID_PRIMPATH: without the prim. */
typedef struct fr_key_told {
    char text[256];
} fr_key_told;
fr_key_told fr_write_tell_key(const fr_stage *stage, const fr_attribute *attribute,
                              ovx_primpath_t prim);
/* write_home.c: rows of the host that the store has refused. Those of a column on a device are read
 * and go there: *written, and nothing is left to do. OK: they are prepared after all. Else the op
 * has failed. */
ovstage_api_status_t fr_write_refused_by_store(fr_op *op, const fr_stage *stage,
                                               const fr_write *what, ovstage_api_status_t refusal,
                                               fr_write_plan *plan, bool *written);
/* The op fails with what the store said. */
void fr_write_fail(fr_op *op, ovstage_api_status_t status, const fr_stage *stage,
                   const fr_attribute *attribute, const fr_write_plan *plan);
/* A key that has another schema than is written: the text of INVALID_ARGUMENT. */
typedef struct fr_conflict_text {
    char text[512];
} fr_conflict_text;
fr_conflict_text fr_write_tell_conflict(const fr_stage *stage, const fr_write *write,
                                        ovx_primpath_t prim, const fr_schema *existing);
/* For texts. */
const char *fr_write_name(const fr_stage *stage, const fr_attribute *attribute);
const char *fr_write_path(const fr_stage *stage, ovx_primpath_t prim);

#endif
