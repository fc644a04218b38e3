#include "runtime/store/stock.h"

#include "scheduler/thread.h"

static fr_shelf *fr_stock_shelf(fr_stock *stock)
{
    return &stock->shelves[fr_thread_number() % FR_STOCK_SHELVES];
}

bool fr_stock_add(fr_stock *stock, fr_stocked *batch, uint32_t batches_most)
{
    fr_mutex_lock(&stock->lock);
    bool adds = stock->batch_count < batches_most;
    if (adds) {
        batch->next_batch = stock->batches;
        stock->batches = batch;
        stock->batch_count++;
    }
    fr_mutex_unlock(&stock->lock);
    return adds;
}

static void fr_shelf_fill(fr_stock *stock, fr_shelf *shelf)
{
    fr_mutex_lock(&stock->lock);
    shelf->first = stock->batches;
    if (shelf->first) {
        stock->batches = shelf->first->next_batch;
        stock->batch_count--;
    }
    fr_mutex_unlock(&stock->lock);
}

/* The batch that lies on top. */
static fr_stocked *fr_shelf_take_batch(fr_shelf *shelf)
{
    fr_stocked *batch = shelf->first, *last = batch;
    for (uint32_t k = 1; k < FR_STOCK_BATCH; k++)
        last = last->next;
    shelf->first = last->next;
    shelf->count -= FR_STOCK_BATCH;
    last->next = NULL;
    return batch;
}

fr_stocked *fr_stock_take(fr_stock *stock)
{
    fr_shelf *shelf = fr_stock_shelf(stock);
    fr_mutex_lock(&shelf->lock);
    if (!shelf->first)
        fr_shelf_fill(stock, shelf);
    fr_stocked *record = shelf->first;
    if (record) {
        shelf->first = record->next;
        if (shelf->count > 0)
            shelf->count--;
        fr_prefetch_write(shelf->first); /* for the next one; NULL is fine */
        fr_count(&shelf->taken, 1);
    }
    fr_mutex_unlock(&shelf->lock);
    return record;
}

fr_stocked *fr_stock_give(fr_stock *stock, fr_stocked *record)
{
    fr_stocked *batch = NULL;
    fr_shelf *shelf = fr_stock_shelf(stock);
    fr_mutex_lock(&shelf->lock);
    record->next = shelf->first;
    shelf->first = record;
    fr_count(&shelf->taken, 0 - (uint64_t)1);
    if (++shelf->count == 2 * FR_STOCK_BATCH)
        batch = fr_shelf_take_batch(shelf);
    fr_mutex_unlock(&shelf->lock);
    return batch;
}

static void fr_stock_move(fr_stocked *list, fr_stocked **to)
{
    while (list) {
        fr_stocked *next = list->next;
        list->next = *to;
        *to = list;
        list = next;
    }
}

fr_stocked *fr_stock_clear(fr_stock *stock)
{
    fr_stocked *all = NULL;
    for (fr_stocked *batch = stock->batches, *next; batch; batch = next) {
        next = batch->next_batch;
        fr_stock_move(batch, &all);
    }
    stock->batches = NULL;
    stock->batch_count = 0;
    for (uint32_t k = 0; k < FR_STOCK_SHELVES; k++) {
        fr_stock_move(stock->shelves[k].first, &all);
        stock->shelves[k].first = NULL;
        stock->shelves[k].count = 0;
    }
    return all;
}

uint64_t fr_stock_taken(const fr_stock *stock)
{
    uint64_t taken = 0;
    for (uint32_t k = 0; k < FR_STOCK_SHELVES; k++)
        taken += fr_load_relaxed(&stock->shelves[k].taken);
    return taken;
}
