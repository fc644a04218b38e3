/* The rows that all attributes have, their order, and the groups made of them. */
#include <string.h>

#include "runtime/align/align.h"
#include "runtime/api/error.h"
#include "scheduler/memory.h"

/* A prim of one attribute: where it stands in the list, and who has its row. */
typedef struct fr_align_entry {
    uint32_t position;
    uint32_t local; /* of the group */
    const ovstage_read_group_t *group;
} fr_align_entry;

/* rows: for each prim in common, attr_count entries. */
typedef struct fr_align_work {
    const ovalign_request_t *request;
    size_t attr_count, fewest_attr;
    size_t count; /* prims */
    fr_align_entry *rows, *found, *scratch;
    uint32_t *positions, *parts; /* of each prim: in the list, and the number of the group to be */
    void *block;
} fr_align_work;

static size_t fr_align_count(const ovalign_request_t *request, size_t a)
{
    size_t count = 0;
    for (size_t g = 0; g < request->group_count; g++)
        if (request->groups[g].attribute == request->attributes[a] && !request->groups[g].is_delete)
            count += request->groups[g].prims.count;
    return count;
}

static bool fr_align_work_make(const ovalign_request_t *request, fr_align_work *work)
{
    size_t most = 0, fewest = SIZE_MAX;
    *work = (fr_align_work){.request = request, .attr_count = request->attr_count};
    for (size_t a = 0; a < request->attr_count; a++) {
        size_t count = fr_align_count(request, a);
        most = count > most ? count : most;
        if (count < fewest) {
            fewest = count;
            work->fewest_attr = a;
        }
    }
    size_t entries = 0, size_bytes = 0;
    if (__builtin_mul_overflow(request->attr_count, fewest, &entries) ||
        __builtin_add_overflow(entries, 2 * most, &entries) ||
        __builtin_mul_overflow(entries, sizeof(fr_align_entry), &size_bytes) ||
        __builtin_add_overflow(size_bytes, 2 * fewest * sizeof(uint32_t), &size_bytes))
        return false;
    work->block = fr_align_block_make(size_bytes);
    if (!work->block)
        return false;
    work->rows = work->block;
    work->found = work->rows + request->attr_count * fewest;
    work->scratch = work->found + most;
    work->positions = (uint32_t *)(void *)(work->scratch + most);
    work->parts = work->positions + fewest;
    return true;
}

/* Stable, by position. Groups mostly come in order: then nothing is moved. */
static void fr_align_sort(fr_align_entry *entries, fr_align_entry *scratch, size_t count)
{
    bool sorted = true;
    for (size_t k = 1; k < count && sorted; k++)
        sorted = entries[k - 1].position <= entries[k].position;
    fr_align_entry *from = entries, *to = scratch;
    for (size_t width = 1; !sorted && width < count; width *= 2) {
        for (size_t first = 0; first < count; first += 2 * width) {
            size_t middle = first + width < count ? first + width : count;
            size_t end = first + 2 * width < count ? first + 2 * width : count;
            size_t left = first, right = middle;
            for (size_t k = first; k < end; k++) {
                bool take_left =
                    left < middle && (right == end || from[left].position <= from[right].position);
                to[k] = take_left ? from[left++] : from[right++];
            }
        }
        fr_align_entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries)
        memcpy(entries, from, count * sizeof(*entries));
}

/* The prims of one attribute, by position; work->found. */
static ovstage_api_status_t fr_align_collect(fr_align_work *work, size_t a, size_t *out_count)
{
    const ovalign_request_t *request = work->request;
    size_t count = 0;
    for (size_t g = 0; g < request->group_count; g++) {
        const ovstage_read_group_t *group = &request->groups[g];
        if (group->attribute != request->attributes[a] || group->is_delete)
            continue;
        for (uint32_t i = 0; i < group->prims.count; i++)
            work->found[count++] = (fr_align_entry){fr_align_position(group, i), i, group};
    }
    fr_align_sort(work->found, work->scratch, count);
    for (size_t k = 1; k < count; k++)
        if (work->found[k - 1].position == work->found[k].position)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "list position %u is in the groups of attributes[%zu] twice",
                                work->found[k].position, a);
    *out_count = count;
    return OVSTAGE_OK;
}

/* Keeps the prims that the attribute has too. The first one that is asked has the fewest: all of
 * its prims are kept. */
static ovstage_api_status_t fr_align_join(fr_align_work *work, size_t a, bool first)
{
    size_t attrs = work->attr_count, count = 0;
    ovstage_api_status_t status = fr_align_collect(work, a, &count);
    if (status != OVSTAGE_OK)
        return status;
    if (first) {
        for (size_t k = 0; k < count; k++) {
            work->rows[k * attrs + a] = work->found[k];
            work->positions[k] = work->found[k].position;
        }
        work->count = count;
        return OVSTAGE_OK;
    }
    size_t kept = 0, other = 0;
    for (size_t k = 0; k < work->count; k++) {
        uint32_t position = work->positions[k];
        while (other < count && work->found[other].position < position)
            other++;
        if (other == count || work->found[other].position != position)
            continue;
        memmove(&work->rows[kept * attrs], &work->rows[k * attrs], attrs * sizeof(*work->rows));
        work->positions[kept] = position;
        work->rows[kept++ * attrs + a] = work->found[other];
    }
    work->count = kept;
    return OVSTAGE_OK;
}

/* --- order ------------------------------------------------------------------------------------ */

static size_t fr_align_find(const fr_align_work *work, uint32_t position)
{
    size_t low = 0, high = work->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->positions[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < work->count && work->positions[low] == position ? low : SIZE_MAX;
}

/* order: of the prims in common, as they are wanted; room for work->count. */
static ovstage_api_status_t fr_align_order(const fr_align_work *work, size_t *order,
                                           size_t *out_count)
{
    const ovalign_request_t *request = work->request;
    size_t count = 0;
    for (size_t k = 0; !request->prim_order && k < work->count; k++)
        order[count++] = k;
    uint32_t *taken = work->parts; /* of no use yet, and zero */
    for (size_t k = 0; k < request->prim_order_count; k++) {
        size_t found = fr_align_find(work, request->prim_order[k]);
        if (found == SIZE_MAX)
            continue;
        if (taken[found]++)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "prim_order[%zu] = %u is there twice", k, request->prim_order[k]);
        order[count++] = found;
    }
    *out_count = count;
    return OVSTAGE_OK;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool fr_align_same_schema(const ovstage_read_group_t *a, const ovstage_read_group_t *b)
{
    if (a == b)
        return true;
    DLDataType left = a->data.tensors[0].dtype, right = b->data.tensors[0].dtype;
    return a->is_array == b->is_array && a->semantic == b->semantic && left.code == right.code &&
           left.bits == right.bits && left.lanes == right.lanes;
}

/* A group to be: prims whose rows have the same schemas, attribute by attribute. */
typedef struct fr_align_part {
    size_t like; /* its first prim */
    size_t count;
} fr_align_part;

static bool fr_align_fits(const fr_align_work *work, size_t a, size_t b)
{
    for (size_t attr = 0; attr < work->attr_count; attr++)
        if (!fr_align_same_schema(work->rows[a * work->attr_count + attr].group,
                                  work->rows[b * work->attr_count + attr].group))
            return false;
    return true;
}

/* Numbers the parts in the order of their first prims; parts has room for `count`. */
static size_t fr_align_partition(const fr_align_work *work, const size_t *order, size_t count,
                                 fr_align_part *parts)
{
    size_t part_count = 0;
    for (size_t k = 0; k < count; k++) {
        size_t part = 0;
        while (part < part_count && !fr_align_fits(work, parts[part].like, order[k]))
            part++;
        if (part == part_count)
            parts[part_count++] = (fr_align_part){order[k], 0};
        parts[part].count++;
        work->parts[order[k]] = (uint32_t)part;
    }
    return part_count;
}

/* --- the result ------------------------------------------------------------------------------- */

/* Hands out pieces of one block; with a NULL base it only counts. */
typedef struct fr_align_room {
    unsigned char *base;
    size_t used;
    bool overflow;
} fr_align_room;

static void *fr_align_take(fr_align_room *room, size_t count, size_t each)
{
    size_t bytes = 0, end = 0;
    if (__builtin_mul_overflow(count, each, &bytes) ||
        __builtin_add_overflow(room->used, bytes + 63, &end) || bytes > SIZE_MAX - 63) {
        room->overflow = true;
        return NULL;
    }
    void *piece = room->base ? room->base + room->used : NULL;
    room->used = end & ~(size_t)63;
    return piece;
}

typedef struct fr_align_result {
    const fr_align_work *work;
    const size_t *order;
    size_t count;
    const fr_align_part *parts;
    size_t part_count;
} fr_align_result;

static const unsigned char *fr_align_data(const DLTensor *tensor)
{
    return (const unsigned char *)tensor->data + tensor->byte_offset;
}

/* The rows of one attribute in one part. */
static void fr_align_fill_rows(const fr_align_result *result, size_t attr, uint32_t part,
                               DLTensor *tensors, unsigned char *data)
{
    const fr_align_work *work = result->work;
    size_t k = 0;
    for (size_t o = 0; o < result->count; o++) {
        size_t prim = result->order[o];
        if (work->parts[prim] != part)
            continue;
        const fr_align_entry *entry = &work->rows[prim * work->attr_count + attr];
        uint32_t row = fr_align_row(entry->group, entry->local);
        if (entry->group->is_array) {
            tensors[k++] = entry->group->data.tensors[row];
            continue;
        }
        const DLTensor *from = &entry->group->data.tensors[0];
        uint32_t row_bytes = fr_align_element_bytes(from->dtype);
        memcpy(data + k++ * row_bytes, fr_align_data(from) + (size_t)row * row_bytes, row_bytes);
    }
}

static void fr_align_fill_positions(const fr_align_result *result, uint32_t part,
                                    uint32_t *positions)
{
    size_t k = 0;
    for (size_t o = 0; o < result->count; o++)
        if (result->work->parts[result->order[o]] == part)
            positions[k++] = result->work->positions[result->order[o]];
}

/* A group that owns no read: its pointers live as long as the result. */
static void fr_align_describe(const fr_align_result *result, size_t attr, uint32_t part,
                              const uint32_t *positions, DLTensor *tensors,
                              ovstage_read_group_t *out)
{
    const fr_align_work *work = result->work;
    uint32_t count = (uint32_t)result->parts[part].count;
    *out = *work->rows[result->parts[part].like * work->attr_count + attr].group;
    out->read_group_id = OVSTAGE_INVALID_READ_GROUP_ID;
    out->prims.offset = 0;
    out->prims.count = count;
    out->prims.index_map = positions;
    out->data = (ovstage_data_t){
        .tensors = tensors, .tensor_count = out->is_array ? count : 1, .count = count};
    for (size_t o = 0; o < result->count; o++) {
        size_t prim = result->order[o];
        const ovstage_read_group_t *from = work->rows[prim * work->attr_count + attr].group;
        if (work->parts[prim] == part && from->ordinal > out->ordinal)
            out->ordinal = from->ordinal;
    }
}

/* Lays the result out in the room, and fills it if there is one. */
static ovalign_attr_result_t *fr_align_lay(const fr_align_result *result, fr_align_room *room)
{
    size_t attrs = result->work->attr_count, parts = result->part_count;
    ovalign_attr_result_t *list = fr_align_take(room, attrs, sizeof(*list));
    ovstage_read_group_t *groups = fr_align_take(room, attrs * parts, sizeof(*groups));
    for (uint32_t part = 0; part < parts; part++) {
        size_t count = result->parts[part].count;
        uint32_t *positions = fr_align_take(room, count, sizeof(*positions));
        if (room->base)
            fr_align_fill_positions(result, part, positions);
        for (size_t attr = 0; attr < attrs; attr++) {
            const ovstage_read_group_t *like =
                result->work->rows[result->parts[part].like * attrs + attr].group;
            DLDataType type = like->data.tensors[0].dtype;
            DLTensor *tensors = fr_align_take(room, like->is_array ? count : 1, sizeof(*tensors));
            int64_t *shape = fr_align_take(room, 1, sizeof(*shape));
            unsigned char *data =
                fr_align_take(room, like->is_array ? 0 : count, fr_align_element_bytes(type));
            if (!room->base)
                continue;
            *shape = (int64_t)count;
            if (!like->is_array)
                *tensors = (DLTensor){
                    .data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = type, .shape = shape};
            fr_align_fill_rows(result, attr, part, tensors, data);
            fr_align_describe(result, attr, part, positions, tensors, &groups[attr * parts + part]);
        }
    }
    for (size_t attr = 0; room->base && attr < attrs; attr++)
        list[attr] = (ovalign_attr_result_t){parts ? &groups[attr * parts] : NULL, parts};
    return list;
}

static ovstage_api_status_t fr_align_no_memory(const fr_align_work *work)
{
    return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                        "no memory to align %zu attributes of %zu prims", work->attr_count,
                        work->count);
}

static ovstage_api_status_t fr_align_build(fr_align_work *work, ovalign_result_t *out)
{
    size_t *order = fr_align_block_make(work->count * (sizeof(size_t) + sizeof(fr_align_part)));
    if (!order)
        return fr_align_no_memory(work);
    fr_align_part *parts = (fr_align_part *)(void *)(order + work->count);
    fr_align_result result = {.work = work, .order = order, .parts = parts};
    ovstage_api_status_t status = fr_align_order(work, order, &result.count);
    if (status == OVSTAGE_OK) {
        result.part_count = fr_align_partition(work, order, result.count, parts);
        fr_align_room room = {NULL, 0, false};
        (void)fr_align_lay(&result, &room);
        room.base = room.overflow ? NULL : fr_align_block_make(room.used);
        room.used = 0;
        if (room.base)
            *out = (ovalign_result_t){fr_align_lay(&result, &room), work->attr_count,
                                      result.part_count, false};
        else
            status = fr_align_no_memory(work);
    }
    fr_align_block_free(order);
    return status;
}

ovstage_api_status_t fr_align_gather(const ovalign_request_t *request, ovalign_result_t *out)
{
    fr_align_work work;
    if (!fr_align_work_make(request, &work))
        return fr_align_no_memory(&work);
    ovstage_api_status_t status = fr_align_join(&work, work.fewest_attr, true);
    for (size_t a = 0; a < request->attr_count && status == OVSTAGE_OK; a++)
        if (a != work.fewest_attr)
            status = fr_align_join(&work, a, false);
    if (status == OVSTAGE_OK)
        status = fr_align_build(&work, out);
    fr_align_block_free(work.block);
    return status;
}
