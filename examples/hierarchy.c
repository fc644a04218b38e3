/* An arm of three links: its prims are named by their paths, so the tree is there with the first
 * write. Frame by frame one joint moves, and the library composes where everything is; the reader
 * asks only for what moved. */
#include <string.h>

#include "examples/example.h"

enum { LINKS = 3, ELEMENTS = 16 };

typedef struct matrix {
    double at[ELEMENTS]; /* row-major, row vectors: the translation is in elements 12 to 14 */
} matrix;

/* Turned about z, by quarters; then moved along x. */
static matrix joint(int quarters, double along_x)
{
    static const double cosine[4] = {1, 0, -1, 0};
    double c = cosine[quarters % 4], s = cosine[(quarters + 3) % 4];
    return (matrix){{c, s, 0, 0, -s, c, 0, 0, 0, 0, 1, 0, along_x, 0, 0, 1}};
}

static void write_matrices(ovstage_instance_t *stage, ovstage_query_handle_t prims,
                           const char *column, uint64_t ordinal, matrix *rows, int64_t count)
{
    DLTensor tensor = {rows, {kDLCPU, 0}, 1, {kDLFloat, 64, ELEMENTS}, &count, NULL, 0};
    ovstage_write_data_t data = {
        .tensors = &tensor, .tensor_count = 1, .semantic = OVSTAGE_SEMANTIC_MATRIX};
    ovx_string_or_token_t name = {.string = {column, strlen(column)}};
    example_finish(stage, example_accepted(ovstage_write_attribute(stage, prims, name, ordinal,
                                                                   data, OVSTAGE_PRIM_MODE_UPSERT),
                                           "write_attribute"));
}

/* Seals the frame and composes it: the result is part of the same frame. */
static void finish_frame(ovstage_instance_t *stage, uint64_t ordinal)
{
    example_finish(stage, example_seal(stage, ordinal));
    example_finish(
        stage, example_accepted(
                   ovstage_compute_hierarchy(stage, OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_CPU,
                                             ordinal, ordinal),
                   "compute_hierarchy"));
}

/* Where the prims are whose world transforms changed at this frame. */
static void show_moved(ovstage_instance_t *stage, ovstage_query_handle_t prims, uint64_t ordinal)
{
    ovx_token_t world = example_token(stage, literal_to_ovx_string("omni:fabric:worldMatrix"));
    ovstage_ordinal_range_t frame = {ordinal, ordinal, true};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_op_id_t op = example_accepted(
        ovstage_read_attributes(stage, prims, &world, 1, frame, &read), "read_attributes");
    printf("frame %llu\n", (unsigned long long)ordinal);
    while (ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) == OVSTAGE_OK) {
        const matrix *rows = group.data.tensors[0].data;
        char path[64];
        for (uint32_t i = 0; i < group.prims.count; i++) {
            const matrix *row = &rows[group.data.index_map ? group.data.index_map[i] : i];
            printf("  %s at %g %g\n", example_path(stage, &group.prims, i, path, sizeof(path)),
                   row->at[12], row->at[13]);
        }
        ovstage_release_group(stage, &group);
    }
    example_forget(stage, ovstage_release_read(stage, read));
    example_finish(stage, op);
}

static void show_children(ovstage_instance_t *stage, ovx_string_t path)
{
    path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary(stage);
    ovx_primpath_list_t list;
    ovstage_hierarchy_handle_t lookup;
    ovstage_hierarchy_result_t result;
    example_must(
        path_dictionary_create_path_list_from_strings(dictionary, &path, 1, &list).status ==
            OVX_API_SUCCESS,
        "create_path_list_from_strings");
    example_finish(stage, example_accepted(ovstage_get_hierarchy(
                                               stage, list, 1, OVSTAGE_HIERARCHY_CHILDREN, &lookup),
                                           "get_hierarchy"));
    (void)path_dictionary_release_path_list_reference(dictionary, list);
    example_must(ovstage_fetch_hierarchy_result(stage, lookup, &result) == OVSTAGE_OK,
                 "fetch_hierarchy_result");
    for (size_t i = 0; i < result.path_count; i++)
        printf("%.*s is below %.*s\n", (int)result.paths[i].string.length,
               result.paths[i].string.ptr, (int)path.length, path.ptr);
    ovstage_release_hierarchy_result(stage, &result);
    example_forget(stage, ovstage_release_hierarchy(stage, lookup));
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t paths[LINKS] = {literal_to_ovx_string("/Arm"),
                                       literal_to_ovx_string("/Arm/Elbow"),
                                       literal_to_ovx_string("/Arm/Elbow/Hand")};
    ovstage_query_handle_t arm = example_query(stage, paths, LINKS);
    ovstage_query_handle_t elbow = example_query(stage, &paths[1], 1);

    /* Frame 1: the arm lies along x. Rows of the world column are made once, with anything in them:
     * which prims have one is the client's to say. */
    matrix local[LINKS] = {joint(0, 1), joint(0, 2), joint(0, 3)}, world[LINKS] = {{{0}}};
    write_matrices(stage, arm, "omni:xform", 1, local, LINKS);
    write_matrices(stage, arm, "omni:fabric:worldMatrix", 1, world, LINKS);
    finish_frame(stage, 1);
    show_children(stage, paths[0]);
    show_moved(stage, arm, 1);

    /* Frame 2: the elbow turns by a quarter, which moves the hand; the arm stays. */
    local[1] = joint(1, 2);
    write_matrices(stage, elbow, "omni:xform", 2, &local[1], 1);
    finish_frame(stage, 2);
    show_moved(stage, arm, 2);

    example_forget(stage, ovstage_release_query(stage, elbow));
    example_forget(stage, ovstage_release_query(stage, arm));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
