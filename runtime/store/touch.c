#include "runtime/store/touch.h"

#include <stddef.h>

#include "runtime/store/column.h"

void fr_touch_add(fr_touches *touches, fr_touched *touched, uint64_t ordinal)
{
    fr_column *column = touched->column;
    touched->node.ordinal = ordinal;
    fr_mutex_lock(&touches->lock);
    (void)fr_ordinal_tree_insert(&column->touched, &touched->node);
    touches->versions += touched->segment != NULL;
    if (!column->touched_next) {
        column->touched_next = touches->columns ? touches->columns : column;
        touches->columns = column;
    }
    fr_mutex_unlock(&touches->lock);
}

static fr_touched *fr_touched_of_node(fr_ordinal_node *node)
{
    return (fr_touched *)(void *)((unsigned char *)node - offsetof(fr_touched, node));
}

/* With the lock held: moves some of the column's sealed entries to the front of *taken. True when
 * it has more of them; else it is back in the list if it has others. */
static bool fr_touches_take_some(fr_touches *touches, fr_column *column, uint64_t floor,
                                 fr_touched **taken)
{
    const fr_ordinal_node *first = fr_ordinal_tree_first(&column->touched);
    for (uint32_t k = 0; k < FR_ROWS_A_LOCK && first && first->ordinal <= floor; k++) {
        fr_touched *touched = fr_touched_of_node(fr_ordinal_tree_take_first(&column->touched));
        touches->versions -= touched->segment != NULL;
        touched->next = *taken;
        *taken = touched;
        first = fr_ordinal_tree_first(&column->touched);
    }
    if (first && first->ordinal <= floor)
        return true;
    column->touched_next = NULL;
    if (first) {
        column->touched_next = touches->columns ? touches->columns : column;
        touches->columns = column;
    }
    return false;
}

fr_touched *fr_touches_take(fr_touches *touches, const fr_floor_record *record)
{
    fr_touched *taken = NULL;
    fr_mutex_lock(&touches->lock);
    fr_column *column = touches->columns;
    touches->columns = NULL;
    fr_mutex_unlock(&touches->lock);
    while (column) { /* in our list: nobody else enters it in another one */
        fr_column *next = column->touched_next == column ? NULL : column->touched_next;
        uint64_t floor = fr_floor_effective(record, column->attribute->index);
        bool more;
        do {
            fr_mutex_lock(&touches->lock);
            more = fr_touches_take_some(touches, column, floor, &taken);
            fr_mutex_unlock(&touches->lock);
        } while (more);
        column = next;
    }
    return taken;
}

void fr_touches_take_back(fr_touches *touches, fr_column *column, uint64_t ordinal,
                          fr_touched **taken)
{
    fr_ordinal_node *node;
    do { /* one at a time: others get the lock */
        fr_mutex_lock(&touches->lock);
        node = fr_ordinal_tree_at(&column->touched, ordinal);
        node = node && node->ordinal == ordinal ? node : NULL;
        if (node) {
            fr_ordinal_tree_remove(&column->touched, node);
            fr_touched *touched = fr_touched_of_node(node);
            touches->versions -= touched->segment != NULL;
            touched->next = *taken;
            *taken = touched;
        }
        fr_mutex_unlock(&touches->lock);
    } while (node);
}
