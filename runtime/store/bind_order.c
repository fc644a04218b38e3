#include "runtime/store/bind_order.h"

#include "runtime/store/position_sort.h"
#include "runtime/store/store_state.h"

/* Stands for: they ascend as they are. */
static fr_bind_order fr_bind_order_none;

static bool fr_bind_order_fill(const fr_binding *binding, fr_bind_order *order)
{
    const fr_allocator *allocator = binding->store->allocator;
    size_t pairs_bytes = 2 * (size_t)binding->count * sizeof(uint64_t);
    uint64_t *pairs = fr_memory_allocate(allocator, pairs_bytes, 16);
    if (!pairs)
        return false;
    for (uint32_t k = 0; k < binding->count; k++)
        pairs[k] = (uint64_t)binding->rows[k] << 32 | k;
    fr_positions_sort(pairs, pairs + binding->count, binding->count);
    order->rows = (uint32_t *)(void *)(order + 1);
    order->elements = order->rows + binding->count;
    for (uint32_t k = 0; k < binding->count; k++) {
        order->rows[k] = (uint32_t)(pairs[k] >> 32);
        order->elements[k] = (uint32_t)pairs[k];
    }
    fr_memory_release(allocator, pairs, pairs_bytes);
    return true;
}

static void fr_bind_order_release(fr_store *store, fr_bind_order *order)
{
    if (!order || order == &fr_bind_order_none)
        return;
    size_t size_bytes = order->size_bytes;
    fr_memory_release(store->allocator, order, size_bytes);
    fr_bind_uncount(store, size_bytes);
}

/* NULL without memory, or room among the bindings. */
static fr_bind_order *fr_bind_order_make(const fr_binding *binding)
{
    fr_store *store = binding->store;
    size_t size_bytes = sizeof(fr_bind_order) + 2 * (size_t)binding->count * sizeof(uint32_t);
    if (fr_positions_ascend(binding->rows, binding->count))
        return &fr_bind_order_none;
    if (!fr_bind_count(store, size_bytes))
        return NULL;
    fr_bind_order *made = fr_memory_allocate(store->allocator, size_bytes, 16);
    if (!made) {
        fr_bind_uncount(store, size_bytes);
        return NULL;
    }
    made->size_bytes = size_bytes;
    if (fr_bind_order_fill(binding, made))
        return made;
    fr_bind_order_release(store, made);
    return NULL;
}

static fr_bind_order *fr_bind_order_publish(fr_binding *binding)
{
    fr_bind_order *made = fr_bind_order_make(binding), *none = NULL;
    /* [bind.order.publish] pairs [bind.order.read], [bind.order.publish] : what is in it */
    if (!made || fr_cas_acq_rel_seen(&binding->ascending, &none, made))
        return made;
    fr_bind_order_release(binding->store, made);
    return none;
}

const fr_bind_order *fr_bind_order_take(const fr_binding *binding)
{
    fr_binding *mine = (fr_binding *)(uintptr_t)binding; /* it does not change but for this */
    if (!fr_bind_is_kept(binding) || binding->count < FR_BIND_ORDER_LEAST)
        return NULL;
    /* [bind.order.read] pairs [bind.order.publish] : see there */
    fr_bind_order *order = fr_load_acquire(&mine->ascending);
    if (!order) {
        /* A count that several threads enter may lack some: it is a guess. */
        uint32_t taken = fr_load_relaxed(&mine->taken) + 1;
        fr_store_relaxed(&mine->taken, taken);
        if (taken >= FR_BIND_ORDER_TAKEN)
            order = fr_bind_order_publish(mine);
    }
    return order == &fr_bind_order_none ? NULL : order;
}

void fr_bind_order_free(fr_binding *binding)
{
    fr_bind_order_release(binding->store, fr_load_relaxed(&binding->ascending)); /* alone by now */
}
