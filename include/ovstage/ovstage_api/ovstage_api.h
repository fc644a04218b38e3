/* The data plane: 28 functions behind an instance's table, and the thread's last error.
 *
 * Execution. An enqueue checks and copies its arguments and answers at once; the operation runs
 * later, on the stage's threads or inside a wait. Operations of one ordinal run in the order they
 * were submitted; different ordinals run at the same time (R35, L1). Nothing waits for, or is
 * refused because of, an unrelated reader or writer (L2). A submission never waits for another
 * operation: a handle whose producer is pending becomes a dependency (R14, L7).
 *
 * Effects go by ordinal: what an attribute of a prim is at N depends only on the operations with
 * ordinal <= N, in ordinal order, then in the order of their acceptance. Statuses are judged by
 * acceptance: on what the operations accepted before with an ordinal not above its own leave behind
 * (L3).
 *
 * Statuses. An enqueue (ovstage_enqueue_result_t) that answers something else than OK did nothing,
 * took no id and set the thread's last error (R12, R22); every one may answer QUEUE_FULL when too
 * much is pending, except releases, commits and advances (D25). Accepted operations that fail are
 * found by wait_op (R18). Common to all functions: NULL where a pointer is needed gives
 * INVALID_ARGUMENT (D8), a stale, foreign or unknown handle INVALID_HANDLE (R15, D7), no memory
 * OUT_OF_MEMORY. Out handles are 0 after a refused enqueue. No order is promised when several
 * arguments are bad. TIMEOUT and END_OF_ITERATION are no failures, and set no text.
 *
 * Memory. What is passed by pointer is copied during the call, except the payload of client tensors
 * (D9). What is handed out belongs to the library and says until when it is valid.
 *
 * Threads. Every slot may be called from many threads on one instance (R10). Destroying an instance
 * is the exception: then no other call may be under way (R9).
 *
 * The slots take the context; the inline functions of ovstage_api_utils.h take the instance
 * instead. (R.., D.. and L.. are the numbers of the contract's rules; tests are named after them.)
 */
#ifndef OVSTAGE_API_H
#define OVSTAGE_API_H

#include "ovstage_api_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows at its end only. */
struct ovstage_vtable_t {
    /* ---- Operations ---- */

    /* Waits until an operation, and what it depends on by ordinal and by handle, is done (R17).
     * timeout: 0 polls, OVSTAGE_TIMEOUT_INFINITE blocks. out: may be NULL (D8), which leaves it
     * open whether the operation failed. OK: it is done; failures, its own and those of its
     * producers, are listed in *out (R18, R19, D17). TIMEOUT: not yet, and *out names the lowest
     * pending id of the chain. INVALID_HANDLE: unknown or released id (D7). The calling thread may
     * run the awaited chain itself. A finite timeout is honoured: then no op over 64 KiB is started
     * here. Inside an op or a deleter it is an edge from the awaited op to the running one; one
     * that would close a cycle answers INVALID_ARGUMENT at once (L8). Without workers each poll
     * runs at most one op of the chain. */
    ovstage_api_status_t (*wait_op)(ovstage_context_t *context, ovstage_op_id_t op_id,
                                    ovstage_timeout_ns_t timeout, ovstage_op_wait_result_t *out);

    /* Forgets an operation's id, at once (R21). A pending one goes on and is forgotten when it
     * completes (D7). Releases of queries, reads and the like are operations with an id, too; what
     * is not released costs some bytes until the instance is destroyed. INVALID_HANDLE: unknown or
     * already released (D15). */
    ovstage_api_status_t (*release_op)(ovstage_context_t *context, ovstage_op_id_t op_id);

    /* ---- Sealing ---- */

    /* Seals the moments up to desc->ordinal for what its scope covers (R36 to R39, D1). Waits, as
     * an operation, for the mutations at or below it that were accepted before. From its acceptance
     * on, later mutations at or below it in its scope are refused (D2). A lower or equal ordinal
     * succeeds and does nothing (R38). It completes even if mutations below it failed, and whoever
     * waits for it is told nothing of them: only a wait for a mutation itself tells (D17).
     * INVALID_ARGUMENT: a token that is 0 or unknown to the dictionary, an unknown scope. */
    ovstage_enqueue_result_t (*advance_write_floor)(ovstage_context_t *context,
                                                    const ovstage_write_floor_desc_t *desc);

    /* Asks for the lowest ordinal from which on range reads know exactly what changed when (R42,
     * L6). It rises with the seals: what is asked after a read was accepted holds for that read,
     * what was asked before need not. */
    ovstage_enqueue_result_t (*get_oldest_preserved_ordinal)(ovstage_context_t *context,
                                                             ovstage_ordinal_query_handle_t *out);

    /* Asks for an attribute's executed floor; token 0 with an empty text: the least over the known
     * attributes (R40, D1). */
    ovstage_enqueue_result_t (*get_attribute_write_floor)(ovstage_context_t *context,
                                                          ovx_string_or_token_t attribute,
                                                          ovstage_ordinal_query_handle_t *out);

    /* The answer of the two above. OK, TIMEOUT or OP_FAILED (R41). May be called again (D15). */
    ovstage_api_status_t (*fetch_ordinal)(ovstage_context_t *context,
                                          ovstage_ordinal_query_handle_t handle,
                                          ovstage_timeout_ns_t timeout, ovstage_ordinal_t *out);

    /* Ends an ordinal query; ordered after fetches under way (R41). */
    ovstage_enqueue_result_t (*release_ordinal_query)(ovstage_context_t *context,
                                                      ovstage_ordinal_query_handle_t handle);

    /* ---- Querying ---- */

    /* Finds prims. filter: predicates that must all hold; NULL or empty: every prim (R46). Of a
     * predicate's values one has to do; without values, none does. attrs: n tokens that the result
     * reports on; none: every recorded attribute of the matches (R53, D14). What counts is the
     * newest state by ordinal, sealed or not, of what was accepted before (R47, D23); the set of
     * prims is then fixed, in path order (D6). The first PREFIX of a path after many new prims
     * sorts those. The handle may be used at once: what uses it waits for the query, and fails with
     * it (R14, L7).
     *
     * HAS: the attribute is there; values are ignored (R48). The others compare (L10):
     *   usd-path, usd-parent, usd-children by their texts: IN is equal, PREFIX and CONTAINS go by
     *     bytes, LT to GE by the order of bytes. CONTAINS of children names a whole path (R49,
     *     R50). A parent counts only if it is a prim itself: not `/World`, if only `/World/Ball`
     *     was written (D13).
     *   tokens, paths, assets (either token), connections (the path or the token), STRING rows:
     *     the same, as texts.
     *   numbers and bools: a value is a number, or true or false; of a row of several lanes one for
     *     each, with spaces or commas between, brackets around if one likes; one alone stands for
     *     each. IN: all lanes are equal. LT to GE: in every lane. CONTAINS: some lane is equal.
     *     Values for floats are rounded to their type. No PREFIX.
     *   arrays: one element has to do; CONTAINS is IN.
     * An attribute without columns matches nothing.
     *
     * INVALID_ARGUMENT: bad operator, empty name, a NULL text with a length. NOT_SUPPORTED: a
     * predicate on `usd-active` (R51). By wait_op: INVALID_ARGUMENT, a value that no column of the
     * attribute can have; OUT_OF_MEMORY. */
    ovstage_enqueue_result_t (*query)(ovstage_context_t *context, const ovstage_filter_t *filter,
                                      const ovx_token_t *attrs, size_t n,
                                      ovstage_query_handle_t *out);

    /* A query of just these prims, in this order, ready at once. The prims need not exist (R44).
     * The caller keeps its reference to the list and may release it right away (R45). A path listed
     * twice counts at each position for reads; a write takes the last (D6). */
    ovstage_api_status_t (*query_from_path_list)(ovstage_context_t *context,
                                                 ovx_primpath_list_t list,
                                                 ovstage_query_handle_t *out);

    /* What the query found. OK, TIMEOUT or OP_FAILED (R54). *out lives until release_query_result.
     * May be called again, each time with a result of its own (D15). */
    ovstage_api_status_t (*fetch_query_result)(ovstage_context_t *context,
                                               ovstage_query_handle_t query,
                                               ovstage_timeout_ns_t timeout,
                                               ovstage_query_result_t *out);

    /* Gives a result back; the query stays. Any thread. */
    ovstage_api_status_t (*release_query_result)(ovstage_context_t *context,
                                                 const ovstage_query_result_t *result);

    /* Ends a query; ordered after the uses of the handle that were submitted before (R55). */
    ovstage_enqueue_result_t (*release_query)(ovstage_context_t *context,
                                              ovstage_query_handle_t query);

    /* ---- Reading ---- */

    /* Opens a read of n attributes over a query's prims.
     * range {0, N, false}: the newest sealed value of each key at or below N, all columns of one
     * moment (L4). range {S, E, true}: the keys that changed in S..E, with their newest kept value
     * of the range, and tombstones (L5). With a ready query the status comes from this call, else
     * from fetch_read_next (R64). WRITE_FLOOR_VIOLATION: something selected is unsealed (R59, R60).
     * N and E may lie above the floor: a read waits for the seals that were accepted before, and
     * above them it is judged by what has run. A write that was accepted and has not run yet
     * neither refuses it nor is in it; so who goes on from E as from a moment that he has seen
     * whole reads up to a sealed one. Only prims of the query are told of: of deletes those learn
     * that keep a query from before, or list the paths.
     * OUT_OF_RANGE: a needed value is no longer kept. INVALID_ARGUMENT: start above end (R56),
     * token 0. NOT_SUPPORTED: `usd-active` (R141). Attributes that no prim has give no group (R63).
     * `usd-path`, `usd-parent` (a path id a row) and `usd-children` (an array of path ids) are
     * computed from the newest structure, whatever the moment, and are in no range (R140). */
    ovstage_enqueue_result_t (*read_attributes)(ovstage_context_t *context,
                                                ovstage_query_handle_t query,
                                                const ovx_token_t *attrs, size_t n,
                                                ovstage_ordinal_range_t range,
                                                ovstage_read_handle_t *out);

    /* The next group, in no promised order (R65). A fixed attribute that one op wrote on all prims
     * of the query is one group, in the query's order (R78); else there may be several, for deleted
     * keys and other types too: the maps tell where rows belong (R79, R84). OK, END_OF_ITERATION,
     * TIMEOUT, OP_FAILED, or the read's own failure. The group stays valid and unchanged until
     * release_group, also after release_read (R66, R68). */
    ovstage_api_status_t (*fetch_read_next)(ovstage_context_t *context, ovstage_read_handle_t read,
                                            ovstage_timeout_ns_t timeout,
                                            ovstage_read_group_t *out);

    /* Gives a group back, from any thread, in any order (R66). Only read_group_id is looked at. Of
     * a group on a device: when the client's own work that reads it is done, of which the stage
     * knows nothing. */
    ovstage_api_status_t (*release_group)(ovstage_context_t *context,
                                          const ovstage_read_group_t *group);

    /* Ends a read; ordered after fetches under way (R67). Its groups stay. */
    ovstage_enqueue_result_t (*release_read)(ovstage_context_t *context,
                                             ovstage_read_handle_t read);

    /* ---- Writing ---- */

    /* Writes one attribute of a query's prims at an ordinal: a batch of one, see write_attributes
     * (R111). */
    ovstage_enqueue_result_t (*write_attribute)(
        ovstage_context_t *context, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
        ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t prim_mode);

    /* ---- Mapping ---- */

    /* Opens buffers to fill in place, at one ordinal; what they hold is committed by unmap_group
     * and unmap_attribute (R117, D16). They do not begin with the current values, so every row has
     * to be filled (R121); on a device they are cleared, for which fetch_map_next waits.
     * element_sizes: for an array column element_count = prim count lengths in elements; NULL and 0
     * for a fixed one (R120). A new attribute needs desc->dtype (R118). WRITE_FLOOR_VIOLATION,
     * PRIM_NOT_FOUND, INVALID_ARGUMENT as writes. */
    ovstage_enqueue_result_t (*map_attribute)(ovstage_context_t *context,
                                              ovstage_query_handle_t query,
                                              const ovstage_map_desc_t *desc,
                                              ovstage_ordinal_t ordinal,
                                              const size_t *element_sizes, size_t element_count,
                                              ovstage_map_handle_t *out);

    /* The next group to fill. Statuses as fetch_read_next (R127). */
    ovstage_api_status_t (*fetch_map_next)(ovstage_context_t *context, ovstage_map_handle_t map,
                                           ovstage_timeout_ns_t timeout, ovstage_map_group_t *out);

    /* Commits one group; its pointers are dead once this is accepted. write_done_sync: what to wait
     * for before the buffers are read (R123). INVALID_HANDLE: a group of another map or committed
     * before (D16). */
    ovstage_enqueue_result_t (*unmap_group)(ovstage_context_t *context, ovstage_map_handle_t map,
                                            const ovstage_map_group_t *group,
                                            ovstage_cuda_sync_t write_done_sync);

    /* Commits all groups that were fetched and not committed, and ends the map (R122). Prims that
     * came or went meanwhile do not matter: LAYOUT_CHANGED is never answered (R124).
     * WRITE_FLOOR_VIOLATION: the ordinal was sealed; nothing is committed, the map is gone (D16).
     */
    ovstage_enqueue_result_t (*unmap_attribute)(ovstage_context_t *context,
                                                ovstage_map_handle_t map,
                                                ovstage_cuda_sync_t write_done_sync);

    /* ---- Deleting ---- */

    /* Deletes n attributes of a query's prims at an ordinal; n = 0 deletes the prims whole (R128,
     * D3, D12). Later reads at or above the ordinal do not see them, range reads see tombstones
     * (R129). What is not there is no error (D12). */
    ovstage_enqueue_result_t (*delete_attributes)(ovstage_context_t *context,
                                                  ovstage_query_handle_t query,
                                                  const ovx_string_or_token_t *attrs, size_t n,
                                                  ovstage_ordinal_t ordinal);

    /* ---- Information ---- */

    /* The interface's version, as the OVSTAGE_VERSION_ macros (R25). NULL pointers are skipped. */
    void (*get_version)(ovstage_context_t *context, uint32_t *major, uint32_t *minor,
                        uint32_t *patch);

    /* A fixed text for a status, one for each code, never NULL (R24). context may be NULL. */
    const char *(*get_error_string)(ovstage_context_t *context, ovstage_api_status_t status);

    /* Why an operation of this thread's last wait failed, valid until its next wait_op; {NULL, 0}
     * for an unknown id or one that did not fail (R20). */
    ovx_string_t (*get_last_op_error)(ovstage_context_t *context, ovstage_op_id_t op_id);

    /* The path dictionary, owned by the library, valid as long as the instance (R166). NULL in a
     * forked child. */
    path_dictionary_instance_t *(*get_path_dictionary)(ovstage_context_t *context);

    /* ---- Added later ---- */

    /* Writes n attributes of a query's prims at an ordinal, as one operation (R112).
     * The whole array is checked before anything is queued. Entries name distinct attributes,
     * counting an alias as the name it stands for (D19). Prims that are absent are made once, for
     * those that the entries address (R106, D12). Not atomic: if an entry fails, others may be
     * written; unwritten ones publish no value and no change. Managed tensors are consumed in any
     * case, each once; none may be NULL or occur twice in the batch (R88, R113). A query without
     * prims is fine and the payload is then not looked at (R101). INVALID_ARGUMENT: bad payload,
     * map, mask, count, name, schema or role (R87 to R99, R107 to R109, D11).
     * WRITE_FLOOR_VIOLATION: the ordinal is not above the floor (R33, D2). PRIM_NOT_FOUND: INSERT
     * found a prim (R106). NOT_SUPPORTED: a dtype that cannot be stored, a computed attribute
     * (R100, R116). */
    ovstage_enqueue_result_t (*write_attributes)(ovstage_context_t *context,
                                                 ovstage_query_handle_t query,
                                                 const ovstage_attribute_write_t *writes, size_t n,
                                                 ovstage_ordinal_t ordinal,
                                                 ovstage_prim_mode_t prim_mode);

    /* Looks an extension up by its name, a text that ends with a NUL. OK: *out is a table that is
     * valid as long as the process. NOT_FOUND: unknown name. INVALID_ARGUMENT: NULL (R174). */
    ovstage_api_status_t (*query_extension)(ovstage_context_t *context, const char *name,
                                            const void **out);
};

/* The text of this thread's latest failing call or refused enqueue, of whichever instance; {NULL,
 * 0} if there was none. Valid until the thread's next call (R23). */
OVSTAGE_EXPORT ovx_string_t ovstage_get_last_error(void);

#ifdef __cplusplus
}
#endif

#include "ovstage_api_utils.h"

#endif
