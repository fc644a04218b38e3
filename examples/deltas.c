/* A producer seals a frame after the other; a consumer that is slower looks now and then, and
 * reads only what changed since it last looked: new values, and what was deleted. */
#include "examples/example.h"

enum { PRIMS = 4 };

static ovstage_query_handle_t one(ovstage_instance_t *stage, const ovx_string_t *path)
{
    return example_query(stage, path, 1);
}

/* Everything in (seen, now]. Returns now. */
static uint64_t consume(ovstage_instance_t *stage, ovstage_query_handle_t all, ovx_token_t heat,
                        uint64_t seen, uint64_t now)
{
    /* What is older than this is counted at its newest change only: a consumer that has slept that
     * long had better read everything. */
    ovstage_ordinal_query_handle_t frontier;
    uint64_t preserved = 0;
    example_finish(stage, example_accepted(ovstage_get_oldest_preserved_ordinal(stage, &frontier),
                                           "get_oldest_preserved_ordinal"));
    example_must(ovstage_fetch_ordinal(stage, frontier, OVSTAGE_TIMEOUT_INFINITE, &preserved) ==
                     OVSTAGE_OK,
                 "fetch_ordinal");
    example_finish(stage, example_accepted(ovstage_release_ordinal_query(stage, frontier),
                                           "release_ordinal_query"));
    printf("(%llu, %llu]%s\n", (unsigned long long)seen, (unsigned long long)now,
           seen + 1 < preserved ? " merged" : "");

    ovstage_ordinal_range_t since = {
        .start_ordinal = seen + 1, .end_ordinal = now, .has_start_ordinal = true};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_op_id_t op = example_accepted(
        ovstage_read_attributes(stage, all, &heat, 1, since, &read), "read_attributes");
    while (ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) == OVSTAGE_OK) {
        const float *values = group.is_delete ? NULL : group.data.tensors[0].data;
        char path[64];
        for (uint32_t i = 0; i < group.prims.count; i++) {
            printf("  %s", example_path(stage, &group.prims, i, path, sizeof(path)));
            if (group.is_delete)
                printf(" deleted\n");
            else
                printf(" %g\n", (double)values[group.data.index_map ? group.data.index_map[i] : i]);
        }
        ovstage_release_group(stage, &group);
    }
    ovstage_release_read(stage, read);
    example_finish(stage, op);
    return now;
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t paths[PRIMS] = {
        literal_to_ovx_string("/Oven/A"), literal_to_ovx_string("/Oven/B"),
        literal_to_ovx_string("/Oven/C"), literal_to_ovx_string("/Oven/D")};
    ovx_token_t heat = example_token(stage, literal_to_ovx_string("heat"));
    ovstage_query_handle_t all = example_query(stage, paths, PRIMS), single[PRIMS];
    for (int i = 0; i < PRIMS; i++)
        single[i] = one(stage, &paths[i]);
    uint64_t seen = 0;

    /* 1: all of them; 2: one. */
    float start[PRIMS] = {20, 21, 22, 23}, hotter = 90;
    example_finish(stage, example_write(stage, all, heat, 1, start, PRIMS, 1));
    example_finish(stage, example_seal(stage, 1));
    example_finish(stage, example_write(stage, single[1], heat, 2, &hotter, 1, 1));
    example_finish(stage, example_seal(stage, 2));
    seen = consume(stage, all, heat, seen, 2);

    /* 3 to 5: the same one again and again: the consumer sees it once. 6: another is taken out. */
    float steps[3] = {91, 92, 93};
    for (uint64_t ordinal = 3; ordinal <= 5; ordinal++) {
        example_finish(stage,
                       example_write(stage, single[1], heat, ordinal, &steps[ordinal - 3], 1, 1));
        example_finish(stage, example_seal(stage, ordinal));
    }
    ovx_string_or_token_t heat_only = {.token = heat};
    example_finish(stage,
                   example_accepted(ovstage_delete_attributes(stage, single[3], &heat_only, 1, 6),
                                    "delete_attributes"));
    example_finish(stage, example_seal(stage, 6));
    seen = consume(stage, all, heat, seen, 6);

    /* 7: nothing happens. */
    example_finish(stage, example_seal(stage, 7));
    (void)consume(stage, all, heat, seen, 7);

    ovstage_release_query(stage, all);
    for (int i = 0; i < PRIMS; i++)
        ovstage_release_query(stage, single[i]);
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
