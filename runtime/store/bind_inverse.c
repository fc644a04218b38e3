#include "runtime/store/bind_inverse.h"

#include "runtime/store/store_state.h"

struct fr_bind_inverse {
    size_t size_bytes;
    uint32_t *ks[]; /* by group; then what they lead to */
};

static bool fr_bind_inverse_is_worth_it(const fr_bind_group *group)
{
    return group->count >= group->segment->row_count / FR_BIND_INVERSE_SHARE;
}

static size_t fr_bind_inverse_bytes(const fr_binding *binding)
{
    size_t rows = 0;
    for (uint32_t g = 0; g < binding->group_count; g++)
        if (fr_bind_inverse_is_worth_it(&binding->groups[g]))
            rows += binding->groups[g].segment->row_count;
    return sizeof(struct fr_bind_inverse) + binding->group_count * sizeof(uint32_t *) +
           rows * sizeof(uint32_t);
}

static void fr_bind_inverse_fill(const fr_binding *binding, struct fr_bind_inverse *inverse)
{
    uint32_t *next = (uint32_t *)(void *)(inverse->ks + binding->group_count);
    for (uint32_t g = 0; g < binding->group_count; g++) {
        const fr_bind_group *group = &binding->groups[g];
        if (!fr_bind_inverse_is_worth_it(group))
            continue;
        inverse->ks[g] = next;
        for (uint32_t k = group->first; k < group->first + group->count; k++)
            next[binding->rows[k]] = k + 1;
        next += group->segment->row_count;
    }
}

/* NULL without memory, or room among the bindings. */
static struct fr_bind_inverse *fr_bind_inverse_make(fr_binding *binding)
{
    fr_store *store = binding->store;
    size_t size_bytes = fr_bind_inverse_bytes(binding);
    if (!fr_bind_count(store, size_bytes))
        return NULL;
    struct fr_bind_inverse *made = fr_memory_allocate_zero(store->allocator, size_bytes, 16);
    if (!made) {
        fr_bind_uncount(store, size_bytes);
        return NULL;
    }
    made->size_bytes = size_bytes;
    fr_bind_inverse_fill(binding, made);
    struct fr_bind_inverse *none = NULL;
    /* [bind.inverse.publish] pairs [bind.inverse.read], [bind.inverse.publish] : what is in it */
    if (fr_cas_acq_rel_seen(&binding->inverse, &none, made))
        return made;
    fr_memory_release(store->allocator, made, size_bytes);
    fr_bind_uncount(store, size_bytes);
    return none;
}

const uint32_t *fr_bind_inverse_of(const fr_binding *binding, const fr_bind_group *group)
{
    if (!fr_bind_is_kept(binding) || binding->has_duplicates || !fr_bind_inverse_is_worth_it(group))
        return NULL;
    fr_binding *mine = (fr_binding *)(uintptr_t)binding; /* it does not change but for this */
    /* [bind.inverse.read] pairs [bind.inverse.publish] : see there */
    struct fr_bind_inverse *inverse = fr_load_acquire(&mine->inverse);
    if (!inverse)
        inverse = fr_bind_inverse_make(mine);
    return inverse ? inverse->ks[group - binding->groups] : NULL;
}

void fr_bind_inverse_free(fr_binding *binding)
{
    struct fr_bind_inverse *inverse = fr_load_relaxed(&binding->inverse); /* nobody else has it */
    if (!inverse)
        return;
    size_t size_bytes = inverse->size_bytes;
    fr_memory_release(binding->store->allocator, inverse, size_bytes);
    fr_bind_uncount(binding->store, size_bytes);
}
