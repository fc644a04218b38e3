#include "scheduler/lane.h"

bool fr_lane_join(fr_lane *lane, fr_op *op, uint64_t filter)
{
    uint64_t word = fr_load_relaxed(&lane->word);
    uint64_t after;
    do {
        /* Relaxed stores: the swap below publishes them. The last op may have been counted out
         * already; then the swap fails, and its record is not used again before admission is given
         * back. */
        if (fr_lane_count(word) == 0)
            fr_store_relaxed(&lane->first, op);
        else
            fr_store_relaxed(&lane->last->place.in_lane.next, op);
        after = word + FR_LANE_ONE;
        if ((word & (FR_LANE_DRAINER | FR_LANE_TOKEN | FR_LANE_BLOCKED)) == 0)
            after |= FR_LANE_TOKEN;
        /* [lane.join] pairs [lane.claim], [lane.token], [lane.settle], [lane.settle.look] : the
         * drainer sees the op and the link to it; the token's order is written after who took the
         * token has read it */
    } while (!fr_cas_acq_rel(&lane->word, &word, after));
    lane->last = op;
    lane->filter = fr_lane_count(word) == 0 ? filter : lane->filter | filter;
    if (((word ^ after) & FR_LANE_TOKEN) == 0)
        return false;
    lane->token.order = lane->ordinal; /* one that is out keeps the order it has */
    return true;
}

bool fr_lane_claim(fr_lane *lane)
{
    uint64_t word = fr_load_relaxed(&lane->word);
    do {
        if (!fr_lane_is_claimable(word))
            return false;
        /* [lane.claim] pairs [lane.join], [lane.settle], [lane.unblock] : sees the ops, and what
         * the last drainer did */
    } while (!fr_cas_acquire(&lane->word, &word, word | FR_LANE_DRAINER));
    return true;
}

fr_lane_token_result fr_lane_take_token(fr_lane *lane, bool only_idle)
{
    uint64_t word = fr_load_relaxed(&lane->word);
    uint64_t after;
    do {
        after = word & ~FR_LANE_TOKEN;
        if (fr_lane_is_claimable(word) && only_idle)
            return FR_LANE_TOKEN_KEEP;
        if (fr_lane_is_claimable(word))
            after |= FR_LANE_DRAINER;
        else if (fr_lane_count(word) == 0 && (word & FR_LANE_DRAINER) == 0)
            after |= FR_LANE_RETIRED;
        /* [lane.token] pairs [lane.join], [lane.settle], [lane.unblock], [lane.recycle],
         * [lane.recycle.used], [lane.use], [destroy.lane] : as lane.claim; who uses the lane again
         * comes after the token's run */
    } while (!fr_cas_acq_rel(&lane->word, &word, after));
    if (((word ^ after) & FR_LANE_DRAINER) != 0)
        return FR_LANE_TOKEN_DRAIN;
    return ((word ^ after) & FR_LANE_RETIRED) != 0 ? FR_LANE_TOKEN_RETIRE : FR_LANE_TOKEN_NOTHING;
}

static uint64_t fr_lane_settled(uint64_t left, fr_lane_settle_mode mode)
{
    bool has_ops = fr_lane_count(left) > 0;
    if (mode == FR_LANE_STAY || (mode == FR_LANE_GO_ON && has_ops))
        return left;
    left &= ~(FR_LANE_DRAINER | FR_LANE_WAITERS);
    if (mode == FR_LANE_BLOCK)
        return left | FR_LANE_BLOCKED;
    return left | (has_ops ? FR_LANE_TOKEN : FR_LANE_RETIRED);
}

fr_lane_settlement fr_lane_settle(fr_lane *lane, uint32_t done, const fr_op *last_done,
                                  fr_lane_settle_mode mode)
{
#ifdef FR_MUTATE_LANE_DROP_DIRTY
    if (mode == FR_LANE_GO_ON && fr_lane_count(fr_load_relaxed(&lane->word)) == done) {
        (void)fr_sub_acq_rel(&lane->word, done * FR_LANE_ONE);
        uint64_t was = fr_and_acq_rel(&lane->word, ~(FR_LANE_DRAINER | FR_LANE_WAITERS));
        return (fr_lane_settlement){was & ~(FR_LANE_DRAINER | FR_LANE_WAITERS), was};
    }
#endif
    /* [lane.settle.look] pairs [lane.join] : the link of the last op is there when the count says
     * so */
    uint64_t word = fr_load_acquire(&lane->word);
    uint64_t after;
    do {
        uint64_t left = word - done * FR_LANE_ONE;
        /* Only now is it known whether the last op has a successor. */
        if (done > 0 && fr_lane_count(left) > 0)
            fr_store_relaxed(&lane->first, fr_load_relaxed(&last_done->place.in_lane.next));
        after = fr_lane_settled(left, mode);
        if (after == word)
            break; /* nothing done, and the drainer stays */
        /* [lane.settle] pairs [lane.join], [lane.claim], [lane.token], [explore.lane], [lane.look],
         * [lane.walk], [run.lane], [room.lane], [lane.announce], [lane.recycle],
         * [lane.recycle.used], [lane.drop] : the next drainer comes after this one; ops that joined
         * are seen, and not left behind */
    } while (!fr_cas_acq_rel_seen(&lane->word, &word, after));
    return (fr_lane_settlement){after, word};
}

uint64_t fr_lane_unblock(fr_lane *lane)
{
    uint64_t word = fr_load_relaxed(&lane->word);
    /* [lane.unblock] pairs [lane.claim], [lane.token], [lane.announce] : the op's producers have
     * completed before it runs */
    while (!fr_cas_acq_rel(&lane->word, &word,
                           (word & ~(FR_LANE_BLOCKED | FR_LANE_WAITERS)) | FR_LANE_TOKEN)) {
    }
    return word;
}

bool fr_lane_announce(fr_lane *lane, uint64_t held)
{
    uint64_t word = fr_load_relaxed(&lane->word);
#ifdef FR_MUTATE_WAIT_CHECK_THEN_ANNOUNCE
    if (held != 0 && (word & held) == 0)
        return false;
    fr_os_current->yield();
    (void)fr_or_acq_rel(&lane->word, FR_LANE_WAITERS);
    return true;
#else
    do {
        if (fr_lane_count(word) == 0 || (held != 0 && (word & held) == 0))
            return false;
        /* [lane.announce] pairs [lane.settle], [lane.unblock] : who clears the flag sees the waiter
         * that set it */
    } while (!fr_cas_release(&lane->word, &word, word | FR_LANE_WAITERS));
    return true;
#endif
}
