#include "examples/frame_reader.h"

#include <stdio.h>

/* A release is an op like any other: with an id to be let go of. */
static void forget_op(ovstage_instance_t *instance, ovstage_enqueue_result_t result)
{
    if (result.status == OVSTAGE_OK)
        ovstage_release_op(instance, result.op_index);
}

bool newest_sealed(ovstage_instance_t *instance, ovstage_ordinal_t *out)
{
    const ovx_string_or_token_t all = {0};
    ovstage_ordinal_query_handle_t query = OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE;
    ovstage_enqueue_result_t asked = ovstage_get_attribute_write_floor(instance, all, &query);
    if (asked.status != OVSTAGE_OK)
        return false;
    forget_op(instance, asked);
    bool fine = ovstage_fetch_ordinal(instance, query, OVSTAGE_TIMEOUT_INFINITE, out) == OVSTAGE_OK;
    forget_op(instance, ovstage_release_ordinal_query(instance, query));
    return fine;
}

/* Puts a group where its column belongs. Each column of this pipeline is written whole, so it comes
 * back as one group, in query order. */
static bool take_group(const pipeline *line, const ovstage_read_group_t *group, held_frame *held)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (group->attribute != line->attributes[column])
            continue;
        if (held->groups[column].read_group_id != OVSTAGE_INVALID_READ_GROUP_ID ||
            group->data.count != line->body_count || group->data.index_map ||
            group->data.tensors[0].strides)
            return false;
        held->groups[column] = *group;
        return true;
    }
    return false;
}

static bool fetch_groups(const pipeline *line, ovstage_read_handle_t read, held_frame *held)
{
    int found = 0;
    for (;;) {
        ovstage_read_group_t group;
        ovstage_api_status_t status =
            ovstage_fetch_read_next(line->instance, read, OVSTAGE_TIMEOUT_INFINITE, &group);
        if (status == OVSTAGE_ERROR_END_OF_ITERATION)
            return found == COLUMN_COUNT;
        if (status != OVSTAGE_OK)
            return false;
        if (!take_group(line, &group, held)) {
            ovstage_release_group(line->instance, &group);
            return false;
        }
        found++;
    }
}

frame_read_result frame_hold(const pipeline *line, uint32_t frame, held_frame *out)
{
    *out = (held_frame){.frame = frame};
    const ovstage_ordinal_range_t latest = {.end_ordinal = frame_ordinal(frame)};
    ovstage_read_handle_t read = OVSTAGE_INVALID_READ_HANDLE;
    ovstage_enqueue_result_t result = ovstage_read_attributes(
        line->instance, line->bodies, line->attributes, COLUMN_COUNT, latest, &read);
    if (result.status == OVSTAGE_ERROR_OUT_OF_RANGE)
        return FRAME_GONE;
    bool fine = result.status == OVSTAGE_OK;
    if (fine) {
        forget_op(line->instance, result);
        fine = fetch_groups(line, read, out);
        forget_op(line->instance, ovstage_release_read(line->instance, read)); /* its groups stay */
    }
    if (fine)
        return FRAME_HELD;
    ovx_string_t text = ovstage_get_last_error();
    fprintf(stderr, "frame %u could not be read: %.*s\n", frame, (int)text.length,
            text.ptr ? text.ptr : "");
    frame_let_go(line, out);
    return FRAME_FAILED;
}

void frame_let_go(const pipeline *line, held_frame *held)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (held->groups[column].read_group_id != OVSTAGE_INVALID_READ_GROUP_ID)
            ovstage_release_group(line->instance, &held->groups[column]);
    *held = (held_frame){0};
}

const void *frame_column(const held_frame *held, int column)
{
    const DLTensor *tensor = &held->groups[column].data.tensors[0];
    return (const char *)tensor->data + tensor->byte_offset;
}

bool frame_is_whole(const pipeline *line, const held_frame *held)
{
    const step_record *records = &line->steps[(size_t)held->frame * line->options.world_count];
    for (int column = 0; column < COLUMN_COUNT; column++) {
        size_t row_size = column_row_sizes[column];
        for (uint32_t world = 0; world < line->options.world_count; world++) {
            const void *rows = world_rows(line, frame_column(held, column), world, row_size);
            if (rows_checksum(rows, line->options.bodies_per_world * row_size) !=
                records[world].checksums[column])
                return false;
        }
    }
    return true;
}

uint64_t frame_checksum(const pipeline *line, const held_frame *held)
{
    uint64_t sum = 0;
    for (int column = 0; column < COLUMN_COUNT; column++)
        sum = sum * 31 + rows_checksum(frame_column(held, column),
                                       line->body_count * column_row_sizes[column]);
    return sum;
}
