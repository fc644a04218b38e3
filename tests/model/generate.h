#ifndef FR_TESTS_MODEL_GENERATE_H
#define FR_TESTS_MODEL_GENERATE_H

#include <random>
#include <string>
#include <vector>

#include "tests/model/program.h"

namespace model
{

// Writes a program. generate.cc: its steps; generate_spawned.cc: of prims that are made one by one,
// or cloned; generate_found.cc: what is done with queries of filters; generate_data.cc: schemas,
// rows, values; generate_placed.cc: programs with values on devices.
class Generator
{
  public:
    explicit Generator(uint64_t seed) : random_(seed)
    {
        program_.seed = seed;
    }
    Program make();
    Program make_placed();

  private:
    static constexpr uint32_t schema_count = 27, fixed_schemas = 15;
    static constexpr int matrices = 4, flags = 10, one_token = 3; // by number
    static constexpr int relations = 17, connections = 20, tokens = 21, assets = 22,
                         expressions = 23;
    static const Schema schemas[schema_count];

    std::mt19937_64 random_;
    Program program_;
    Ordinal now_ = 1;            // ordinals are taken around it
    std::vector<int> schema_of_; // usual schema of each attribute
    int favourite_ = -1;         // a name
    bool single_schema_ = false, deletes_ = false, maps_ = false, structure_ = false;
    bool snapshots_ = false, extended_ = false, small_values_ = false, discards_ = false;
    bool stalls_ = false; // nobody waits for a device, so that streams may stall for long
    bool computes_ = false, reserved_ = false, finds_ = false;

    uint32_t below(uint32_t limit)
    {
        return static_cast<uint32_t>(random_() % limit);
    }
    bool chance(uint32_t percent)
    {
        return below(100) < percent;
    }
    // Mostly one of them, where one column is to see much; those of transforms where they are
    // composed.
    int some_name()
    {
        if (favourite_ >= 0 && chance(80))
            return favourite_;
        if (reserved_ && chance(30))
            return type_name + static_cast<int>(below(2));
        if (computes_ && chance(70))
            return local_name + static_cast<int>(below(4));
        return static_cast<int>(below(plain_name_count));
    }
    int some_computed_name()
    {
        return path_name + static_cast<int>(below(chance(5) ? 4 : 3));
    }
    // Now and then one that is computed, so many of a hundred.
    int any_name(uint32_t percent)
    {
        return reserved_ && chance(percent) ? some_computed_name() : some_name();
    }
    Ordinal some_ordinal();
    void choose_schemas();
    Schema some_schema(int attribute);
    void add_query();
    EntryStep entry(int name, size_t query_count);
    void fill(EntryStep &entry);
    void spoil(EntryStep &entry, size_t query_count);
    Settings settings();
    Step write();
    void extend(Step &step);
    Step remove();
    Step discard();
    Step snapshot();
    uint64_t small_value(const Schema &schema);
    Wanted wanted(const Schema &schema);
    Predicate predicate();
    Predicate computed_predicate();
    Step map();
    Step session();
    Step structure();
    Step compute();
    Step plain_write(int name, uint32_t mask, int query = 0);
    int some_query();
    Step advance();
    Step read();
    Step task();
    Step other();
    Step settle();
    Step some_step();
    void make_steady(uint32_t rounds);
    Step spawned_write(uint32_t query);
    void seal_now();
    Step old_read();
    void make_spawned();
    Step clone();
    Step find_copies(int name);
    void make_copies(uint32_t rounds);
    Step filter();
    Step later_filter();
    Step found_write(int slot);
    Step found_map(int slot);
    Step found_use(int slot);
    void make_found();
    void make_frames(uint32_t frames);
    void choose_homes();
    Placing placing(int device);
    Origin origin(int device);
    bool names_device(const std::vector<int> &some) const;
    int some_device(int home);
    void put_on_devices(std::vector<EntryStep> &entries, uint32_t percent);
    void put_session_on_device(Step &step);
    bool place(Step &step);
    void add_placed(Step (Generator::*one)());
    void make_first_rows();
    void make_new_keys();
    void make_placed_frames(uint32_t frames);
    Step stall();
    bool add_stalled_write(int name);
    bool add_stalled_session(int name);
    void make_stalled_frame();
    void add_query_of_all();
};

} // namespace model

#endif
