#include "runtime/store/mark_record.h"

#include <string.h>

size_t fr_mark_record_bytes(const fr_mark_record *record)
{
    return sizeof(*record) + record->event_capacity * sizeof(fr_mark_event) +
           record->slot_capacity * sizeof(fr_mark_slot) +
           record->named_capacity * sizeof(fr_mark_named);
}

void fr_mark_record_free(const fr_allocator *allocator, fr_mark_record *record)
{
    fr_memory_release(allocator, record->events, record->event_capacity * sizeof(fr_mark_event));
    fr_memory_release(allocator, record->slots, record->slot_capacity * sizeof(fr_mark_slot));
    fr_memory_release(allocator, record->named, record->named_capacity * sizeof(fr_mark_named));
    fr_memory_release(allocator, record, sizeof(*record));
}

/* --- events ----------------------------------------------------------------------------------- */

static uint32_t fr_mark_hash(uint32_t whom, uint32_t prim)
{
    uint64_t key = ((uint64_t)whom << 32 | prim) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(key >> 32);
}

/* The key's slot, or the free one where it would be. There is a free one. */
static fr_mark_slot *fr_mark_find(fr_mark_slot *slots, uint32_t capacity, uint32_t whom,
                                  uint32_t prim)
{
    uint32_t at = fr_mark_hash(whom, prim) & (capacity - 1);
    for (;;) {
        fr_mark_slot *slot = &slots[at];
        if (slot->last == 0 || (slot->whom == whom && slot->prim == prim))
            return slot;
        at = (at + 1) & (capacity - 1);
    }
}

/* The key's last event below op_id, or NULL. */
static const fr_mark_event *fr_mark_last(const fr_mark_record *record, uint32_t whom, uint32_t prim,
                                         uint64_t op_id)
{
    if (record->slot_capacity == 0)
        return NULL;
    uint32_t last = fr_mark_find(record->slots, record->slot_capacity, whom, prim)->last;
    while (last != 0 && record->events[last - 1].op_id >= op_id)
        last = record->events[last - 1].previous;
    return last != 0 ? &record->events[last - 1] : NULL;
}

static const fr_mark_event *fr_mark_later(const fr_mark_event *a, const fr_mark_event *b)
{
    if (!a || !b)
        return a ? a : b;
    return a->op_id > b->op_id ? a : b;
}

const fr_mark_event *fr_mark_deciding(const fr_mark_record *record, fr_mark_owner owner,
                                      uint32_t prim, uint64_t op_id)
{
    const fr_mark_event *event = fr_mark_last(record, owner.attribute, prim, op_id);
    if (record->has_all)
        event = fr_mark_later(event, fr_mark_last(record, FR_MARK_ALL, prim, op_id));
    if (record->has_kept)
        event =
            fr_mark_later(event, fr_mark_last(record, FR_MARK_LIMIT + owner.column, prim, op_id));
    return event;
}

fr_mark_named *fr_mark_named_find(const fr_mark_record *record, uint32_t attribute)
{
    for (uint32_t k = 0; k < record->named_count; k++)
        if (record->named[k].attribute == attribute)
            return &record->named[k];
    return NULL;
}

void fr_mark_enter(fr_mark_record *record, uint32_t whom, uint32_t prim, uint64_t op_id,
                   fr_mark_kind kind)
{
    fr_mark_slot *slot = fr_mark_find(record->slots, record->slot_capacity, whom, prim);
    uint32_t previous = slot->last;
    if (previous == 0) {
        record->slot_count++;
        slot->whom = whom;
        slot->prim = prim;
    }
    record->events[record->event_count++] = (fr_mark_event){op_id, whom, prim, previous, kind};
    slot->last = record->event_count;
    record->is_sealed = false; /* what was is another attribute's */
    if (whom == FR_MARK_ALL)
        record->has_all = true;
    else if (whom >= FR_MARK_LIMIT)
        record->has_kept = true;
    else if (!fr_mark_named_find(record, whom))
        record->named[record->named_count++] = (fr_mark_named){whom, false};
}

bool fr_mark_is_settled(const fr_mark_record *record)
{
    bool settled = !record->has_all;
    for (uint32_t k = 0; k < record->named_count; k++)
        settled = settled && record->named[k].settled;
    return settled;
}

void fr_mark_collect(const fr_mark_record *record, fr_mark_owner owner, uint32_t first,
                     uint32_t end, fr_marked *out, uint32_t *count)
{
    for (uint32_t k = first; k < end; k++) {
        const fr_mark_event *event = &record->events[k];
        if (event->kind != FR_MARK_DELETED ||
            (event->whom != owner.attribute && event->whom != FR_MARK_ALL) ||
            fr_mark_deciding(record, owner, event->prim, UINT64_MAX) != event)
            continue;
        out[(*count)++] = (fr_marked){event->prim, event->op_id};
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

void fr_mark_room_release(const fr_allocator *allocator, fr_mark_room *room)
{
    fr_memory_release(allocator, room->events, room->event_capacity * sizeof(fr_mark_event));
    fr_memory_release(allocator, room->slots, room->slot_capacity * sizeof(fr_mark_slot));
    fr_memory_release(allocator, room->named, room->named_capacity * sizeof(fr_mark_named));
}

static uint32_t fr_mark_grown(uint32_t capacity, uint32_t first, uint64_t needed)
{
    uint64_t grown = capacity ? capacity : first;
    while (grown < needed)
        grown *= 2;
    return grown <= UINT32_C(1) << 31 ? (uint32_t)grown : 0;
}

bool fr_mark_room_take(const fr_allocator *allocator, const fr_mark_record *record, uint64_t events,
                       uint32_t names, fr_mark_room *room)
{
    bool enough = true;
    events += record->promised;
    uint64_t needed = (uint64_t)record->event_count + events;
    if (needed > record->event_capacity) {
        room->event_capacity = fr_mark_grown(record->event_capacity, 8, needed);
        room->events =
            fr_memory_allocate(allocator, room->event_capacity * sizeof(fr_mark_event), 16);
        enough = room->events != NULL;
    }
    if (room->events && record->event_count > 0)
        memcpy(room->events, record->events, record->event_count * sizeof(fr_mark_event));
    needed = ((uint64_t)record->slot_count + events) * 3 / 2 + 1;
    if (enough && needed > record->slot_capacity) {
        room->slot_capacity = fr_mark_grown(record->slot_capacity, 16, needed);
        room->slots =
            fr_memory_allocate_zero(allocator, room->slot_capacity * sizeof(fr_mark_slot), 16);
        enough = room->slots != NULL;
    }
    for (uint32_t k = 0; room->slots && k < record->slot_capacity; k++) {
        const fr_mark_slot *slot = &record->slots[k];
        if (slot->last != 0)
            *fr_mark_find(room->slots, room->slot_capacity, slot->whom, slot->prim) = *slot;
    }
    needed = (uint64_t)record->named_count + names;
    if (enough && needed > record->named_capacity) {
        room->named_capacity = fr_mark_grown(record->named_capacity, 4, needed);
        room->named =
            fr_memory_allocate(allocator, room->named_capacity * sizeof(fr_mark_named), 16);
        enough = room->named != NULL;
    }
    return enough;
}

void fr_mark_room_use(fr_mark_record *record, fr_mark_room *room)
{
    fr_mark_room old = *room;
    if (room->events) {
        old.events = record->events;
        old.event_capacity = record->event_capacity;
        record->events = room->events;
        record->event_capacity = room->event_capacity;
    }
    if (room->slots) {
        old.slots = record->slots;
        old.slot_capacity = record->slot_capacity;
        record->slots = room->slots;
        record->slot_capacity = room->slot_capacity;
    }
    if (room->named) {
        if (record->named_count > 0) /* which seals settle: not sooner */
            memcpy(room->named, record->named, record->named_count * sizeof(fr_mark_named));
        old.named = record->named;
        old.named_capacity = record->named_capacity;
        record->named = room->named;
        record->named_capacity = room->named_capacity;
    }
    *room = old;
}
