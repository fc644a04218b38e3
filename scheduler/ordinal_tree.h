/* Records in the order of their ordinals: a treap through the records themselves, so that entering,
 * leaving and finding among very many needs no memory and no walk. What decides the shape is a hash
 * of the address. Looks begin at the last node, or at the nearer of two that were entered lately:
 * ordinals come one after the other, from a thread or two that each go on where they were.
 *
 * Threads: guarded by the owner's lock. Progress: a few dozen steps for any number of records; a
 * few for one near those, for the first and for one behind all others. Memory bound: none of its
 * own. */
#ifndef FR_SCHEDULER_ORDINAL_TREE_H
#define FR_SCHEDULER_ORDINAL_TREE_H

#include <stdint.h>

typedef struct fr_ordinal_node fr_ordinal_node;

struct fr_ordinal_node {
    uint64_t ordinal;
    fr_ordinal_node *left, *right; /* lower; the same or higher */
    fr_ordinal_node *above;
};

typedef struct fr_ordinal_tree {
    fr_ordinal_node *root, *first, *last;
    fr_ordinal_node *recent[2]; /* entered before others, lately; not all that comes last */
} fr_ordinal_tree;

/* Behind those of the same ordinal. Returns the one before it, or NULL. */
fr_ordinal_node *fr_ordinal_tree_insert(fr_ordinal_tree *tree, fr_ordinal_node *node);
/* One that is in it. */
void fr_ordinal_tree_remove(fr_ordinal_tree *tree, fr_ordinal_node *node);
/* All below `ordinal` leave it. */
void fr_ordinal_tree_cut(fr_ordinal_tree *tree, uint64_t ordinal);
/* The lowest one, or NULL. */
static inline fr_ordinal_node *fr_ordinal_tree_first(const fr_ordinal_tree *tree)
{
    return tree->first;
}
/* Takes the lowest one out; there is one. */
fr_ordinal_node *fr_ordinal_tree_take_first(fr_ordinal_tree *tree);
/* The lowest at or above `ordinal`, or NULL. */
fr_ordinal_node *fr_ordinal_tree_from(const fr_ordinal_tree *tree, uint64_t ordinal);
/* The one behind a node that is in it, or NULL. */
fr_ordinal_node *fr_ordinal_tree_next(const fr_ordinal_tree *tree, const fr_ordinal_node *node);
/* The highest at or below `ordinal`, or NULL. */
fr_ordinal_node *fr_ordinal_tree_at(const fr_ordinal_tree *tree, uint64_t ordinal);

#endif
