/* Alignment of read groups: brings the groups of several attributes to one common prim order.
 * Included on request only. */
#ifndef OVALIGN_H
#define OVALIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "ovstage.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { OVALIGN_DEVICE_CPU = 0, OVALIGN_DEVICE_CUDA = 1 } ovalign_device_t;

/* groups: value groups of the attributes, in any order. attributes: the attributes wanted, in the
 * order of the result. prim_list: the list that the groups' prims refer to. prim_order: list
 * positions in the order wanted, or NULL. */
typedef struct {
    const ovstage_read_group_t *groups;
    size_t group_count;
    const ovx_token_t *attributes;
    size_t attr_count;
    ovx_primpath_list_t prim_list;
    const uint32_t *prim_order;
    size_t prim_order_count;
    ovalign_device_t device; /* where gathered payloads are to lie */
} ovalign_request_t;

/* The aligned groups of one attribute. */
typedef struct {
    const ovstage_read_group_t *groups;
    size_t group_count;
} ovalign_attr_result_t;

/* One entry for each attribute asked for; at the same group index all of them name the same prims
 * in the same order. */
typedef struct {
    const ovalign_attr_result_t *attrs;
    size_t attr_count;
    size_t group_count;
    bool skipped; /* nothing had to be done: the pointers lead into the request */
} ovalign_result_t;

/* Keeps the prims that every one of the attributes has, leaves the others out.
 * A pure function of its arguments: it knows no instance and may be called from any thread (R185).
 * 0 on success. Anything else is an error, ovstage_get_last_error has the text, and *out is empty:
 * NOT_SUPPORTED for groups on a device and for OVALIGN_DEVICE_CUDA, INVALID_ARGUMENT,
 * OUT_OF_MEMORY. The result borrows from the request's groups: keep them until ovalign_release,
 * which is always due after a success. */
OVSTAGE_EXPORT int ovalign_align(const ovalign_request_t *request, ovalign_result_t *out);

/* Frees what ovalign_align made and empties *result. NULL and an empty result are fine. */
OVSTAGE_EXPORT void ovalign_release(ovalign_result_t *result);

#ifdef __cplusplus
}
#endif

#endif
