#include "scheduler/intake.h"

#define FR_INTAKE_PAUSES \
    64 /* before a taker yields to a pusher that was preempted between its two steps */
#define FR_INTAKE_BINS 64 /* bin k holds a sorted list of 2^k tokens */

fr_runnable fr_intake_unlinked;

void fr_intake_init(fr_intake *intake)
{
    fr_store_relaxed(&intake->newest, NULL);
}

void fr_intake_push(fr_intake *intake, fr_runnable *token)
{
    fr_store_relaxed(&token->next, &fr_intake_unlinked);
#ifdef FR_MUTATE_INTAKE_CHECK_THEN_STORE
    fr_runnable *before = fr_load_relaxed(&intake->newest);
    fr_store_release(&intake->newest, token);
#else
    /* [intake.push] pairs [intake.take] : the taker sees the token's contents and `unlinked`. That
     * holds for the tokens below as well: an exchange continues the release sequence of those
     * before it. */
    fr_runnable *before = fr_exchange_release(&intake->newest, token);
#endif
    /* [intake.link] pairs [intake.follow] : this push has written to the token for the last time */
    fr_store_release(&token->next, before);
}

fr_runnable *fr_intake_follow(fr_runnable *token)
{
    for (uint32_t tries = 1;; tries++) {
        /* [intake.follow] pairs [intake.link] : the pusher is done with the token, so it may be run
         * and freed */
        fr_runnable *next = fr_load_acquire(&token->next);
#ifdef FR_MUTATE_INTAKE_NO_LINK_WAIT
        return next == &fr_intake_unlinked ? NULL : next;
#endif
        if (next != &fr_intake_unlinked)
            return next;
        if (tries % FR_INTAKE_PAUSES == 0)
            fr_os_current->yield();
        else
            fr_os_current->pause();
    }
}

/* Joins two sorted lists; among equals those of `first` come first. */
static fr_runnable *fr_intake_merge(fr_runnable *first, fr_runnable *second)
{
    fr_runnable *head = NULL, *tail = NULL;
    while (first && second) {
        fr_runnable **from = first->order >= second->order ? &first : &second;
        fr_runnable *token = *from;
        *from = fr_intake_next(token);
        if (tail)
            fr_store_relaxed(&tail->next, token);
        else
            head = token;
        tail = token;
    }
    fr_runnable *rest = first ? first : second;
    if (!tail)
        return rest;
    fr_store_relaxed(&tail->next, rest);
    return head;
}

/* Merge sort on the links, highest order first, stable. */
static fr_runnable *fr_intake_merge_sort(fr_runnable *list)
{
    fr_runnable *bins[FR_INTAKE_BINS] = {NULL};
    while (list) {
        fr_runnable *one = list;
        list = fr_intake_next(list);
        fr_store_relaxed(&one->next, NULL);
        size_t bin = 0;
        for (; bins[bin]; bin++) { /* what is in a bin came earlier */
            one = fr_intake_merge(bins[bin], one);
            bins[bin] = NULL;
        }
        bins[bin] = one;
    }
    fr_runnable *sorted = NULL;
    for (size_t bin = 0; bin < FR_INTAKE_BINS; bin++)
        if (bins[bin])
            sorted = fr_intake_merge(bins[bin], sorted);
    return sorted;
}

fr_runnable *fr_intake_take(fr_intake *intake)
{
    if (fr_intake_looks_empty(intake))
        return NULL;
    /* [intake.take] pairs [intake.push] : see there */
    return fr_exchange_acquire(&intake->newest, NULL);
}

fr_runnable *fr_intake_sort(fr_runnable *list)
{
    bool sorted = true;
    for (fr_runnable *token = list; token;) {
        fr_runnable *next = fr_intake_follow(token);
        sorted = sorted && (!next || token->order >= next->order);
        token = next;
    }
    return sorted ? list : fr_intake_merge_sort(list);
}
