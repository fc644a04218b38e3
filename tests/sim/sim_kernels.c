/* The kernels of the library, in C: what cuda/kernels/kernels.cu does, one row after the other. */
#include "tests/sim/sim_internal.h"

#include <string.h>

#include "cuda/kernels/kernels.h"

/* Parts are read and written as a whole: an address between two is an error of the device. */
static bool is_aligned(fr_sim_launch *launch, uint64_t bits, uint32_t width)
{
    if (bits % width == 0)
        return true;
    fr_sim_tell(FR_SIM_OUT_OF_BOUNDS, "%s: an address or a pitch is no multiple of %u",
                launch->operation->function->name, width);
    fr_sim_context_fail(launch->operation->stream->context, FR_CU_ERROR_MISALIGNED_ADDRESS);
    return false;
}

/* One for each memory that a kernel walks through: each remembers where it was last. */
typedef struct row_walk {
    fr_sim_launch *to, from, lists, mask;
    const fr_kernel_rows *rows;
    uint32_t row_bytes;
} row_walk;

/* False: the launch has failed. */
static bool number_of(row_walk *walk, uint64_t list, uint32_t row, uint64_t *number)
{
    uint32_t listed = row;
    if (list) {
        const void *at = fr_sim_read(&walk->lists, list + 4ull * row, 4);
        if (!at)
            return false;
        memcpy(&listed, at, 4);
    }
    *number = listed;
    return true;
}

static bool move_row(row_walk *walk, uint32_t row)
{
    const fr_kernel_rows *rows = walk->rows;
    if (rows->mask) {
        uint64_t word;
        const void *at = fr_sim_read(&walk->mask, rows->mask + row / 64 * 8ull, 8);
        if (!at)
            return false;
        memcpy(&word, at, 8);
        if ((word >> row % 64 & 1) == 0)
            return true;
    }
    uint64_t to_row, from_row;
    if (!number_of(walk, rows->to_rows, row, &to_row) ||
        !number_of(walk, rows->from_rows, row, &from_row))
        return false;
    const void *from =
        fr_sim_read(&walk->from, rows->from + from_row * rows->from_pitch, walk->row_bytes);
    void *to = fr_sim_write(walk->to, rows->to + to_row * rows->to_pitch, walk->row_bytes);
    if (!from || !to)
        return false;
    memmove(to, from, walk->row_bytes);
    return true;
}

static void move_rows(fr_sim_launch *launch, void **arguments, uint32_t width)
{
    fr_kernel_rows rows;
    memcpy(&rows, arguments[0], sizeof rows);
    bool moves_on = rows.count > 1 || rows.to_rows || rows.from_rows;
    uint64_t pitches = moves_on ? rows.to_pitch | rows.from_pitch : 0;
    if (!is_aligned(launch, rows.to | rows.from | pitches, width) ||
        !is_aligned(launch, rows.to_rows | rows.from_rows, 4) || !is_aligned(launch, rows.mask, 8))
        return;
    fr_sim_operation *operation = launch->operation;
    row_walk walk = {
        launch, {.operation = operation}, {.operation = operation}, {.operation = operation},
        &rows,  rows.parts * width};
    for (uint32_t row = 0; row < rows.count; row++)
        if (!move_row(&walk, row))
            return;
}

static void copy_strided(fr_sim_launch *launch, void **arguments, uint32_t width)
{
    fr_kernel_strided copy;
    memcpy(&copy, arguments[0], sizeof copy);
    fr_sim_launch writer = {.operation = launch->operation};
    for (uint64_t i = 0; i < copy.total; i++) {
        uint64_t rest = i, to = copy.to, from = copy.from;
        for (uint64_t k = copy.dims; k-- > 0;) {
            int64_t at = (int64_t)(rest % (uint64_t)copy.sizes[k]);
            rest /= (uint64_t)copy.sizes[k];
            to += (uint64_t)(at * copy.to_strides[k]);
            from += (uint64_t)(at * copy.from_strides[k]);
        }
        if (!is_aligned(launch, to | from, width))
            return;
        const void *in = fr_sim_read(launch, from, width);
        void *out = fr_sim_write(&writer, to, width);
        if (!in || !out)
            return;
        memmove(out, in, width);
    }
}

#define FR_SIM_KERNELS(width) \
    static void rows_##width(fr_sim_launch *launch, void **arguments) \
    { \
        move_rows(launch, arguments, width); \
    } \
    static void strided_##width(fr_sim_launch *launch, void **arguments) \
    { \
        copy_strided(launch, arguments, width); \
    }
FR_KERNEL_WIDTHS(FR_SIM_KERNELS)

void fr_sim_kernels_register(void)
{
    static const uint32_t rows_bytes[] = {sizeof(fr_kernel_rows)};
    static const uint32_t strided_bytes[] = {sizeof(fr_kernel_strided)};
#define FR_SIM_ADD(width) \
    fr_sim_kernel_add("fr_rows_b" #width, rows_##width, 1, rows_bytes); \
    fr_sim_kernel_add("fr_strided_b" #width, strided_##width, 1, strided_bytes);
    FR_KERNEL_WIDTHS(FR_SIM_ADD)
#undef FR_SIM_ADD
}
