#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4096, MOST_REPORTS = 4, MEMO = 64 };

/* --- Clocks. --- */

static void clock_grow(fr_sim_clock *clock, uint32_t count)
{
    if (count <= clock->count)
        return;
    clock->times = realloc(clock->times, count * sizeof *clock->times);
    if (!clock->times)
        abort();
    memset(clock->times + clock->count, 0, (count - clock->count) * sizeof *clock->times);
    clock->count = count;
}

void fr_sim_clock_join(fr_sim_clock *clock, const fr_sim_clock *other)
{
    clock_grow(clock, other->count);
    for (uint32_t i = 0; i < other->count; i++)
        if (other->times[i] > clock->times[i])
            clock->times[i] = other->times[i];
}

void fr_sim_clock_copy(fr_sim_clock *clock, const fr_sim_clock *other)
{
    if (clock->count > other->count)
        memset(clock->times + other->count, 0,
               (clock->count - other->count) * sizeof *clock->times);
    clock_grow(clock, other->count);
    if (other->count)
        memcpy(clock->times, other->times, other->count * sizeof *clock->times);
}

void fr_sim_clock_set(fr_sim_clock *clock, uint32_t slot, uint32_t time)
{
    clock_grow(clock, slot + 1);
    clock->times[slot] = time;
}

uint32_t fr_sim_clock_at(const fr_sim_clock *clock, uint32_t slot)
{
    return slot < clock->count ? clock->times[slot] : 0;
}

void fr_sim_clock_free(fr_sim_clock *clock)
{
    free(clock->times);
    *clock = (fr_sim_clock){0};
}

/* --- Who did something, and the states of bytes. All by number, 0 is none. --- */

typedef struct trace {
    uint32_t slot, time;
    enum fr_sim_call call;
    const char *kernel;
    const fr_sim_stream *stream; /* NULL: the host */
} trace;

typedef struct reader {
    uint32_t trace, next;
} reader;

typedef enum state_kind {
    STATE_FREE, /* by `writer`; 0: never made */
    STATE_MADE,
    STATE_WRITTEN,
    STATE_HOST /* pinned: the host writes it unseen */
} state_kind;

typedef struct state {
    state_kind kind;
    uint32_t writer, readers;
} state;

typedef struct fr_sim_list {
    void *items;
    uint32_t count, capacity;
} fr_sim_list;

static fr_sim_list traces, readers, states;

static uint32_t list_add(fr_sim_list *list, size_t size)
{
    if (list->count == 0)
        list->count = 1;
    if (list->count >= list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 256;
        list->items = realloc(list->items, list->capacity * size);
        if (!list->items)
            abort();
        if (list->count == 1)
            memset(list->items, 0, size);
    }
    return list->count++;
}

#define TRACE(number) (&((trace *)traces.items)[number])
#define READER(number) (&((reader *)readers.items)[number])
#define STATE(number) (&((state *)states.items)[number])

static uint32_t state_new(state_kind kind, uint32_t writer, uint32_t first_reader)
{
    uint32_t number = list_add(&states, sizeof(state));
    *STATE(number) = (state){kind, writer, first_reader};
    return number;
}

void fr_sim_check_reset(void)
{
    free(traces.items);
    free(readers.items);
    free(states.items);
    traces = readers = states = (fr_sim_list){0};
}

uint32_t fr_sim_trace(enum fr_sim_call call, const fr_sim_stream *stream, uint32_t slot,
                      uint32_t time)
{
    uint32_t number = list_add(&traces, sizeof(trace));
    *TRACE(number) = (trace){.slot = slot, .time = time, .call = call, .stream = stream};
    return number;
}

void fr_sim_trace_kernel(uint32_t number, const char *kernel)
{
    TRACE(number)->kernel = kernel;
}

static void describe(char *text, size_t size_bytes, uint32_t number)
{
    const trace *who = TRACE(number);
    char stream[64] = "";
    if (!who->stream) {
        snprintf(text, size_bytes, "%s by the host", fr_sim_call_names[who->call]);
        return;
    }
    fr_sim_describe_stream(stream, sizeof stream, who->stream);
    snprintf(text, size_bytes, "%s%s, operation %u of %s", who->kernel ? "kernel " : "",
             who->kernel ? who->kernel : fr_sim_call_names[who->call], who->time, stream);
}

/* --- The shadow of an allocation. A whole block that has one state is one number; a block that
 * was touched in part has one for each byte. --- */

void fr_sim_shadow_new(fr_sim_memory *memory)
{
    if (states.count == 0) {
        state_new(STATE_FREE, 0, 0);
        state_new(STATE_HOST, 0, 0);
    }
    memory->block_count = (uint32_t)((memory->capacity + BLOCK_BYTES - 1) / BLOCK_BYTES);
    memory->blocks = fr_sim_allocate(memory->block_count * sizeof *memory->blocks);
    memory->cells = fr_sim_allocate(memory->block_count * sizeof *memory->cells);
    for (uint32_t i = 0; i < memory->block_count; i++)
        memory->blocks[i] = memory->device < 0 ? 2 : 1;
}

void fr_sim_shadow_free(fr_sim_memory *memory)
{
    for (uint32_t i = 0; i < memory->block_count; i++)
        free(memory->cells[i]);
    free(memory->cells);
    free(memory->blocks);
    memory->cells = NULL;
    memory->blocks = NULL;
    memory->block_count = 0;
}

/* --- The check. --- */

typedef struct fr_sim_view {
    fr_sim_launch *launch;
    const fr_sim_clock *clock;
    uint32_t me; /* trace */
    const fr_sim_memory *memory;
    uint64_t offset; /* of the byte that is looked at */
    fr_sim_access access;
} fr_sim_view;

static const char *const access_names[] = {"reads", "writes", "makes", "frees"};

static bool is_before(const fr_sim_view *view, uint32_t other)
{
    return other == 0 || fr_sim_clock_at(view->clock, TRACE(other)->slot) >= TRACE(other)->time;
}

static void tell(const fr_sim_view *view, fr_sim_kind kind, const char *why, uint32_t other)
{
    char mine[160], theirs[160] = "", memory[160];
    if (view->launch->reported >= MOST_REPORTS)
        return;
    view->launch->reported++;
    describe(mine, sizeof mine, view->me);
    if (other)
        describe(theirs, sizeof theirs, other);
    fr_sim_describe_memory(memory, sizeof memory, view->memory);
    fr_sim_tell(kind, "%s %s byte %llu of %s%s%s", mine, access_names[view->access],
                (unsigned long long)view->offset, memory, why, theirs);
}

static uint32_t after_read(const fr_sim_view *view, const state *old)
{
    /* Readers that this one is ordered after are no longer needed: who is ordered after this one is
     * ordered after them. */
    state before = *old;
    uint32_t first = list_add(&readers, sizeof(reader));
    *READER(first) = (reader){view->me, 0};
    uint32_t last = first;
    for (uint32_t r = before.readers; r; r = READER(r)->next) {
        uint32_t who = READER(r)->trace;
#ifdef FR_MUTATE_SIM_ONE_READER_IS_KEPT
        continue;
#endif
        if (is_before(view, who))
            continue;
        uint32_t kept = list_add(&readers, sizeof(reader));
        *READER(kept) = (reader){who, 0};
        READER(last)->next = kept;
        last = kept;
    }
    return state_new(before.kind, before.writer, first);
}

static uint32_t write_state(const fr_sim_view *view)
{
    if (view->launch->write_state == 0) {
        state_kind kind = STATE_WRITTEN;
        if (view->access == FR_SIM_MAKE)
            kind = STATE_MADE;
        else if (view->access == FR_SIM_FREE)
            kind = STATE_FREE;
        view->launch->write_state = state_new(kind, view->me, 0);
    }
    return view->launch->write_state;
}

/* What becomes of a byte in that state. */
static uint32_t step(const fr_sim_view *view, uint32_t number)
{
    const state old = *STATE(number);
    bool dead = old.kind == STATE_FREE && view->access != FR_SIM_MAKE;
    if (dead && (old.writer == 0 || is_before(view, old.writer))) {
        tell(view, FR_SIM_USE_AFTER_FREE,
             old.writer ? " after " : ", which is not made yet, or never", old.writer);
        return number;
    }
    if (!is_before(view, old.writer)) {
        const char *why = ", and nothing orders it after the write: ";
        if (old.kind == STATE_FREE)
            why = ", and nothing orders it with the free: ";
        else if (old.kind == STATE_MADE)
            why = ", and nothing orders it after the making: ";
        tell(view, FR_SIM_RACE, why, old.writer);
    }
    if (dead)
        return number;
    if (view->access == FR_SIM_READ) {
        if (old.kind == STATE_MADE)
            tell(view, FR_SIM_UNINITIALIZED, ", which nothing wrote since ", old.writer);
        if (old.readers && READER(old.readers)->trace == view->me)
            return number;
        return after_read(view, &old);
    }
#ifdef FR_MUTATE_SIM_READERS_MAY_BE_OVERTAKEN
    return write_state(view);
#endif
    for (uint32_t r = old.readers; r; r = READER(r)->next)
        if (!is_before(view, READER(r)->trace))
            tell(view, FR_SIM_RACE, ", and nothing orders it after the read: ", READER(r)->trace);
    return write_state(view);
}

/* The same, remembered: an operation meets few states, many times. */
static uint32_t next_state(const fr_sim_view *view, uint32_t number)
{
    fr_sim_launch *launch = view->launch;
    uint32_t place = number % MEMO, kind = (uint32_t)view->access + 1;
    if (launch->memo_in[place] != number || launch->memo_kind[place] != kind) {
        launch->memo_out[place] = step(view, number);
        launch->memo_in[place] = number;
        launch->memo_kind[place] = kind;
    }
    return launch->memo_out[place];
}

static void check_cells(fr_sim_view *view, uint32_t *cells, uint64_t first, uint64_t count)
{
    uint32_t in = 0, out = 0;
    for (uint64_t i = first; i < first + count; i++) {
        if (cells[i] != in || in == 0) {
            in = cells[i];
            out = next_state(view, in);
        }
        cells[i] = out;
        view->offset++;
    }
}

void fr_sim_check(fr_sim_launch *launch, fr_sim_memory *memory, uint64_t offset, uint64_t size,
                  fr_sim_access access)
{
    const fr_sim_operation *operation = launch->operation;
    fr_sim_view view = {launch, &operation->clock, operation->trace, memory, offset, access};
    while (size > 0) {
        uint64_t block = offset / BLOCK_BYTES, first = offset % BLOCK_BYTES;
        uint64_t end = (block + 1) * BLOCK_BYTES < memory->capacity
                           ? BLOCK_BYTES
                           : memory->capacity - block * BLOCK_BYTES;
        uint64_t count = size < end - first ? size : end - first;
        uint32_t *cells = memory->cells[block];
        view.offset = offset;
        if (!cells && count < end) {
            uint32_t whole = memory->blocks[block];
            uint32_t next = next_state(&view, whole);
            if (next != whole) {
                cells = malloc(BLOCK_BYTES * sizeof *cells);
                if (!cells)
                    abort();
                for (uint64_t i = 0; i < end; i++)
#ifdef FR_MUTATE_SIM_BLOCKS_ARE_WHOLE
                    cells[i] = next;
#else
                    cells[i] = i >= first && i < first + count ? next : whole;
#endif
                memory->cells[block] = cells;
            }
        } else if (!cells) {
            memory->blocks[block] = next_state(&view, memory->blocks[block]);
        } else {
            check_cells(&view, cells, first, count);
            bool same = count == end;
            for (uint64_t i = 1; same && i < end; i++)
                same = cells[i] == cells[0];
            if (same) {
                memory->blocks[block] = cells[0];
                free(cells);
                memory->cells[block] = NULL;
            }
        }
        offset += count;
        size -= count;
    }
}

void fr_sim_check_host(fr_sim_memory *memory, fr_sim_access access)
{
    fr_sim *sim = &fr_sim_state;
    sim->host_time++;
    fr_sim_clock_set(&sim->host_clock, FR_SIM_HOST_SLOT, sim->host_time);
    fr_sim_operation operation = {.clock = sim->host_clock};
    operation.trace =
        fr_sim_trace(fr_sim_this_thread()->call, NULL, FR_SIM_HOST_SLOT, sim->host_time);
    fr_sim_launch launch = {.operation = &operation};
    /* Beyond what was asked of a pool its place is nobody's. */
    uint64_t size = memory->kind == FR_SIM_MEMORY_POOL ? memory->size : memory->capacity;
    fr_sim_check(&launch, memory, 0, size, access);
}
