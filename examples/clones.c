/* Environments for learning: one is authored, the others are clones of it, and each is reset by
 * itself afterwards. */
#include "examples/example.h"

enum { CLONES = 3, JOINTS = 3 };

/* The newest sealed angles of an environment's joints. */
static void print_angles(ovstage_instance_t *stage, const char *environment, ovx_token_t angle)
{
    char names[JOINTS][64];
    ovx_string_t paths[JOINTS];
    static const char *const joints[JOINTS] = {"/Arm", "/Arm/Shoulder", "/Arm/Elbow"};
    for (int j = 0; j < JOINTS; j++) {
        int length = snprintf(names[j], sizeof(names[j]), "%s%s", environment, joints[j]);
        paths[j] = (ovx_string_t){names[j], (size_t)length};
    }
    ovstage_query_handle_t query = example_query(stage, paths, JOINTS);
    ovstage_ordinal_range_t latest = {.end_ordinal = 3};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    example_finish(stage,
                   example_accepted(ovstage_read_attributes(stage, query, &angle, 1, latest, &read),
                                    "read_attributes"));
    example_must(ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) ==
                     OVSTAGE_OK,
                 "fetch_read_next");
    const float *angles = group.data.tensors[0].data;
    printf("%s: %g %g %g\n", environment, (double)angles[0], (double)angles[1], (double)angles[2]);
    ovstage_release_group(stage, &group);
    example_forget(stage, ovstage_release_read(stage, read));
    example_forget(stage, ovstage_release_query(stage, query));
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t first[JOINTS] = {literal_to_ovx_string("/Env0/Arm"),
                                        literal_to_ovx_string("/Env0/Arm/Shoulder"),
                                        literal_to_ovx_string("/Env0/Arm/Elbow")};
    ovstage_query_handle_t joints = example_query(stage, first, JOINTS);
    ovx_token_t angle = example_token(stage, literal_to_ovx_string("angle"));

    /* The source must be a prim, that is have a column: a path alone is none. It need not be sealed
     * to be cloned. */
    float angles[JOINTS] = {0, 10, 20};
    ovstage_op_id_t write = example_write(stage, joints, angle, 1, angles, JOINTS, 1);
    const ovx_string_t source = literal_to_ovx_string("/Env0/Arm");
    const ovx_string_t targets[CLONES] = {literal_to_ovx_string("/Env1/Arm"),
                                          literal_to_ovx_string("/Env2/Arm"),
                                          literal_to_ovx_string("/Env3/Arm")};
    ovstage_op_id_t clone =
        example_accepted(ovstage_clone(stage, source, targets, CLONES, 2), "clone");

    /* One of them goes on from another pose, at a later ordinal. */
    const ovx_string_t second[1] = {literal_to_ovx_string("/Env2/Arm/Elbow")};
    ovstage_query_handle_t elbow = example_query(stage, second, 1);
    float bent = 90;
    ovstage_op_id_t reset = example_write(stage, elbow, angle, 3, &bent, 1, 1);
    example_finish(stage, example_seal(stage, 3));
    example_finish(stage, write);
    example_finish(stage, clone);
    example_finish(stage, reset);

    print_angles(stage, "/Env0", angle);
    print_angles(stage, "/Env1", angle);
    print_angles(stage, "/Env2", angle);
    print_angles(stage, "/Env3", angle);

    /* Targets must not be there: all of them are made, or none. A wait tells of such a failure. */
    ovstage_op_wait_result_t waited;
    ovstage_op_id_t again = example_accepted(ovstage_clone(stage, source, targets, 1, 4), "clone");
    ovstage_api_status_t status = ovstage_wait_op(stage, again, OVSTAGE_TIMEOUT_INFINITE, &waited);
    example_must(status == OVSTAGE_OK && waited.error_op_id_count == 1, "wait_op");
    printf("%s\n", ovstage_get_last_op_error(stage, again).ptr);

    ovstage_release_op(stage, again);
    example_forget(stage, ovstage_release_query(stage, joints));
    example_forget(stage, ovstage_release_query(stage, elbow));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
