#include "tests/model/shrink.h"

#include <algorithm>
#include <utility>

namespace model
{

namespace
{

template <typename Item> void cut(std::vector<Item> &items, size_t from, size_t to)
{
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(from),
                items.begin() + static_cast<std::ptrdiff_t>(to));
}

void cut_row(EntryStep &entry, uint32_t row)
{
    const std::vector<size_t> starts = entry.row_starts();
    cut(entry.payload, starts[row], starts[row + 1]);
    if (!entry.lengths.empty())
        cut(entry.lengths, row, row + 1);
    entry.rows--;
    entry.packed |= entry.schema.is_array && entry.rows < 2;
}

// An entry of a query that loses a position. False: nothing is left of it.
bool cut_element(EntryStep &entry, uint32_t query_count, uint32_t position)
{
    const uint32_t count = entry.count ? entry.count : query_count;
    if (position >= count)
        return true;
    if (entry.count == 1)
        return false;
    if (entry.has_map) {
        cut(entry.map, position, position + 1);
        const auto is_outside = [&](uint32_t row) { return row >= entry.rows; };
        if (entry.defect == Defect::map_out_of_range &&
            std::none_of(entry.map.begin(), entry.map.end(), is_outside))
            entry.defect = Defect::none;
    } else if (position < entry.rows) {
        cut_row(entry, position);
    }
    // A packed payload has the rows that its map names.
    if (entry.packed && entry.has_map && entry.defect != Defect::map_out_of_range)
        while (entry.rows > 1 + *std::max_element(entry.map.begin(), entry.map.end()))
            cut_row(entry, entry.rows - 1);
    for (uint32_t i = position; entry.has_mask && i + 1 < count; i++) {
        uint64_t next = entry.mask[(i + 1) / 64] >> ((i + 1) % 64) & 1;
        uint64_t &word = entry.mask[i / 64];
        word = (word & ~(uint64_t{1} << i % 64)) | next << i % 64;
    }
    if (entry.count)
        entry.count--;
    return true;
}

// A write of positions that loses one of them. False: nothing is left of it.
bool without_element(Step &step, uint32_t count, uint32_t element)
{
    cut(step.positions, element, element + 1);
    const auto gone = [&](EntryStep &entry) { return !cut_element(entry, count, element); };
    step.entries.erase(std::remove_if(step.entries.begin(), step.entries.end(), gone),
                       step.entries.end());
    return !step.entries.empty();
}

// The same, of those that are a position which its query loses; the later ones move up.
void lose_position(Step &step, uint32_t position)
{
    for (size_t k = step.positions.size(); k-- > 0;) {
        if (step.positions[k] == position && !step.entries.empty())
            without_element(step, static_cast<uint32_t>(step.positions.size()),
                            static_cast<uint32_t>(k));
        else if (step.positions[k] > position)
            step.positions[k]--;
    }
}

class Shrinker
{
  public:
    Shrinker(const Program &program, const Fails &fails, std::chrono::milliseconds time)
        : best_(program), fails_(fails), end_(std::chrono::steady_clock::now() + time)
    {
    }
    Program shrink();

  private:
    Program best_;
    const Fails &fails_;
    const std::chrono::steady_clock::time_point end_;
    bool better_ = false;

    bool keep_if_failing(const Program &part);
    template <typename Change> void change_step(size_t index, Change change);
    void cut_steps();
    void cut_entries(size_t index);
    void cut_positions();
    void cut_queries();
    void make_plain();
    void make_plain(size_t index);
};

bool Shrinker::keep_if_failing(const Program &part)
{
    if (std::chrono::steady_clock::now() > end_ || !fails_(part))
        return false;
    best_ = part;
    better_ = true;
    return true;
}

template <typename Change> void Shrinker::change_step(size_t index, Change change)
{
    Program part = best_;
    if (change(part.steps[index]))
        keep_if_failing(part);
}

void Shrinker::cut_steps()
{
    for (size_t piece = std::max<size_t>(best_.steps.size() / 2, 1); piece > 0; piece /= 2) {
        for (size_t from = 0; from < best_.steps.size();) {
            Program part = best_;
            cut(part.steps, from, std::min(from + piece, part.steps.size()));
            if (!keep_if_failing(part))
                from += piece;
        }
    }
}

void Shrinker::cut_entries(size_t index)
{
    for (size_t e = best_.steps[index].entries.size(); e-- > 0;)
        change_step(index, [e](Step &step) {
            cut(step.entries, e, e + 1);
            return !step.entries.empty();
        });
    for (size_t n = best_.steps[index].names.size(); n-- > 0;)
        change_step(index, [n](Step &step) {
            cut(step.names, n, n + 1);
            return !step.names.empty();
        });
    for (size_t p = best_.steps[index].predicates.size(); p-- > 0;)
        change_step(index, [p](Step &step) {
            cut(step.predicates, p, p + 1);
            return true;
        });
    for (size_t p = 0; p < best_.steps[index].predicates.size(); p++) {
        for (size_t v = best_.steps[index].predicates[p].values.size(); v-- > 0;)
            change_step(index, [p, v](Step &step) {
                cut(step.predicates[p].values, v, v + 1);
                return true;
            });
    }
    for (size_t k = best_.steps[index].positions.size(); k-- > 0;)
        change_step(index, [k](Step &step) {
            return without_element(step, static_cast<uint32_t>(step.positions.size()),
                                   static_cast<uint32_t>(k));
        });
    for (size_t d = best_.steps[index].deps.size(); d-- > 0;)
        change_step(index, [d](Step &step) {
            cut(step.deps, d, d + 1);
            return true;
        });
}

void Shrinker::cut_positions()
{
    for (size_t q = 0; q < best_.queries.size(); q++) {
        for (size_t position = best_.queries[q].size(); position-- > 0;)
            keep_if_failing(without_position(best_, q, static_cast<uint32_t>(position)));
    }
    Program part = best_;
    part.prim_count = 1; // filters and clones name one
    for (const auto &query : part.queries) {
        for (int prim : query)
            part.prim_count = std::max(part.prim_count, prim + 1);
    }
    if (part.prim_count < best_.prim_count)
        keep_if_failing(part);
}

void Shrinker::cut_queries()
{
    for (int q = static_cast<int>(best_.queries.size()) - 1; q >= 0; q--) {
        const bool used =
            std::any_of(best_.steps.begin(), best_.steps.end(), [q](const Step &step) {
                return step.query == q &&
                       (step.what == Do::write || step.what == Do::remove || step.what == Do::map ||
                        step.what == Do::lookup || step.what == Do::read ||
                        step.what == Do::new_query || step.what == Do::read_snapshot);
            });
        if (used)
            continue;
        Program part = best_;
        cut(part.queries, static_cast<size_t>(q), static_cast<size_t>(q) + 1);
        for (Step &step : part.steps)
            step.query -= step.query > q ? 1 : 0;
        keep_if_failing(part);
    }
}

// One after the other, so that what stays special says what the failure needs.
void Shrinker::make_plain(size_t index)
{
    for (size_t e = 0; e < best_.steps[index].entries.size(); e++) {
        change_step(index, [e](Step &step) {
            Layout &layout = step.entries[e].layout;
            return std::exchange(layout, Layout::compact_lanes) != Layout::compact_lanes;
        });
        change_step(
            index, [e](Step &step) { return std::exchange(step.entries[e].offset_bytes, 0) != 0; });
        change_step(index, [e](Step &step) {
            return std::exchange(step.entries[e].owner, Owner::client) != Owner::client;
        });
        change_step(index, [e](Step &step) {
            return std::exchange(step.entries[e].device, kDLCPU) != kDLCPU;
        });
        change_step(index, [e](Step &step) {
            return std::exchange(step.entries[e].origin.awaits, Awaits::stream) != Awaits::stream;
        });
        change_step(index, [e](Step &step) {
            return std::exchange(step.entries[e].origin.on_device, false);
        });
        change_step(index,
                    [e](Step &step) { return std::exchange(step.entries[e].has_mask, false); });
        change_step(index, [e](Step &step) { return std::exchange(step.entries[e].fits, false); });
    }
    change_step(index, [](Step &step) {
        return std::exchange(step.mode, FLYRAIL_WRITE_UPSERT) != FLYRAIL_WRITE_UPSERT;
    });
    change_step(index, [](Step &step) { return std::exchange(step.finds_schema, false); });
    change_step(index, [](Step &step) {
        step.start = 0;
        return std::exchange(step.is_range, false);
    });
    change_step(index, [](Step &step) {
        return step.what == Do::read && std::exchange(step.placing.is_given, false);
    });
    change_step(index, [](Step &step) { return std::exchange(step.placing.stream, -1) >= 0; });
    change_step(index, [](Step &step) { return std::exchange(step.placing.event, -1) >= 0; });
    change_step(index, [](Step &step) { return std::exchange(step.hold, false); });
    change_step(index, [](Step &step) { return std::exchange(step.later, false); });
    change_step(index, [](Step &step) { return std::exchange(step.release_read_first, false); });
}

void Shrinker::make_plain()
{
    Program part = best_;
    part.settings = Settings();
    if (part.settings.text() != best_.settings.text())
        keep_if_failing(part);
    for (size_t s = 0; s < best_.steps.size(); s++)
        make_plain(s);
}

// What one kind of cut leaves may let another kind go on.
Program Shrinker::shrink()
{
    do {
        better_ = false;
        cut_steps();
        for (size_t s = 0; s < best_.steps.size(); s++)
            cut_entries(s);
        cut_queries();
        cut_positions();
        make_plain();
    } while (better_ && std::chrono::steady_clock::now() < end_);
    return best_;
}

} // namespace

Program without_position(const Program &program, size_t query, uint32_t position)
{
    Program part = program;
    const auto query_count = static_cast<uint32_t>(part.queries[query].size());
    cut(part.queries[query], position, position + 1);
    for (Step &step : part.steps) {
        if (static_cast<size_t>(step.query) != query)
            continue;
        if (step.what == Do::map && !step.entries[0].lengths.empty())
            cut(step.entries[0].lengths, position, position + 1);
        if (step.what != Do::write)
            continue;
        if (step.by_rows) {
            lose_position(step, position);
            continue;
        }
        auto gone = [&](EntryStep &entry) { return !cut_element(entry, query_count, position); };
        step.entries.erase(std::remove_if(step.entries.begin(), step.entries.end(), gone),
                           step.entries.end());
    }
    part.steps.erase(std::remove_if(part.steps.begin(), part.steps.end(),
                                    [](const Step &step) {
                                        return step.what == Do::write && step.entries.empty();
                                    }),
                     part.steps.end());
    return part;
}

Program shrink(const Program &program, const Fails &fails, std::chrono::milliseconds time)
{
    return Shrinker(program, fails, time).shrink();
}

} // namespace model
