#include "runtime/store/touch.h"

#include <stddef.h>

#include "runtime/store/column.h"

static fr_tally *fr_touches_tally(fr_touches *touches, const fr_touched *touched)
{
    return touched->segment ? &touches->versions : &touches->unplaced;
}

void fr_touch_add(fr_touches *touches, fr_touched *touched, uint64_t ordinal)
{
    touched->node.ordinal = ordinal;
    fr_tally_add(fr_touches_tally(touches, touched), 1);
    fr_touched *newest = fr_load_relaxed(&touches->newest);
    do {
        touched->next = newest;
#ifdef FR_MUTATE_TOUCH_RELAXED_PUSH
    } while (!fr_cas_relaxed(&touches->newest, &newest, touched));
#else
        /* [touch.push] pairs [touch.take] : the entries and their links */
    } while (!fr_cas_release(&touches->newest, &newest, touched));
#endif
}

static fr_touched *fr_touched_of_node(fr_ordinal_node *node)
{
    return (fr_touched *)(void *)((unsigned char *)node - offsetof(fr_touched, node));
}

static void fr_touches_give(fr_touches *touches, fr_touched *touched, fr_touched **taken)
{
    fr_tally_sub(fr_touches_tally(touches, touched), 1);
    touched->next = *taken;
    *taken = touched;
}

static void fr_touches_list(fr_touches *touches, fr_column *column)
{
    if (column->touched_next)
        return;
    column->touched_next = touches->columns ? touches->columns : column;
    touches->columns = column;
}

/* With `sorting` held: takes what is on the stack and sealed by the record, and puts the rest in
 * order. NULL: seals nothing. */
static void fr_touches_sort(fr_touches *touches, const fr_floor_record *record, fr_touched **taken)
{
    /* [touch.take] pairs [touch.push] : see there */
    fr_touched *touched = fr_exchange_acquire(&touches->newest, NULL);
    while (touched) {
        fr_touched *next = touched->next;
        fr_column *column = touched->column;
        if (record &&
            touched->node.ordinal <= fr_floor_effective(record, column->attribute->index)) {
            fr_touches_give(touches, touched, taken);
        } else {
            (void)fr_ordinal_tree_insert(&column->touched, &touched->node);
            fr_touches_list(touches, column);
        }
        touched = next;
    }
}

/* All in the column's tree at or below the floor. */
static void fr_touches_take_sealed(fr_touches *touches, fr_column *column, uint64_t floor,
                                   fr_touched **taken)
{
    const fr_ordinal_node *first;
    while ((first = fr_ordinal_tree_first(&column->touched)) != NULL && first->ordinal <= floor)
        fr_touches_give(touches, fr_touched_of_node(fr_ordinal_tree_take_first(&column->touched)),
                        taken);
}

fr_touched *fr_touches_take(fr_touches *touches, const fr_floor_record *record)
{
    fr_touched *taken = NULL;
    fr_mutex_lock_long(&touches->sorting);
    fr_touches_sort(touches, record, &taken);
    fr_column *column = touches->columns;
    touches->columns = NULL;
    while (column) {
        fr_column *next = column->touched_next == column ? NULL : column->touched_next;
        column->touched_next = NULL;
        fr_touches_take_sealed(touches, column,
                               fr_floor_effective(record, column->attribute->index), &taken);
        if (fr_ordinal_tree_first(&column->touched))
            fr_touches_list(touches, column);
        column = next;
    }
    fr_mutex_unlock_long(&touches->sorting);
    return taken;
}

void fr_touches_take_back(fr_touches *touches, fr_column *column, uint64_t ordinal,
                          fr_touched **taken)
{
    fr_mutex_lock_long(&touches->sorting);
    fr_touches_sort(touches, NULL, taken);
    fr_ordinal_node *node;
    while ((node = fr_ordinal_tree_at(&column->touched, ordinal)) != NULL &&
           node->ordinal == ordinal) {
        fr_ordinal_tree_remove(&column->touched, node);
        fr_touches_give(touches, fr_touched_of_node(node), taken);
    }
    fr_mutex_unlock_long(&touches->sorting);
}
