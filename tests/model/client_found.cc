// Filters of a client among several, and the use of what they find before that is known.
#include <algorithm>

#include "tests/model/concurrent_parts.h"

namespace model
{

ThreadBody::ThreadBody(const Client &client, Tasks &tasks, uint32_t first, uint32_t step)
    : client_(client), tasks_(tasks), first_(first), step_(step), found_paths_(filter_slots),
      finders_(filter_slots), finding_(filter_slots), by_filter_(filter_slots),
      found_last_(static_cast<size_t>(client.program.prim_count))
{
    for (int slot = 0; slot < filter_slots; slot++)
        found_.push_back(client.list_query({}));
}

// Each thread has slots of its own.
bool ThreadBody::is_mine(const Step &step, size_t index) const
{
    const auto slot = static_cast<size_t>(-1 - step.query);
    return (step.query < 0 ? slot : index) % step_ == first_;
}

ovstage_query_handle_t ThreadBody::query_of(const Step &step) const
{
    return step.query < 0 ? found_[static_cast<size_t>(-1 - step.query)]
                          : client_.queries[static_cast<size_t>(step.query)];
}

// What is known of its query.
void ThreadBody::ask(const Step &step, Event &event) const
{
    const std::vector<std::vector<int>> &queries = client_.program.queries;
    if (step.query >= 0) { // what asks for none may have been cut down to have none
        if (static_cast<size_t>(step.query) < queries.size())
            event.paths = client_.paths_of(queries[static_cast<size_t>(step.query)]);
        return;
    }
    const auto slot = static_cast<size_t>(-1 - step.query);
    event.finder = step.what == Do::filter ? nullptr : finders_[slot];
    event.by_filter = by_filter_[slot];
    event.paths = found_paths_[slot];
}

// Of as many elements as there are prims, or as there were last if that is not known.
const Step &ThreadBody::fit(const Step &step, Event &event)
{
    if (!fits_a_query(step))
        return step;
    const bool is_known = !finding_[static_cast<size_t>(-1 - step.query)];
    event.fitted =
        std::make_unique<Step>(fitted(step, is_known && event.finder ? event.finder->paths.size()
                                            : is_known               ? event.paths.size()
                                                                     : found_last_));
    event.step = event.fitted.get();
    return *event.step;
}

void ThreadBody::keep_found(size_t slot, ovstage_query_handle_t query)
{
    find_out(slot);
    if (ovstage_release_query(client_.instance, found_[slot]).status != OVSTAGE_OK)
        fail("release_query: ", last_error());
    found_[slot] = query;
    by_filter_[slot] = true;
    finders_[slot] = nullptr;
}

void ThreadBody::filter(const Step &step, Event &event)
{
    ovstage_query_handle_t query = 0;
    const auto slot = static_cast<size_t>(-1 - step.query);
    took(event, client_.filter(step, client_.named_by(step), &query));
    event.paths.clear();
    if (event.status != OVSTAGE_OK)
        return;
    if (step.later) {
        keep_found(slot, query);
        finders_[slot] = finding_[slot] = &event;
        return;
    }
    wait(event);
    event.op->waited = true;
    std::vector<ovx_primpath_t> found;
    // Some of its prims may have gone before they are listed: then nobody can tell them.
    const bool is_known = !event.failed && client_.list(query, found, &event.until) == OVSTAGE_OK &&
                          found.size() == client_.count_of(query);
    if (!is_known) {
        event.until = 0;
        if (ovstage_release_query(client_.instance, query).status != OVSTAGE_OK)
            fail("release_query: ", last_error());
        return;
    }
    keep_found(slot, query);
    event.paths = found_paths_[slot] = found;
    found_last_ = found.size();
}

// What somebody else used already must be known, gone or not.
void ThreadBody::find_out(size_t slot)
{
    Event *filter = finding_[slot];
    if (!filter)
        return;
    finding_[slot] = nullptr;
    wait(*filter);
    filter->op->waited = true;
    if (!filter->failed) {
        filter->paths = client_.listed(found_[slot]);
        found_last_ = filter->paths.size();
    }
    const ovstage_op_id_t behind = next_id();
    filter->until = behind != 0 ? behind : UINT64_MAX;
}

// The list of a query, told by the group of a map that is left open: it is of all prims, whether
// they exist or not. Nothing else names the attribute.
std::vector<ovx_primpath_t> Client::listed(ovstage_query_handle_t query) const
{
    std::vector<ovx_primpath_t> list(count_of(query));
    if (list.empty())
        return list;
    ovstage_map_desc_t desc{};
    desc.attribute.string = literal_to_ovx_string("a probe");
    desc.dtype = {kDLUInt, 8, 1};
    ovstage_map_handle_t map = 0;
    ovstage_map_group_t group{};
    ovstage_enqueue_result_t result;
    do // others may have filled a short queue
        result = ovstage_map_attribute(instance, query, &desc, UINT64_MAX - 1, nullptr, 0, &map);
    while (result.status == OVSTAGE_ERROR_QUEUE_FULL &&
           flyrail_run(instance, 1, nullptr) == OVSTAGE_OK);
    size_t count = 0;
    if (result.status != OVSTAGE_OK ||
        ovstage_fetch_map_next(instance, map, OVSTAGE_TIMEOUT_INFINITE, &group) != OVSTAGE_OK ||
        path_dictionary_get_paths_from_path_list(dictionary, group.prims.list, 0, list.size(),
                                                 list.data(), &count)
            .status ||
        count != list.size())
        fail("the list of a query: ", result.status, " ", last_error());
    return list;
}

} // namespace model
