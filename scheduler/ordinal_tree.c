#include "scheduler/ordinal_tree.h"

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/os.h"

/* Parents have the higher rank. */
static uint64_t fr_ordinal_rank(const fr_ordinal_node *node)
{
    uint64_t rank = (uintptr_t)node * UINT64_C(0x9e3779b97f4a7c15);
    rank ^= rank >> 29;
    rank *= UINT64_C(0xbf58476d1ce4e5b9);
    return rank ^ (rank >> 32);
}

/* --- where to begin --------------------------------------------------------------------------- */

static uint64_t fr_ordinal_distance(const fr_ordinal_node *node, uint64_t ordinal)
{
    if (!node)
        return UINT64_MAX;
    return node->ordinal > ordinal ? node->ordinal - ordinal : ordinal - node->ordinal;
}

/* Which of the recent nodes is nearest. */
static uint32_t fr_ordinal_nearest(const fr_ordinal_tree *tree, uint64_t ordinal)
{
    return fr_ordinal_distance(tree->recent[1], ordinal) <
           fr_ordinal_distance(tree->recent[0], ordinal);
}

/* A node near the ordinal's place; NULL: the tree is empty. */
static fr_ordinal_node *fr_ordinal_start(const fr_ordinal_tree *tree, uint64_t ordinal)
{
    fr_ordinal_node *recent = tree->recent[fr_ordinal_nearest(tree, ordinal)];
    bool is_nearer =
        fr_ordinal_distance(recent, ordinal) < fr_ordinal_distance(tree->last, ordinal);
    return is_nearer ? recent : tree->last;
}

/* A subtree with an ordinal's place in it. */
typedef struct fr_ordinal_part {
    fr_ordinal_node *root, *above; /* whose child the root is; NULL: the whole tree */
    fr_ordinal_node *before;       /* the last one at or below the ordinal that was passed */
} fr_ordinal_part;

/* The lowest subtree with that place and a node near it in it, under a node of higher rank. */
static fr_ordinal_part fr_ordinal_part_near(const fr_ordinal_tree *tree, uint64_t ordinal,
                                            uint64_t rank)
{
    fr_ordinal_part part = {.root = fr_ordinal_start(tree, ordinal)};
    if (!part.root)
        return part;
    bool after = part.root->ordinal <= ordinal;
    for (part.above = part.root->above; part.above; part.above = part.root->above) {
        fr_look();
        bool ends_left = part.above->left == part.root;
        if (ends_left == after && (part.above->ordinal > ordinal) == after &&
            fr_ordinal_rank(part.above) > rank)
            break;
        part.root = part.above;
    }
    if (!after)
        part.before = part.above;
    return part;
}

static void fr_ordinal_step_down(fr_ordinal_part *part, uint64_t ordinal)
{
    fr_look();
    part->above = part->root;
    if (part->root->ordinal <= ordinal) {
        part->before = part->root;
        part->root = part->root->right;
    } else {
        part->root = part->root->left;
    }
}

/* --- the tree --------------------------------------------------------------------------------- */

/* What is at or below the new node's ordinal goes to its left, the rest to its right. */
static void fr_ordinal_split(fr_ordinal_part *part, fr_ordinal_node *node)
{
    fr_ordinal_node **low = &node->left, **high = &node->right;
    fr_ordinal_node *above_low = node, *above_high = node;
    while (part->root) {
        fr_ordinal_step_down(part, node->ordinal);
        fr_ordinal_node *passed = part->above;
        if (passed == part->before) {
            *low = passed;
            low = &passed->right;
            passed->above = above_low;
            above_low = passed;
        } else {
            *high = passed;
            high = &passed->left;
            passed->above = above_high;
            above_high = passed;
        }
    }
    *low = NULL;
    *high = NULL;
}

/* Behind all others: what has a lower rank on the way up from the last one goes to its left. */
static fr_ordinal_node *fr_ordinal_append(fr_ordinal_tree *tree, fr_ordinal_node *node)
{
    uint64_t rank = fr_ordinal_rank(node);
    fr_ordinal_node *before = tree->last, *above = before, *low = NULL;
    while (above && fr_ordinal_rank(above) < rank) {
        fr_look();
        low = above;
        above = above->above;
    }
    node->left = low;
    node->right = NULL;
    node->above = above;
    if (low)
        low->above = node;
    *(above ? &above->right : &tree->root) = node;
    if (!before)
        tree->first = node;
    tree->last = node;
    return before;
}

fr_ordinal_node *fr_ordinal_tree_insert(fr_ordinal_tree *tree, fr_ordinal_node *node)
{
    uint64_t ordinal = node->ordinal;
    if (!tree->last || tree->last->ordinal <= ordinal)
        return fr_ordinal_append(tree, node);
    uint64_t rank = fr_ordinal_rank(node);
    uint32_t nearest = fr_ordinal_nearest(tree, ordinal);
    fr_ordinal_part part = fr_ordinal_part_near(tree, ordinal, rank);
    while (part.root && fr_ordinal_rank(part.root) > rank)
        fr_ordinal_step_down(&part, ordinal);
    node->above = part.above;
    if (!part.above)
        tree->root = node;
    else
        *(part.above->ordinal <= ordinal ? &part.above->right : &part.above->left) = node;
    fr_ordinal_split(&part, node);
    if (ordinal < tree->first->ordinal)
        tree->first = node;
    tree->recent[tree->recent[1 - nearest] ? nearest : 1 - nearest] = node;
    return part.before;
}

/* The lowest one leaves, which has nothing to its left. */
static void fr_ordinal_next_first(fr_ordinal_tree *tree)
{
    fr_ordinal_node *next = tree->first->right;
    if (!next)
        next = tree->first->above;
    else
        while (next->left) {
            fr_look();
            next = next->left;
        }
    tree->first = next;
}

/* The last one leaves, which has nothing to its right. */
static void fr_ordinal_next_last(fr_ordinal_tree *tree)
{
    fr_ordinal_node *next = tree->last->left;
    if (!next)
        next = tree->last->above;
    else
        while (next->right) {
            fr_look();
            next = next->right;
        }
    tree->last = next;
}

void fr_ordinal_tree_remove(fr_ordinal_tree *tree, fr_ordinal_node *node)
{
    fr_ordinal_node *above = node->above, *low = node->left, *high = node->right;
    fr_ordinal_node **link = &tree->root;
    if (above)
        link = above->left == node ? &above->left : &above->right;
    if (tree->first == node)
        fr_ordinal_next_first(tree);
    if (tree->last == node)
        fr_ordinal_next_last(tree);
    while (low && high) {
        fr_look();
        bool lower = fr_ordinal_rank(low) > fr_ordinal_rank(high);
        fr_ordinal_node *up = lower ? low : high;
        *link = up;
        up->above = above;
        above = up;
        link = lower ? &low->right : &high->left;
        *(lower ? &low : &high) = *link;
    }
    fr_ordinal_node *rest = low ? low : high;
    *link = rest;
    if (rest)
        rest->above = above;
    for (uint32_t k = 0; k < 2; k++)
        if (tree->recent[k] == node)
            tree->recent[k] = node->above ? node->above : tree->root;
}

void fr_ordinal_tree_cut(fr_ordinal_tree *tree, uint64_t ordinal)
{
    fr_ordinal_node **link = &tree->root, *above = NULL;
    while (*link) {
        fr_look();
        fr_ordinal_node *node = *link;
        if (node->ordinal < ordinal) {
            *link = node->right; /* it goes, with all that is to its left */
            if (*link)
                (*link)->above = above;
        } else {
            above = node;
            link = &node->left;
        }
    }
    tree->first = above;
    if (!above)
        tree->last = NULL;
    for (uint32_t k = 0; k < 2; k++)
        if (tree->recent[k] && tree->recent[k]->ordinal < ordinal)
            tree->recent[k] = above;
}

fr_ordinal_node *fr_ordinal_tree_take_first(fr_ordinal_tree *tree)
{
    fr_ordinal_node *node = tree->first;
    fr_ordinal_tree_remove(tree, node);
    return node;
}

fr_ordinal_node *fr_ordinal_tree_at(const fr_ordinal_tree *tree, uint64_t ordinal)
{
    if (!tree->last || tree->last->ordinal <= ordinal)
        return tree->last;
    fr_ordinal_part part = fr_ordinal_part_near(tree, ordinal, 0);
    while (part.root)
        fr_ordinal_step_down(&part, ordinal);
    return part.before;
}

fr_ordinal_node *fr_ordinal_tree_next(const fr_ordinal_tree *tree, const fr_ordinal_node *node)
{
    (void)tree;
    fr_ordinal_node *next = node->right;
    while (next && next->left) {
        fr_look();
        next = next->left;
    }
    if (next)
        return next;
    for (next = node->above; next && next->right == node; next = next->above) {
        fr_look();
        node = next;
    }
    return next;
}

fr_ordinal_node *fr_ordinal_tree_from(const fr_ordinal_tree *tree, uint64_t ordinal)
{
    const fr_ordinal_node *before = ordinal > 0 ? fr_ordinal_tree_at(tree, ordinal - 1) : NULL;
    return before ? fr_ordinal_tree_next(tree, before) : tree->first;
}
