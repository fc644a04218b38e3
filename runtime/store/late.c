#include "runtime/store/late.h"

#include "runtime/store/paged.h"
#include "scheduler/os.h"

/* Rows that are entered or taken out before the lock is given to somebody else. */
#ifdef FR_SHRINK
#define FR_LATE_ROWS_A_LOCK 3u
#else
#define FR_LATE_ROWS_A_LOCK 256u
#endif

typedef struct fr_late_batch fr_late_batch;

/* In the list of its prim, the last one entered first. */
typedef struct fr_late_row {
    struct fr_late_row *next;
    const fr_late_batch *batch;
    uint32_t prim;
} fr_late_row;

struct fr_late_batch {
    fr_late_batch *next;
    const struct fr_column *column;
    uint64_t ordinal, op_id;
    uint32_t count;
    fr_late_row rows[];
};

typedef struct fr_late_generation {
    uint64_t count, first_id;         /* of ops to be judged */
    uint64_t highest_ordinal, filter; /* of any of them */
    uint64_t lowest_late;             /* ordinal of a late op; UINT64_MAX: none */
    fr_late_batch *batches;
} fr_late_generation;

/* oldest, highest, lowest, last: what the generations come to, for who looks without the lock. An
 * op that is accepted later than one to be judged sees, as long as that is pending, an `oldest` at
 * or below its id, and a `highest` and a `last` at or above what it said: acceptance hands them on,
 * and they move away from it only when it has ended. */
struct fr_late {
    const fr_allocator *allocator;
    fr_mutex lock; /* of the generations; sections of a few steps, since begin is under admission */
    fr_late_generation older, newer;
    _Atomic uint64_t oldest;  /* id; UINT64_MAX: none is to be judged */
    _Atomic uint64_t highest; /* ordinal of those to be judged */
    _Atomic uint64_t last;    /* id: the last that was begun */
    _Atomic uint64_t lowest;  /* of lowest_late */
    _Atomic uint64_t lost;    /* id: up to there what is to be judged cannot be; set by seals */
    _Atomic uint64_t batch_bytes;
    fr_mutex rows_lock; /* of the lists: */
    fr_paged by_prim;   /* elements: fr_late_row * */
};

static const fr_late_generation fr_late_none = {.lowest_late = UINT64_MAX};

fr_late *fr_late_create(const fr_allocator *allocator)
{
    fr_late *late = fr_memory_allocate_zero(allocator, sizeof(*late), FR_CACHE_LINE_BYTES);
    if (!late)
        return NULL;
    late->allocator = allocator;
    late->older = late->newer = fr_late_none;
    fr_store_relaxed(&late->oldest, UINT64_MAX);
    fr_store_relaxed(&late->lowest, UINT64_MAX);
    fr_paged_init(&late->by_prim, allocator, sizeof(fr_late_row *));
    return late;
}

static size_t fr_late_batch_bytes(uint32_t count)
{
    return sizeof(fr_late_batch) + count * sizeof(fr_late_row);
}

static void fr_late_free(fr_late *late, fr_late_batch *batches)
{
    while (batches) {
        fr_late_batch *next = batches->next;
        fr_sub_relaxed(&late->batch_bytes, fr_late_batch_bytes(batches->count));
        fr_memory_release(late->allocator, batches, fr_late_batch_bytes(batches->count));
        batches = next;
    }
}

void fr_late_destroy(fr_late *late)
{
    if (!late)
        return;
    fr_late_free(late, late->older.batches);
    fr_late_free(late, late->newer.batches);
    fr_paged_destroy(&late->by_prim);
    fr_memory_release(late->allocator, late, sizeof(*late));
}

uint64_t fr_late_bytes(const fr_late *late)
{
    return sizeof(*late) + fr_paged_bytes(&late->by_prim) + fr_load_relaxed(&late->batch_bytes);
}

/* --- generations, with the lock held ---------------------------------------------------------- */

static uint64_t fr_late_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void fr_late_publish(fr_late *late)
{
    const fr_late_generation *older = &late->older, *newer = &late->newer;
    uint64_t lowest =
        older->lowest_late < newer->lowest_late ? older->lowest_late : newer->lowest_late;
    /* All relaxed: see the fields. */
    fr_store_relaxed(&late->oldest, older->count > 0 ? older->first_id : UINT64_MAX);
    fr_store_relaxed(&late->highest,
                     fr_late_larger(older->highest_ordinal, newer->highest_ordinal));
    fr_store_relaxed(&late->lowest, lowest);
}

void fr_late_begin(fr_late *late, uint64_t ordinal, uint64_t filter, uint64_t op_id)
{
    fr_mutex_lock(&late->lock);
    fr_late_generation *generation = late->older.count > 0 ? &late->newer : &late->older;
    if (generation->count++ == 0)
        generation->first_id = op_id;
    generation->highest_ordinal = fr_late_larger(generation->highest_ordinal, ordinal);
    generation->filter |= filter;
    fr_store_relaxed(&late->last, op_id);
    fr_late_publish(late);
    fr_mutex_unlock(&late->lock);
}

/* All of the older generation are judged; the newer one takes its place. What nobody needs any more
 * comes behind *batches. */
static void fr_late_step(fr_late *late, fr_late_batch **batches)
{
    *batches = late->older.batches;
    late->older = late->newer;
    late->newer = fr_late_none;
    if (late->older.count > 0)
        return;
    while (*batches)
        batches = &(*batches)->next;
    *batches = late->older.batches;
    late->older = fr_late_none;
}

static void fr_late_take_out(fr_late *late, const fr_late_row *row)
{
    fr_late_row **link = fr_paged_find(&late->by_prim, row->prim);
    while (*link != row)
        link = &(*link)->next;
    *link = row->next;
}

/* Without the lock. */
static void fr_late_let_go(fr_late *late, fr_late_batch *batches)
{
    for (const fr_late_batch *batch = batches; batch; batch = batch->next) {
        for (uint32_t first = 0; first < batch->count; first += FR_LATE_ROWS_A_LOCK) {
            fr_mutex_lock(&late->rows_lock);
            for (uint32_t k = first; k < batch->count && k - first < FR_LATE_ROWS_A_LOCK; k++)
                fr_late_take_out(late, &batch->rows[k]);
            fr_mutex_unlock(&late->rows_lock);
        }
    }
    fr_late_free(late, batches);
}

bool fr_late_end(fr_late *late, uint64_t op_id)
{
    fr_late_batch *batches = NULL;
    fr_mutex_lock(&late->lock);
    fr_late_generation *newer = &late->newer;
    bool is_newer = newer->count > 0 && op_id >= newer->first_id;
    bool ends = --(is_newer ? newer : &late->older)->count == 0 && !is_newer;
    if (ends)
        fr_late_step(late, &batches);
    fr_late_publish(late);
    fr_mutex_unlock(&late->lock);
    fr_late_let_go(late, batches);
    return ends;
}

/* --- ops that run ----------------------------------------------------------------------------- */

static bool fr_late_notes(fr_late_generation *generation, uint64_t ordinal, uint64_t filter,
                          uint64_t op_id)
{
    if (generation->count == 0 || generation->first_id >= op_id ||
        generation->highest_ordinal < ordinal ||
        (filter != FR_LATE_ALL && (generation->filter & filter) == 0))
        return false;
    if (ordinal < generation->lowest_late)
        generation->lowest_late = ordinal;
    return true;
}

bool fr_late_is(fr_late *late, uint64_t ordinal, uint64_t filter, uint64_t op_id)
{
    if (fr_load_relaxed(&late->oldest) >= op_id || fr_load_relaxed(&late->highest) < ordinal)
        return false;
    fr_mutex_lock(&late->lock);
    bool is = fr_late_notes(&late->older, ordinal, filter, op_id);
    is |= fr_late_notes(&late->newer, ordinal, filter, op_id);
    fr_late_publish(late);
    fr_mutex_unlock(&late->lock);
    return is;
}

/* With the lock held: whose ops may need what is entered for the longest time; NULL: all have been
 * judged. */
static fr_late_generation *fr_late_keeper(fr_late *late)
{
    if (late->newer.count > 0)
        return &late->newer;
    return late->older.count > 0 ? &late->older : NULL;
}

static fr_late_batch *fr_late_batch_make(fr_late *late, const uint32_t *prims, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!fr_paged_reserve(&late->by_prim, prims[k]))
            return NULL;
    fr_late_batch *batch = fr_memory_allocate(late->allocator, fr_late_batch_bytes(count), 16);
    if (batch)
        fr_add_relaxed(&late->batch_bytes, fr_late_batch_bytes(count));
    for (uint32_t k = 0; batch && k < count; k++)
        batch->rows[k] = (fr_late_row){NULL, batch, prims[k]};
    return batch;
}

bool fr_late_enter(fr_late *late, const struct fr_column *column, uint64_t ordinal, uint64_t op_id,
                   const uint32_t *prims, uint32_t count)
{
    if (count == 0)
        return true;
    fr_late_batch *batch = fr_late_batch_make(late, prims, count);
    if (!batch)
        return false;
    batch->column = column;
    batch->ordinal = ordinal;
    batch->op_id = op_id;
    batch->count = count;
    for (uint32_t first = 0; first < count; first += FR_LATE_ROWS_A_LOCK) {
        fr_mutex_lock(&late->rows_lock);
        for (uint32_t k = first; k < count && k - first < FR_LATE_ROWS_A_LOCK; k++) {
            fr_late_row **list = fr_paged_find(&late->by_prim, prims[k]);
            batch->rows[k].next = *list;
            *list = &batch->rows[k];
        }
        fr_mutex_unlock(&late->rows_lock);
    }
    fr_mutex_lock(&late->lock);
    fr_late_generation *keeper = fr_late_keeper(late);
    batch->next = keeper ? keeper->batches : NULL;
    if (keeper)
        keeper->batches = batch;
    fr_mutex_unlock(&late->lock);
    if (!keeper)
        fr_late_let_go(late, batch);
    return true;
}

/* --- judgements and seals --------------------------------------------------------------------- */

bool fr_late_any(const fr_late *late)
{
    return fr_late_lowest(late) != UINT64_MAX;
}

uint64_t fr_late_lowest(const fr_late *late)
{
    return fr_load_relaxed(&late->lowest);
}

uint64_t fr_late_writer(fr_late *late, const struct fr_column *column, uint32_t prim,
                        uint64_t ordinal)
{
    fr_late_row **list = fr_paged_find(&late->by_prim, prim);
    if (!list)
        return 0;
    uint64_t op_id = 0;
    fr_mutex_lock(&late->rows_lock);
    for (const fr_late_row *row = *list; row && op_id == 0; row = row->next)
        if (row->batch->column == column && row->batch->ordinal == ordinal)
            op_id = row->batch->op_id;
    fr_mutex_unlock(&late->rows_lock);
    return op_id;
}

uint64_t fr_late_hold(const fr_late *late, uint64_t ordinal)
{
    bool holds =
        fr_load_relaxed(&late->oldest) != UINT64_MAX && fr_load_relaxed(&late->highest) >= ordinal;
    return holds ? fr_load_relaxed(&late->last) : 0;
}

bool fr_late_is_held(const fr_late *late, uint64_t hold)
{
    return fr_load_relaxed(&late->oldest) <= hold;
}

void fr_late_lose(fr_late *late, uint64_t ordinal)
{
    if (fr_late_lowest(late) <= ordinal)
        fr_store_relaxed(&late->lost, fr_load_relaxed(&late->last));
}

bool fr_late_is_lost(const fr_late *late, uint64_t op_id)
{
    return op_id <= fr_load_relaxed(&late->lost);
}
