/* A producer that runs up to four frames ahead of its seals, and never waits for one of them: it
 * polls the oldest, and produces the next frame meanwhile. */
#include "examples/example.h"

enum { FRAMES = 10, AHEAD = 4, BALLS = 3 };

/* A frame's rows must stay as they are until its write is complete: each frame in flight has its
 * own. */
typedef struct frame {
    float heights[BALLS];
    ovstage_op_id_t write, seal;
} frame;

static bool is_done(ovstage_instance_t *stage, ovstage_op_id_t op)
{
    ovstage_op_wait_result_t waited;
    ovstage_api_status_t status = ovstage_wait_op(stage, op, 0, &waited);
    example_must(status == OVSTAGE_OK || status == OVSTAGE_ERROR_TIMEOUT, "wait_op");
    return status == OVSTAGE_OK;
}

static void print_newest(ovstage_instance_t *stage, ovstage_query_handle_t balls,
                         ovx_token_t height)
{
    ovstage_ordinal_range_t latest = {.end_ordinal = FRAMES};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_op_id_t op = example_accepted(
        ovstage_read_attributes(stage, balls, &height, 1, latest, &read), "read_attributes");
    example_must(ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) ==
                     OVSTAGE_OK,
                 "fetch_read_next");
    const float *values = group.data.tensors[0].data;
    printf("frame %llu:", (unsigned long long)group.ordinal);
    for (uint32_t i = 0; i < group.data.count; i++)
        printf(" %g", (double)values[i]);
    printf("\n");
    ovstage_release_group(stage, &group);
    example_forget(stage, ovstage_release_read(stage, read));
    ovstage_release_op(stage, op);
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t paths[BALLS] = {literal_to_ovx_string("/World/A"),
                                       literal_to_ovx_string("/World/B"),
                                       literal_to_ovx_string("/World/C")};
    ovstage_query_handle_t balls = example_query(stage, paths, BALLS);
    ovx_token_t height = example_token(stage, literal_to_ovx_string("height"));

    frame frames[AHEAD];
    uint64_t produced = 0, sealed = 0;
    while (sealed < FRAMES) {
        if (produced < FRAMES && produced - sealed < AHEAD) {
            uint64_t ordinal = produced + 1; /* 0 is sealed from the beginning */
            frame *next = &frames[produced++ % AHEAD];
            for (int b = 0; b < BALLS; b++)
                next->heights[b] = 100.0f - (float)(b + 1) * (float)ordinal;
            next->write = example_write(stage, balls, height, ordinal, next->heights, BALLS, 1);
            next->seal = example_seal(stage, ordinal);
        }
        frame *oldest = &frames[sealed % AHEAD];
        if (is_done(stage, oldest->seal)) { /* its write came before it */
            example_finish(stage, oldest->write);
            example_finish(stage, oldest->seal);
            sealed++;
        }
    }
    print_newest(stage, balls, height);

    example_forget(stage, ovstage_release_query(stage, balls));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
