/* The forest: the prims that have world transforms, and all prims above them, level by level, with
 * their transforms as they were last composed.
 *
 * A node is a number. Nodes of a level follow each other, parents come before children, and the
 * children of a node follow each other, too: so a level can be composed in any order, by several
 * threads, and always to the same bits. Whether a prim exists makes no difference: one without a
 * local transform is passed through.
 *
 * Threads: of one computation at a time; `forest_compose` shares its levels out. Invariants:
 * `world` is what follows from `local` and the flags, but for nodes marked dirty and all below
 * them. Memory bound: about 300 bytes a node, and 25 bytes a node while it is made, besides two
 * bits for each path of the dictionary. */
#ifndef FR_RUNTIME_HIERARCHY_FOREST_H
#define FR_RUNTIME_HIERARCHY_FOREST_H

#include <string.h>

#include "runtime/api/stage.h"
#include "runtime/query/query.h"
#include "runtime/write/rows_width.h"

#define FR_FOREST_NONE UINT32_MAX
#define FR_MATRIX_ELEMENTS 16
#define FR_MATRIX_BYTES (FR_MATRIX_ELEMENTS * sizeof(double))

/* Flags of a node. */
#define FR_NODE_LOCAL 1u  /* it has a local transform */
#define FR_NODE_RESET 2u  /* its world is its local */
#define FR_NODE_WORLD 4u  /* it has a world transform, at the moment it was last looked for */
#define FR_NODE_PLAIN 8u  /* its world is the identity for want of any local */
#define FR_NODE_MOVED 16u /* while its level is composed: what is below it may be another one now */
#define FR_NODE_OTHER 32u /* the same: its world has other bits now */

typedef struct fr_forest {
    fr_stage *stage;
    fr_query nodes; /* the prims, of which the store remembers where they lie; no client's */
    uint32_t count, level_count;
    uint32_t *level_first; /* level_count + 1 */
    uint32_t *parent;      /* or NONE */
    uint32_t *first_child; /* count + 1; its children end where those of the next one begin */
    uint8_t *flags;
    uint8_t *role;         /* of the world's column (an attribute's semantic) */
    double *local, *world; /* row-major */
    uint64_t *dirty;       /* bit a node: to be composed */
    uint64_t *changed;     /* bit a node: its world is not what the column has */
    uint32_t *list;        /* room for all */
    size_t block_bytes;    /* of the one block that all but level_first lie in */
    size_t kept_bytes;     /* counted with the store's caches; 0: it goes with its use */
    uint64_t generation;   /* of the world's layout when it was made */
    /* What the locals and the flags are of, and what the columns had at world_at. */
    bool inputs_known, outputs_known;
    uint64_t local_at, reset_at, world_at;
    uint64_t world_from; /* the output ordinal: from there on the column has those worlds */
} fr_forest;

/* Over the prims of the attribute's keys. All its nodes are dirty. NULL without memory. */
fr_forest *fr_forest_make(fr_stage *stage, fr_attribute *world);
void fr_forest_destroy(fr_forest *forest); /* NULL is fine */

static inline void fr_bit_set(uint64_t *bits, uint32_t bit)
{
    bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void fr_bit_clear(uint64_t *bits, uint32_t bit)
{
    bits[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

/* Sets bits [first, end). */
void fr_bits_set(uint64_t *bits, uint32_t first, uint32_t end);
/* The set bits of [first, end) into `list`, ascending; returns how many. */
uint32_t fr_bits_list(const uint64_t *bits, uint32_t first, uint32_t end, uint32_t *list);

/* To the bit. */
static inline bool fr_matrix_is(const void *a, const void *b)
{
    return memcmp(a, b, FR_MATRIX_BYTES) == 0;
}

FR_ASKS void fr_matrix_ask_for(const double *matrix)
{
    fr_row_ask_to_write((const unsigned char *)matrix, FR_MATRIX_BYTES);
}

static inline double *fr_forest_local(const fr_forest *forest, uint32_t node)
{
    return forest->local + (size_t)node * FR_MATRIX_ELEMENTS;
}

static inline double *fr_forest_world(const fr_forest *forest, uint32_t node)
{
    return forest->world + (size_t)node * FR_MATRIX_ELEMENTS;
}

#endif
