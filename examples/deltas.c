/* A producer seals a frame after the other; a consumer that is slower looks now and then, and
 * reads only what changed since it last looked: new values, and what was deleted. They may be two
 * threads: a producer that goes on meanwhile cannot make the consumer miss anything. */
#include "examples/example.h"

#include <flyrail/flyrail.h>

enum { PRIMS = 4 };

static ovstage_query_handle_t one(ovstage_instance_t *stage, const ovx_string_t *path)
{
    return example_query(stage, path, 1);
}

static uint64_t oldest_preserved(ovstage_instance_t *stage)
{
    ovstage_ordinal_query_handle_t frontier;
    uint64_t preserved = 0;
    example_forget(stage, ovstage_get_oldest_preserved_ordinal(stage, &frontier));
    example_must(ovstage_fetch_ordinal(stage, frontier, OVSTAGE_TIMEOUT_INFINITE, &preserved) ==
                     OVSTAGE_OK,
                 "fetch_ordinal");
    example_forget(stage, ovstage_release_ordinal_query(stage, frontier));
    return preserved;
}

static void print_groups(ovstage_instance_t *stage, ovstage_read_handle_t read)
{
    ovstage_read_group_t group;
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
}

/* What changed after `seen`. Returns the moment up to which that was told. */
static uint64_t consume(ovstage_instance_t *stage, ovstage_query_handle_t all, ovx_token_t heat,
                        uint64_t seen)
{
    /* The newest sealed moment; its values are kept while the snapshot is open, however many frames
     * the producer seals meanwhile. */
    flyrail_snapshot_desc_t newest = {
        .struct_size = sizeof(newest), .newest = true, .attributes = &heat, .attribute_count = 1};
    flyrail_snapshot_t snapshot;
    uint64_t now = 0;
    example_must(flyrail_snapshot_open(stage, &newest, &snapshot, &now) == OVSTAGE_OK,
                 "snapshot_open");
    if (now > seen) {
        ovstage_ordinal_range_t since = {
            .start_ordinal = seen + 1, .end_ordinal = now, .has_start_ordinal = true};
        ovstage_read_handle_t read;
        example_forget(stage, ovstage_read_attributes(stage, all, &heat, 1, since, &read));
        /* Asked when the read was accepted, not before: what is exact now was exact then. A
         * consumer that has slept for longer drops what it knows and takes everything. */
        bool exact = oldest_preserved(stage) <= seen + 1;
        if (!exact) {
            example_forget(stage, ovstage_release_read(stage, read));
            example_forget(stage, flyrail_snapshot_read(stage, snapshot, all, &heat, 1, &read));
        }
        printf("(%llu, %llu]%s\n", (unsigned long long)seen, (unsigned long long)now,
               exact ? "" : " too long ago: everything");
        print_groups(stage, read);
        example_forget(stage, ovstage_release_read(stage, read));
    }
    example_must(flyrail_snapshot_close(stage, snapshot) == OVSTAGE_OK, "snapshot_close");
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
    seen = consume(stage, all, heat, seen);

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
    seen = consume(stage, all, heat, seen);

    /* 7: nothing happens. */
    example_finish(stage, example_seal(stage, 7));
    seen = consume(stage, all, heat, seen);

    /* 8 to 80: what changed is known one by one for the last 64 seals. */
    for (uint64_t ordinal = 8; ordinal <= 80; ordinal++) {
        float cooler = 93 - (float)(ordinal - 8);
        example_finish(stage, example_write(stage, single[1], heat, ordinal, &cooler, 1, 1));
        example_finish(stage, example_seal(stage, ordinal));
    }
    (void)consume(stage, all, heat, seen);

    example_forget(stage, ovstage_release_query(stage, all));
    for (int i = 0; i < PRIMS; i++)
        example_forget(stage, ovstage_release_query(stage, single[i]));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
