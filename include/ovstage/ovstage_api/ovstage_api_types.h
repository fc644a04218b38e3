/* Types of the data plane: scalars, handles, statuses and the structs that cross the function
 * table.
 *
 * Layouts and enum values are a stable binary interface (x86-64 System V; enums are 4 bytes). A
 * struct of 16 bytes travels in registers, a larger one in memory.
 *
 * (R.., D.. and L.. are the numbers of the contract's rules; tests are named after them.) */
#ifndef OVSTAGE_API_TYPES_H
#define OVSTAGE_API_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#include <ovx/path_dictionary/path_dictionary_types.h>

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1
#error "ovstage needs DLPack with ABI major version 1 (struct DLManagedTensorVersioned)"
#endif

/* Version of the interface, not of the library behind it (D22). get_version answers the same (R25).
 */
#define OVSTAGE_VERSION_MAJOR 0
#define OVSTAGE_VERSION_MINOR 2
#define OVSTAGE_VERSION_PATCH 1

/* Marks what should no longer be used. Define it before including to replace or silence it. */
#ifndef OVSTAGE_DEPRECATED
#if defined(__GNUC__)
#define OVSTAGE_DEPRECATED(msg) __attribute__((deprecated(msg)))
#elif defined(_MSC_VER)
#define OVSTAGE_DEPRECATED(msg) __declspec(deprecated(msg))
#else
#define OVSTAGE_DEPRECATED(msg)
#endif
#endif

/* Marks the functions that the shared library exports. */
#ifndef OVSTAGE_EXPORT
#if defined(__GNUC__)
#define OVSTAGE_EXPORT __attribute__((visibility("default")))
#else
#define OVSTAGE_EXPORT
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ovstage_context_t ovstage_context_t;
typedef struct ovstage_vtable_t ovstage_vtable_t;

/* A stage: function table and context. Made by ovstage_create_instance, owned by the library; do
 * not copy it. A library that only passes instances on may declare the typedef itself and define
 * OVSTAGE_INSTANCE_T_DECLARED. */
struct ovstage_instance_t {
    const ovstage_vtable_t *vtable;
    ovstage_context_t *context;
};
#ifndef OVSTAGE_INSTANCE_T_DECLARED
#define OVSTAGE_INSTANCE_T_DECLARED
typedef struct ovstage_instance_t ovstage_instance_t;
#endif

/* ---- Scalars and handles ---- */

/* A moment, numbered by the application. Any value; gaps are fine (R31). Floors start at 0, so that
 * 1 is the first ordinal that can be written (R32, R33). */
#ifndef OVSTAGE_ORDINAL_T_DECLARED
#define OVSTAGE_ORDINAL_T_DECLARED
typedef uint64_t ovstage_ordinal_t;
#endif

/* Bit i%64 of word i/64 selects element i; ceil(count/64) words are read (R95). */
typedef const uint64_t *ovstage_mask_t;

/* Nanoseconds to wait at most; 0 polls, OVSTAGE_TIMEOUT_INFINITE blocks (R16). */
typedef uint64_t ovstage_timeout_ns_t;
#define OVSTAGE_TIMEOUT_INFINITE ((ovstage_timeout_ns_t)UINT64_MAX)

/* An accepted operation. Ids rise within an instance (R13) and are never used again (D7). Texts
 * name them in hexadecimal. */
typedef uint64_t ovstage_op_id_t;
#define OVSTAGE_INVALID_OP_ID ((ovstage_op_id_t)0)

/* Handles. 0 is invalid; numbers are never used again, and those of another instance are refused
 * (R15, D7). A handle that an enqueue reserved may be passed to later enqueues at once (R14). */
typedef uint64_t ovstage_query_handle_t;
typedef uint64_t ovstage_query_result_id_t;
typedef uint64_t ovstage_read_handle_t;
typedef uint64_t ovstage_read_group_id_t;
typedef uint64_t ovstage_map_handle_t;
typedef uint64_t ovstage_ordinal_query_handle_t;
typedef uint64_t ovstage_hierarchy_handle_t;
typedef uint64_t ovstage_hierarchy_result_id_t;
#define OVSTAGE_INVALID_QUERY_HANDLE ((ovstage_query_handle_t)0)
#define OVSTAGE_INVALID_QUERY_RESULT_ID ((ovstage_query_result_id_t)0)
#define OVSTAGE_INVALID_READ_HANDLE ((ovstage_read_handle_t)0)
#define OVSTAGE_INVALID_READ_GROUP_ID ((ovstage_read_group_id_t)0)
#define OVSTAGE_INVALID_MAP_HANDLE ((ovstage_map_handle_t)0)
#define OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE ((ovstage_ordinal_query_handle_t)0)
#define OVSTAGE_INVALID_HIERARCHY_HANDLE ((ovstage_hierarchy_handle_t)0)
#define OVSTAGE_INVALID_HIERARCHY_RESULT_ID ((ovstage_hierarchy_result_id_t)0)

/* ---- Enums ---- */

typedef enum ovstage_api_status_t {
    OVSTAGE_OK = 0,
    OVSTAGE_ERROR_INVALID_ARGUMENT =
        1, /* a NULL, a wrong shape, type or count, a schema mismatch */
    OVSTAGE_ERROR_INVALID_HANDLE =
        2,                       /* a handle or id that is stale, unknown or of another instance */
    OVSTAGE_ERROR_NOT_FOUND = 3, /* an unknown extension, a missing source of a clone */
    OVSTAGE_ERROR_PRIM_NOT_FOUND = 4, /* the prim mode forbids what is there: INSERT found a prim */
    OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION =
        5,                              /* a write at or below the floor, a read of unsealed data */
    OVSTAGE_ERROR_NOT_SUPPORTED = 6,    /* known, but this library does not do it */
    OVSTAGE_ERROR_QUEUE_FULL = 7,       /* too much is pending: wait; or unsealed: seal */
    OVSTAGE_ERROR_END_OF_ITERATION = 8, /* no more groups; not a failure */
    OVSTAGE_ERROR_OUT_OF_MEMORY = 9,
    OVSTAGE_ERROR_LAYOUT_CHANGED = 10, /* the prims of a map changed; never answered here */
    OVSTAGE_ERROR_TIMEOUT = 11,        /* not ready yet; not a failure */
    OVSTAGE_ERROR_OP_FAILED = 12,      /* the operation ran and failed; its text tells why */
    OVSTAGE_ERROR_OUT_OF_RANGE = 13,   /* a value that the read needs is no longer kept */
    OVSTAGE_ERROR_INTERNAL = 99
} ovstage_api_status_t;

/* What a predicate tests. Values are texts, parsed by the column's type (L10); several of them are
 * alternatives (R46). */
typedef enum {
    OVSTAGE_FILTER_OP_HAS = 0, /* the prim has the attribute; values are ignored (R48) */
    OVSTAGE_FILTER_OP_IN = 1,  /* equals one of the values */
    OVSTAGE_FILTER_OP_CONTAINS =
        2,                        /* has one of the values as an element or as a part of its text */
    OVSTAGE_FILTER_OP_PREFIX = 3, /* begins with one of the values, byte by byte */
    OVSTAGE_FILTER_OP_LT = 4,
    OVSTAGE_FILTER_OP_LE = 5,
    OVSTAGE_FILTER_OP_GT = 6,
    OVSTAGE_FILTER_OP_GE = 7
} ovstage_filter_op_t;

typedef enum {
    OVSTAGE_PRIM_MODE_UPSERT = 0, /* makes prims that are absent, updates the others */
    OVSTAGE_PRIM_MODE_INSERT =
        1 /* refuses the whole write if a prim it addresses exists (R106, D26) */
} ovstage_prim_mode_t;

/* What a seal covers (R37, D1). */
typedef enum {
    OVSTAGE_SCOPE_ALL = 0,     /* the whole stage, attributes of the future included */
    OVSTAGE_SCOPE_INCLUDE = 1, /* the named attributes */
    OVSTAGE_SCOPE_EXCLUDE = 2  /* every known attribute but the named ones; none named: as ALL */
} ovstage_scope_t;

/* The role of a column: recorded when the column is made, returned by reads (R110). The first
 * comment is the storage that it demands, if any (R109). Ids are interned by the caller; 0 stands
 * for an authored empty value. */
typedef enum {
    OVSTAGE_SEMANTIC_NONE = 0,
    OVSTAGE_SEMANTIC_ASSET_PATH_ID = 1,          /* uint64 x2: authored token, resolved token */
    OVSTAGE_SEMANTIC_TOKEN_ID = 2,               /* uint64 x1: token */
    OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING = 3, /* uint64 x1: token of the text */
    OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID = 4,   /* uint64 x1, array: path handles */
    OVSTAGE_SEMANTIC_POINT = 5,
    OVSTAGE_SEMANTIC_VECTOR = 6,
    OVSTAGE_SEMANTIC_NORMAL = 7,
    OVSTAGE_SEMANTIC_COLOR = 8,
    OVSTAGE_SEMANTIC_QUATERNION = 9,
    OVSTAGE_SEMANTIC_MATRIX = 10,
    OVSTAGE_SEMANTIC_TEXTURE_COORDINATE = 11,
    OVSTAGE_SEMANTIC_CONNECTION_PATH_ID = 12, /* uint64 x2, array: path handle, token */
    OVSTAGE_SEMANTIC_STRING = 13,             /* uint8 x1, array: the bytes of one text a prim */
    OVSTAGE_SEMANTIC_TIME_CODE = 14,
    OVSTAGE_SEMANTIC_FRAME = 15
} ovstage_attribute_semantic_t;

/* ---- Submitting and waiting ---- */

/* What must be done on a CUDA device before a payload is read: handles are captured inside the call
 * that takes them, so that the event may be recorded again at once (D21). {0, 0} for host memory.
 * Both given: both are waited for. */
typedef struct {
    uintptr_t stream;     /* 0 none (the default stream is not 0 here), 1 the legacy default stream,
                             2 the calling thread's own, else a cudaStream_t: its queued work is
                             waited for (R102) */
    uintptr_t wait_event; /* 0 none, else a cudaEvent_t */
} ovstage_cuda_sync_t;

/* What every enqueue answers. OK: accepted, and op_index is its id. Else op_index is
 * OVSTAGE_INVALID_OP_ID, nothing happened and ovstage_get_last_error has the text (R12, R22). */
typedef struct {
    ovstage_api_status_t status;
    ovstage_op_id_t op_index;
} ovstage_enqueue_result_t;

/* What wait_op reports beside its status. */
typedef struct {
    const ovstage_op_id_t *error_op_ids; /* ops seen failed since this thread's previous wait_op,
                                            root cause first; lives until its next one (R19) */
    size_t error_op_id_count;
    ovstage_op_id_t lowest_pending_op_id; /* on TIMEOUT: the lowest pending id in the awaited chain
                                             (R17); else 0 */
} ovstage_op_wait_result_t;

/* ---- Reading and mapping ---- */

/* A payload. Logical element i lies in row index_map ? index_map[i] : i.
 * Fixed column: one 1-D tensor, shape[0] rows, dtype.lanes = full width of a row (R74). Array
 * column: one 1-D tensor a row, shape[0] = the row's element count (R75). byte_offset is 0 and
 * strides NULL: rows are compact. A tombstone has no tensors and count 0 (R70). */
typedef struct {
    const DLTensor *tensors;
    uint32_t tensor_count;
    uint32_t count;            /* logical elements; equals prims.count in value groups (D5) */
    const uint32_t *index_map; /* count rows, or NULL */
    ovstage_mask_t mask; /* NULL in what the stage hands out; never together with index_map (R76) */
    /* {0, 0} in what the stage hands out: a placement's event tells. */
    ovstage_cuda_sync_t cuda_sync;
} ovstage_data_t;

/* Which prims a group speaks of: element i is position index_map ? index_map[i] : offset + i of
 * `list` (R72). The list is borrowed until what it came with is released; add a dictionary
 * reference to keep it (R73). */
typedef struct {
    ovx_primpath_list_t list;
    uint32_t offset;
    uint32_t count;
    const uint32_t *index_map;
} ovstage_prim_group_t;

typedef struct {
    ovstage_ordinal_t
        attribute_write_floor_ordinal; /* the attribute's floor when the group was made */
    uint64_t layout_generation; /* rises when prims join or leave the column or their rows move; not
                                   with values (R82) */
} ovstage_attribute_meta_t;

/* {0, N, false}: the newest sealed value at or below N (R57, L4). {S, E, true}: what changed in
 * S..E, both included (L5). */
typedef struct {
    ovstage_ordinal_t start_ordinal;
    ovstage_ordinal_t end_ordinal;
    bool has_start_ordinal;
} ovstage_ordinal_range_t;

/* One group of a read. All pointers stay valid and all values unchanged until release_group,
 * whatever is written meanwhile (R68, L4). */
typedef struct {
    ovstage_read_group_id_t read_group_id; /* not 0 */
    ovx_token_t attribute;
    ovstage_ordinal_t
        ordinal;    /* snapshot: newest ordinal among its rows; range: the range's end (D3, D4) */
    bool is_delete; /* a tombstone: prims whose value was deleted (R70) */
    bool is_array;  /* the only sign of an array column (R75) */
    ovstage_attribute_semantic_t semantic;
    ovstage_prim_group_t prims;
    ovstage_data_t data;
    ovstage_attribute_meta_t meta;
} ovstage_read_group_t;

/* One group of a map, to be filled in place. It has no id: the map handle and its pointers identify
 * it. */
typedef struct {
    ovstage_prim_group_t prims;
    ovstage_data_t data;
    ovstage_attribute_meta_t meta;
} ovstage_map_group_t;

typedef struct {
    ovx_string_or_token_t attribute;
    DLDataType
        dtype; /* lanes = row width; all zero: the column's own, if there is just one (R118) */
    ovstage_attribute_semantic_t semantic;
    ovstage_prim_mode_t prim_mode;
} ovstage_map_desc_t;

/* ---- Querying ---- */

typedef struct {
    ovx_string_or_token_t attribute;
    ovstage_filter_op_t op;
    const ovx_string_t *values; /* value_count texts, alternatives (R46) */
    size_t value_count;
} ovstage_predicate_t;

/* All predicates must hold (R46). NULL or count 0: every prim. */
typedef struct {
    const ovstage_predicate_t *predicates;
    size_t count;
} ovstage_filter_t;

/* What a query found; lives until release_query_result, apart from the query (R53, R54). */
typedef struct {
    ovstage_query_result_id_t query_result_id;
    const ovx_token_t *attributes; /* attribute_count distinct tokens (D14) */
    size_t attribute_count;
    ovstage_query_handle_t all_handle; /* the query itself */
    size_t total_prim_count;
} ovstage_query_result_t;

/* ---- Sealing ---- */

typedef struct {
    ovstage_ordinal_t ordinal; /* moments up to this one are sealed */
    ovstage_scope_t scope;
    const ovx_token_t *attributes; /* attribute_count tokens for INCLUDE and EXCLUDE; duplicates are
                                      harmless (D1) */
    size_t attribute_count;
} ovstage_write_floor_desc_t;

/* ---- Writing ---- */

/* The payload of a write. Just one of the two tensor arrays is given, with tensor_count >= 1 (R87).
 *
 * Fixed column (is_array false): one tensor. Rows are shape[0]; further dimensions fold into the
 * row's width (R90). Array column (is_array true): one tensor a source row, or one tensor with all
 * rows of equal size (R97, R98). On the host strides are any number of elements, 0 and negative
 * included, and byte_offset counts (D10).
 *
 * Logical element i goes to the i-th prim of the query. It is row index_map[i] of the payload, or
 * row i; with a mask it goes nowhere unless its bit is set (R94, R95). index_map and mask exclude
 * each other, and either needs a count (R96).
 *
 * Lifetime: what the struct points to is copied inside the call. Only the payload of client tensors
 * must live until the op completes (D9); on a device, with a placement's availability_event, until
 * that event is done as well (L9). Managed tensors belong to the stage from the call's entry
 * on, also if it refuses: each is deleted exactly once (R88); it may be taken over without a copy
 * (D10). */
typedef struct {
    const DLTensor *tensors;
    const struct DLManagedTensorVersioned *const *managed_tensors;
    uint32_t tensor_count;
    uint32_t count;                /* logical elements; 0: one for each prim of the query (R93) */
    const uint32_t *index_map;     /* count source rows, or NULL */
    ovstage_mask_t mask;           /* ceil(count/64) words, or NULL */
    ovstage_cuda_sync_t cuda_sync; /* waited for before the payload is read (R102) */
    ovstage_attribute_semantic_t semantic;
    bool is_array;
} ovstage_write_data_t;

/* One entry of a batch. */
typedef struct {
    ovx_string_or_token_t attribute;
    ovstage_write_data_t data;
} ovstage_attribute_write_t;

#ifdef __cplusplus
}
#endif

#endif
