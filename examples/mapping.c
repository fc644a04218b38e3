/* Rows are computed right where the stage keeps them: map, fill, unmap. What was filled becomes the
 * column's payload without a copy. */
#include "examples/example.h"

enum { POINTS = 4 };

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t paths[POINTS] = {
        literal_to_ovx_string("/Path/P0"), literal_to_ovx_string("/Path/P1"),
        literal_to_ovx_string("/Path/P2"), literal_to_ovx_string("/Path/P3")};
    ovstage_query_handle_t points = example_query(stage, paths, POINTS);
    ovx_token_t position = example_token(stage, literal_to_ovx_string("position"));

    /* A session at ordinal 1. Others may write, read and map the same meanwhile. */
    ovstage_map_desc_t desc = {.attribute = {.token = position},
                               .dtype = {kDLFloat, 32, 3},
                               .semantic = OVSTAGE_SEMANTIC_POINT,
                               .prim_mode = OVSTAGE_PRIM_MODE_UPSERT};
    ovstage_map_handle_t map;
    ovstage_map_group_t mapped;
    ovstage_op_id_t opened = example_accepted(
        ovstage_map_attribute(stage, points, &desc, 1, NULL, 0, &map), "map_attribute");
    while (ovstage_fetch_map_next(stage, map, OVSTAGE_TIMEOUT_INFINITE, &mapped) == OVSTAGE_OK) {
        float *rows = mapped.data.tensors[0].data;
        char path[64];
        for (uint32_t i = 0; i < mapped.prims.count; i++) {
            float *row = rows + 3 * (mapped.data.index_map ? mapped.data.index_map[i] : i);
            row[0] = (float)i;
            row[1] = (float)(i * i);
            row[2] = 0;
            printf("%s %g %g %g\n", example_path(stage, &mapped.prims, i, path, sizeof(path)),
                   (double)row[0], (double)row[1], (double)row[2]);
        }
    }
    ovstage_cuda_sync_t no_stream = {0};
    ovstage_op_id_t commit =
        example_accepted(ovstage_unmap_attribute(stage, map, no_stream), "unmap_attribute");
    example_finish(stage, opened);
    example_finish(stage, commit);
    example_finish(stage, example_seal(stage, 1));

    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_ordinal_range_t latest = {.end_ordinal = 1};
    example_finish(
        stage, example_accepted(ovstage_read_attributes(stage, points, &position, 1, latest, &read),
                                "read_attributes"));
    example_must(ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) ==
                     OVSTAGE_OK,
                 "fetch_read_next");
    const float *last = (const float *)group.data.tensors[0].data + 3 * (POINTS - 1);
    printf("sealed at %llu: the last is at %g %g %g\n", (unsigned long long)group.ordinal,
           (double)last[0], (double)last[1], (double)last[2]);

    ovstage_release_group(stage, &group);
    example_forget(stage, ovstage_release_read(stage, read));
    example_forget(stage, ovstage_release_query(stage, points));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
