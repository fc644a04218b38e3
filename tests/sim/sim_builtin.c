/* The kernels of the library, in C: scatter, gather, strided copy and fill for elements of 1, 2, 4,
 * 8 and 16 bytes, and those of tests. Arguments are those of the device code. */
#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "scheduler/atomic.h"

static uint64_t address_in(void **arguments, int i)
{
    uint64_t value = 0;
    memcpy(&value, arguments[i], sizeof value);
    return value;
}

static uint32_t number_in(void **arguments, int i)
{
    uint32_t value = 0;
    memcpy(&value, arguments[i], sizeof value);
    return value;
}

/* Elements are read and written as a whole: an address between two is an error of the device. */
static bool is_aligned(fr_sim_launch *launch, uint64_t bits, uint32_t width)
{
    if (bits % width == 0)
        return true;
    fr_sim_tell(FR_SIM_OUT_OF_BOUNDS, "%s: an address or a pitch is no multiple of %u",
                launch->operation->function->name, width);
    fr_sim_context_fail(launch->operation->stream->context, FR_CU_ERROR_MISALIGNED_ADDRESS);
    return false;
}

typedef struct rows {
    uint64_t dst, dst_pitch, src, src_pitch, index, mask;
    uint32_t count, bytes;
    bool index_is_of_dst;
} rows;

/* False: the launch has failed. */
static bool move_row(fr_sim_launch *data, fr_sim_launch *lists, const rows *r, uint32_t row)
{
    uint32_t other = row;
    if (r->mask) {
        const uint8_t *mask = fr_sim_read(lists, r->mask + row, 1);
        if (!mask)
            return false;
        if (*mask == 0)
            return true;
    }
    if (r->index) {
        const void *index = fr_sim_read(lists, r->index + 4ull * row, 4);
        if (!index)
            return false;
        memcpy(&other, index, 4);
    }
    uint64_t dst_row = r->index_is_of_dst ? other : row, src_row = r->index_is_of_dst ? row : other;
    const void *src = fr_sim_read(data, r->src + src_row * r->src_pitch, r->bytes);
    void *dst = fr_sim_write(lists, r->dst + dst_row * r->dst_pitch, r->bytes);
    if (!src || !dst)
        return false;
    memmove(dst, src, r->bytes);
    return true;
}

static void move_rows(fr_sim_launch *launch, const rows *r, uint32_t width)
{
    if (!is_aligned(launch, r->dst | r->dst_pitch | r->src | r->src_pitch, width) ||
        !is_aligned(launch, r->index, 4))
        return;
    fr_sim_launch lists = {.operation = launch->operation}; /* finds other memory than the data */
    for (uint32_t row = 0; row < r->count; row++)
        if (!move_row(launch, &lists, r, row))
            return;
}

/* (dst, dst pitch, src, src pitch, index or 0, mask or 0, rows, elements of a row) */
static void move(fr_sim_launch *launch, void **a, uint32_t width, bool scatter)
{
    rows r = {address_in(a, 0), address_in(a, 1),        address_in(a, 2),
              address_in(a, 3), address_in(a, 4),        address_in(a, 5),
              number_in(a, 6),  number_in(a, 7) * width, scatter};
    move_rows(launch, &r, width);
}

/* (dst, dst pitch, the row, index or 0, mask or 0, rows, elements of a row) */
static void fill(fr_sim_launch *launch, void **a, uint32_t width)
{
    rows r = {address_in(a, 0), address_in(a, 1), address_in(a, 2),        0,   address_in(a, 3),
              address_in(a, 4), number_in(a, 5),  number_in(a, 6) * width, true};
    move_rows(launch, &r, width);
}

/* As the device code has it: strides in bytes. */
typedef struct shape {
    int32_t count;
    int64_t sizes[8], dst_strides[8], src_strides[8];
} shape;

/* (dst, src, shape, elements) */
static void copy_strided(fr_sim_launch *launch, void **a, uint32_t width)
{
    uint64_t dst = address_in(a, 0), src = address_in(a, 1), total = address_in(a, 3);
    fr_sim_launch writer = {.operation = launch->operation};
    shape s;
    memcpy(&s, a[2], sizeof s);
    for (uint64_t i = 0; i < total; i++) {
        uint64_t rest = i;
        int64_t to = 0, from = 0;
        for (int k = s.count - 1; k >= 0; k--) {
            int64_t at = (int64_t)(rest % (uint64_t)s.sizes[k]);
            rest /= (uint64_t)s.sizes[k];
            to += at * s.dst_strides[k];
            from += at * s.src_strides[k];
        }
        if (!is_aligned(launch, (dst + (uint64_t)to) | (src + (uint64_t)from), width))
            return;
        const void *in = fr_sim_read(launch, src + (uint64_t)from, width);
        void *out = fr_sim_write(&writer, dst + (uint64_t)to, width);
        if (!in || !out)
            return;
        memmove(out, in, width);
    }
}

#define FR_SIM_WIDTHS(X) X(1) X(2) X(4) X(8) X(16)
#define FR_SIM_KERNELS(width) \
    static void scatter_##width(fr_sim_launch *launch, void **arguments) \
    { \
        move(launch, arguments, width, true); \
    } \
    static void gather_##width(fr_sim_launch *launch, void **arguments) \
    { \
        move(launch, arguments, width, false); \
    } \
    static void fill_##width(fr_sim_launch *launch, void **arguments) \
    { \
        fill(launch, arguments, width); \
    } \
    static void strided_##width(fr_sim_launch *launch, void **arguments) \
    { \
        copy_strided(launch, arguments, width); \
    }
FR_SIM_WIDTHS(FR_SIM_KERNELS)

/* (words, count, value): the kernel of the contract tests' image. */
static void add(fr_sim_launch *launch, void **a)
{
    uint32_t count = number_in(a, 1);
    const void *in = fr_sim_read(launch, address_in(a, 0), 4ull * count);
    unsigned char *out = fr_sim_write(launch, address_in(a, 0), 4ull * count);
    for (uint32_t i = 0; in && out && i < count; i++) {
        uint32_t word = 0;
        memcpy(&word, out + 4ull * i, 4);
        word += number_in(a, 2);
        memcpy(out + 4ull * i, &word, 4);
    }
}

void fr_sim_builtin_register(void)
{
    static const uint32_t add_bytes[] = {8, 4, 4};
    static const uint32_t move_bytes[] = {8, 8, 8, 8, 8, 8, 4, 4};
    static const uint32_t fill_bytes[] = {8, 8, 8, 8, 8, 4, 4};
    static const uint32_t strided_bytes[] = {8, 8, sizeof(shape), 8};
    static const uint32_t spin_bytes[] = {8, 8};
#define FR_SIM_ADD(width) \
    fr_sim_kernel_add("fr_scatter_b" #width, scatter_##width, 8, move_bytes); \
    fr_sim_kernel_add("fr_gather_b" #width, gather_##width, 8, move_bytes); \
    fr_sim_kernel_add("fr_fill_b" #width, fill_##width, 7, fill_bytes); \
    fr_sim_kernel_add("fr_strided_b" #width, strided_##width, 4, strided_bytes);
    FR_SIM_WIDTHS(FR_SIM_ADD)
    fr_sim_kernel_add("fr_contract_add", add, 3, add_bytes);
    fr_sim_kernel_add("fr_spin", fr_sim_builtin_spin, 2, spin_bytes);
}

/* --- The spin kernel runs when it may end; until then its stream is blocked. --- */

void fr_sim_builtin_spin(fr_sim_launch *launch, void **arguments)
{
    (void)launch;
    (void)arguments;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool fr_sim_kernel_spins(const fr_sim_operation *operation)
{
    return operation->function->kernel == fr_sim_builtin_spin;
}

bool fr_sim_kernel_ready(fr_sim_operation *operation)
{
    if (!fr_sim_kernel_spins(operation))
        return true;
    uint64_t flag = address_in(operation->arguments, 0),
             limit_ns = address_in(operation->arguments, 1);
    const fr_sim_memory *memory = flag ? fr_sim_memory_find(flag) : NULL;
    if (operation->spins_since_ns == 0)
        operation->spins_since_ns = now_ns();
    if (memory && flag % 4 == 0) {
        /* The program writes it without a lock. */
        _Atomic uint32_t *word = fr_sim_memory_view(memory, flag);
        if (fr_load_acquire(word) != 0)
            return true;
    }
    return now_ns() - operation->spins_since_ns >= limit_ns;
}
