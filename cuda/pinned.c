#include "cuda/pinned.h"

struct fr_cuda_piece {
    fr_cuda_piece *next_size; /* of the first of its size */
    fr_cuda_piece *next;      /* of the same size */
    size_t size_bytes;
};

_Static_assert(sizeof(fr_cuda_piece) <= FR_CUDA_PIECE_BYTES, "a piece lies in what is pinned");

/* The link to the first piece of that size, or to the end. */
static fr_cuda_piece **find(fr_cuda_pinned *pinned, size_t size_bytes)
{
    fr_cuda_piece **link = &pinned->free;
    while (*link && (*link)->size_bytes != size_bytes)
        link = &(*link)->next_size;
    return link;
}

static fr_cuda_piece **find_larger(fr_cuda_pinned *pinned, size_t size_bytes)
{
    fr_cuda_piece **best = NULL;
    for (fr_cuda_piece **link = &pinned->free; *link; link = &(*link)->next_size)
        if ((*link)->size_bytes > size_bytes &&
            (!best || (*link)->size_bytes < (*best)->size_bytes))
            best = link;
    return best;
}

/* NULL and a link to nothing give NULL. */
static void *take(fr_cuda_pinned *pinned, fr_cuda_piece **link)
{
    fr_cuda_piece *piece = link ? *link : NULL;
    if (!piece)
        return NULL;
    if (piece->next)
        piece->next->next_size = piece->next_size;
    *link = piece->next ? piece->next : piece->next_size;
    (void)fr_sub_relaxed(&pinned->kept_bytes, piece->size_bytes);
    return piece;
}

void *fr_cuda_pinned_take(fr_cuda_pinned *pinned, size_t size_bytes)
{
    fr_mutex_lock(&pinned->lock);
    void *memory = take(pinned, find(pinned, size_bytes));
    fr_mutex_unlock(&pinned->lock);
    return memory;
}

void *fr_cuda_pinned_take_larger(fr_cuda_pinned *pinned, size_t size_bytes)
{
    fr_mutex_lock(&pinned->lock);
    void *memory = take(pinned, find_larger(pinned, size_bytes));
    fr_mutex_unlock(&pinned->lock);
    return memory;
}

void *fr_cuda_pinned_take_any(fr_cuda_pinned *pinned)
{
    fr_mutex_lock(&pinned->lock);
    void *memory = take(pinned, &pinned->free);
    fr_mutex_unlock(&pinned->lock);
    return memory;
}

void fr_cuda_pinned_put(fr_cuda_pinned *pinned, void *memory, size_t size_bytes)
{
    fr_cuda_piece *piece = memory;
    fr_mutex_lock(&pinned->lock);
    fr_cuda_piece **link = find(pinned, size_bytes);
    *piece = (fr_cuda_piece){
        .next_size = *link ? (*link)->next_size : NULL, .next = *link, .size_bytes = size_bytes};
    *link = piece;
    (void)fr_add_relaxed(&pinned->kept_bytes, size_bytes);
    fr_mutex_unlock(&pinned->lock);
}
