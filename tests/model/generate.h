#ifndef FR_TESTS_MODEL_GENERATE_H
#define FR_TESTS_MODEL_GENERATE_H

#include <random>
#include <string>
#include <vector>

#include "tests/model/program.h"

namespace model
{

// Writes a program. generate.cc: its steps; generate_spawned.cc: of prims that are made one by one;
// generate_data.cc: schemas, rows, values.
class Generator
{
  public:
    explicit Generator(uint64_t seed) : random_(seed)
    {
        program_.seed = seed;
    }
    Program make();

  private:
    static constexpr uint32_t schema_count = 27, fixed_schemas = 15;
    static constexpr int matrices = 4, flags = 10; // by number
    static constexpr int relations = 17, connections = 20, expressions = 23;
    static const Schema schemas[schema_count];

    std::mt19937_64 random_;
    Program program_;
    Ordinal now_ = 1;            // ordinals are taken around it
    std::vector<int> schema_of_; // usual schema of each attribute
    int favourite_ = -1;         // a name
    bool single_schema_ = false, deletes_ = false, maps_ = false, structure_ = false;
    bool snapshots_ = false, extended_ = false, small_values_ = false, discards_ = false;
    bool computes_ = false;

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
        if (computes_ && chance(70))
            return name_count - 1 - static_cast<int>(below(4));
        return static_cast<int>(below(plain_name_count));
    }
    Ordinal some_ordinal();
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
    Step map();
    Step session();
    Step structure();
    Step compute();
    Step plain_write(int name, uint32_t mask);
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
    void make_frames(uint32_t frames);
    void add_query_of_all();
};

} // namespace model

#endif
