/* The shortest whole program: write a column, seal the moment, read it back. */
#include <stdio.h>

#include <ovstage/ovstage.h>
#include <ovx/path_dictionary/path_dictionary.h>

static int fail_with(const char *what, ovx_string_t text)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)text.length, text.ptr ? text.ptr : "");
    return 1;
}

static int fail(const char *what)
{
    return fail_with(what, ovstage_get_last_error());
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    if (ovstage_create_instance(NULL, &stage) != OVSTAGE_OK)
        return fail("create_instance");

    /* Names become tokens once; a query names the prims. They need not exist: writing makes them.
     */
    path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary(stage);
    const ovx_string_t name = literal_to_ovx_string("position");
    const ovx_string_t paths[2] = {literal_to_ovx_string("/World/Ball"),
                                   literal_to_ovx_string("/World/Box")};
    ovx_token_t position;
    ovx_primpath_list_t list;
    ovstage_query_handle_t both;
    if (path_dictionary_create_tokens_from_strings(dictionary, &name, 1, &position).status !=
            OVX_API_SUCCESS ||
        path_dictionary_create_path_list_from_strings(dictionary, paths, 2, &list).status !=
            OVX_API_SUCCESS ||
        ovstage_query_from_path_list(stage, list, &both) != OVSTAGE_OK)
        return fail("query");

    /* Write at moment 1, and seal it. Nothing is waited for yet; `rows` must live until the write
     * is complete. */
    float rows[2][3] = {{0, 0, 1.5f}, {2, 0, 0.5f}};
    DLTensor tensor = {rows, {kDLCPU, 0}, 1, {kDLFloat, 32, 3}, (int64_t[]){2}, NULL, 0};
    ovstage_write_data_t data = {
        .tensors = &tensor, .tensor_count = 1, .semantic = OVSTAGE_SEMANTIC_POINT};
    ovx_string_or_token_t attribute = {.token = position};
    ovstage_write_floor_desc_t floor = {.ordinal = 1, .scope = OVSTAGE_SCOPE_ALL};
    ovstage_enqueue_result_t write =
        ovstage_write_attribute(stage, both, attribute, 1, data, OVSTAGE_PRIM_MODE_UPSERT);
    ovstage_enqueue_result_t seal = ovstage_advance_write_floor(stage, &floor);
    if (write.status != OVSTAGE_OK || seal.status != OVSTAGE_OK)
        return fail("write");

    /* The seal completes after the write, even over one that failed: only the write tells. */
    ovstage_op_wait_result_t waited = {0};
    if (ovstage_wait_op(stage, write.op_index, OVSTAGE_TIMEOUT_INFINITE, &waited) != OVSTAGE_OK)
        return fail("wait for the write");
    if (waited.error_op_id_count > 0)
        return fail_with("write", ovstage_get_last_op_error(stage, waited.error_op_ids[0]));
    if (ovstage_wait_op(stage, seal.op_index, OVSTAGE_TIMEOUT_INFINITE, NULL) != OVSTAGE_OK)
        return fail("wait for the seal");

    /* Read the newest values at or below moment 1. A group never changes while it is held. */
    ovstage_ordinal_range_t latest = {.end_ordinal = 1};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_enqueue_result_t reading =
        ovstage_read_attributes(stage, both, &position, 1, latest, &read);
    if (reading.status != OVSTAGE_OK ||
        ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) != OVSTAGE_OK)
        return fail("read");
    const float *values = group.data.tensors[0].data;
    for (uint32_t i = 0; i < group.data.count; i++)
        printf("%s %g %g %g\n", paths[i].ptr, (double)values[3 * i], (double)values[3 * i + 1],
               (double)values[3 * i + 2]);

    /* Give back what was handed out, then the stage. Releases are ops, too: a loop would release
     * their ids. */
    ovstage_release_op(stage, write.op_index);
    ovstage_release_op(stage, seal.op_index);
    ovstage_release_group(stage, &group);
    ovstage_release_read(stage, read);
    ovstage_release_query(stage, both);
    path_dictionary_release_path_list_reference(dictionary, list);
    return ovstage_destroy_instance(stage) == OVSTAGE_OK ? 0 : fail("destroy_instance");
}
