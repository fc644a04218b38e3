// Clones of prims whose columns lie on devices: the copies have what the host's columns would have.
#include "tests/placement/each_fails.h"
#include "tests/placement/rows_fixture.h"

namespace
{

constexpr uint32_t prims = 20;

std::vector<std::string> Below(const std::vector<std::string> &above,
                               const std::vector<uint32_t> &numbers)
{
    std::vector<std::string> paths;
    for (const std::string &path : above)
        for (uint32_t number : numbers)
            paths.push_back(path + "/" + std::to_string(number));
    return paths;
}

std::vector<uint32_t> All()
{
    std::vector<uint32_t> numbers;
    for (uint32_t k = 0; k < prims; k++)
        numbers.push_back(k);
    return numbers;
}

class Clones : public RowsTest
{
  protected:
    static ovstage_enqueue_result_t Clone(const client::Stage &stage, uint64_t ordinal,
                                          const std::vector<std::string> &to,
                                          const std::string &from = "/P")
    {
        std::vector<ovx_string_t> targets;
        for (const std::string &path : to)
            targets.push_back(client::text(path));
        return ovstage_clone(stage.instance, client::text(from), targets.data(), targets.size(),
                             ordinal);
    }

    // The prim above all others.
    static void MakeRoot(const client::Stage &stage)
    {
        std::vector<float> values = {1};
        stage.finish(stage.write(stage.query(std::vector<std::string>{"/P"}), stage.token("root"),
                                 1, values));
    }

    // The same rows to the device by a stream that is named, and to the host.
    void WriteBothBy(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal,
                     const Rows &rows, fr_cu_stream producer)
    {
        Rows host = rows;
        host.plain = true;
        host.name = OnHost(stage);
        stage.finish(WriteOnDevice(stage, query, ordinal, host, nullptr));
        stage.finish(WriteOnDevice(stage, query, ordinal, rows, producer));
    }
};

TEST_P(Clones, HaveWhatTheHostsHave)
{
    read_on = {0, 1};
    for (int32_t place : {0, 1}) {
        client::Stage stage(Keeping(place ? 0u : 2u));
        MakeRoot(stage);
        Rows first = {{prims, 3}, {}, 1000};
        first.source = first.place = place;
        WriteBoth(stage, stage.query(prims), 1, first);
        stage.finish(stage.seal(1));
        // Rows of several payloads: sealed, of an older ordinal, and of its own.
        Rows some = {{3, 3}, {}, 2000}, few = {{2, 3}, {}, 3000};
        some.source = some.place = few.source = few.place = place;
        WriteBoth(stage, stage.query(Paths({17, 2, 11})), 2, some);
        WriteBoth(stage, stage.query(Paths({4, 11})), 3, few);
        stage.finish(Clone(stage, 3, {"/Q", "/R"}));
        ovstage_query_handle_t copies = stage.query(Below({"/R", "/Q"}, All()));
        // One is written again where it was made.
        few.first = 4000;
        WriteBoth(stage, stage.query(Below({"/R"}, {3, 7})), 3, few);
        stage.finish(stage.seal(2));
        stage.finish(stage.seal(3));
        for (uint64_t at = 1; at <= 3; at++) {
            ExpectSameAt(stage, copies, at);
            ExpectSameAt(stage, stage.query(prims), at);
        }
        // A part, and of a copy.
        stage.finish(Clone(stage, 4, {"/Q/3/S"}, "/R/4"));
        stage.finish(stage.seal(4));
        ExpectSameAt(stage, stage.query(std::vector<std::string>{"/Q/3/S", "/R/4"}), 4);
        ExpectSame(stage, copies, {1, 4, true});
    }
}

// Some prims have the column, some not; and a key that was deleted.
TEST_P(Clones, HaveWhatIsThereAlone)
{
    client::Stage stage(Keeping(1));
    MakeRoot(stage);
    std::vector<float> other(prims, 7);
    stage.finish(stage.write(stage.query(prims), stage.token("other"), 1, other));
    WriteBoth(stage, stage.query(Paths({8, 3, 15, 4})), 1, {{4}, {}, 100});
    stage.finish(stage.seal(1));
    for (const char *name : {"device", "host"}) {
        ovx_string_or_token_t attribute = {stage.token(name), {}};
        stage.finish(
            ovstage_delete_attributes(stage.instance, stage.query(Paths({15})), &attribute, 1, 2));
    }
    stage.finish(Clone(stage, 2, {"/Q", "/R"}));
    stage.finish(stage.seal(2));
    ExpectSameAt(stage, stage.query(Below({"/P", "/Q", "/R"}, All())), 2);
    // Prims that are made once more, where rows of theirs were.
    std::vector<std::string> paths = Below({"/Q"}, All());
    paths.push_back("/Q");
    ovstage_query_handle_t copy = stage.query(paths);
    stage.finish(ovstage_delete_attributes(stage.instance, copy, nullptr, 0, 3));
    stage.finish(Clone(stage, 3, {"/Q"}));
    stage.finish(stage.seal(3));
    for (uint64_t at = 1; at <= 3; at++)
        ExpectSameAt(stage, stage.query(Below({"/P", "/Q", "/R"}, All())), at);
}

// It is done when its work is submitted; who reads the copies waits for the source's producer, and
// who writes the source again in place, by another stream, for the clone.
TEST_P(Clones, ComeBetweenTheWritesOfTheirSource)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(Keeping(workers));
        MakeRoot(stage);
        ovstage_query_handle_t query = stage.query(prims);
        WriteBoth(stage, query, 1, {{prims}, {}, 100});
        stage.finish(stage.seal(1));
        fr_cu_stream producer = Stream("held producer"), own = Stream("writer"),
                     next = Stream("next writer");
        fr_sim_hold(producer, true);
        Rows late = {{prims}, {}, 200}, again = {{3}, {}, 300};
        late.stream = own;
        again.stream = next;
        WriteBothBy(stage, query, 2, late, producer);
        stage.finish(Clone(stage, 2, {"/Q", "/R"}));
        WriteBothBy(stage, stage.query(Paths({5, 1, 2})), 2, again, Stream("producer"));
        // Others go on.
        WriteBoth(stage, query, 7, {{prims}, {}, 700});
        fr_sim_hold(producer, false);
        stage.finish(stage.seal(2));
        ExpectSameAt(stage, stage.query(Below({"/Q", "/P", "/R"}, All())), 2);
        stage.finish(stage.seal(7));
        ExpectSameAt(stage, stage.query(Below({"/Q", "/P", "/R"}, All())), 7);
    }
}

// What was put together for the copies is nobody else's memory before they have it.
TEST_P(Clones, HoldWhatTheyPutTogether)
{
    client::Stage stage(Keeping(0));
    MakeRoot(stage);
    ovstage_query_handle_t query = stage.query(prims);
    WriteBoth(stage, query, 1, {{prims}, {}, 100});
    stage.finish(stage.seal(1));
    fr_cu_stream producer = Stream("producer");
    Rows next = {{prims}, {}, 500};
    next.memory = Source(next, producer);
    FR_SIM_OK(cu->cuStreamSynchronize(producer));
    for (uint64_t k = 2; k < 12; k++) {
        stage.finish(Clone(stage, k, {"/Q" + std::to_string(k)}));
        for (uint64_t n = 0; n < 4; n++) { // each takes memory as soon as some is free
            next.name = stage.token("other" + std::to_string(4 * k + n));
            stage.finish(WriteOnDevice(stage, query, 100 + n, next, producer));
        }
        stage.finish(stage.seal(k));
        ExpectSameAt(stage, stage.query(Below({"/Q" + std::to_string(k)}, All())), k);
    }
}

// Behind as many stalled ordinals as there may be it parks, and holds up nobody; a session that
// ends drops it.
TEST_P(Clones, ParkForAStream)
{
    for (bool ends : {false, true}) {
        client::Stage stage(Keeping(ends ? 1u : 0u));
        MakeRoot(stage);
        ovstage_query_handle_t query = stage.query(prims);
        WriteBoth(stage, query, 1, {{prims}, {}, 100});
        stage.finish(stage.seal(1));
        fr_cu_stream producer = Stream("held producer");
        fr_sim_hold(producer, true);
        for (uint64_t k = 0; k < 32; k++)
            WriteBothBy(stage, query, 2 + k, {{prims}, {}, 1000.0f * static_cast<float>(k)},
                        producer);
        ovstage_enqueue_result_t clone = Clone(stage, 40, {"/Q"});
        for (uint32_t look = 0; look < 4; look++)
            EXPECT_FALSE(IsDone(stage, clone));
        char text[512] = "";
        EXPECT_EQ(flyrail_explain(stage.instance, clone.op_index, text, sizeof(text), nullptr),
                  OVSTAGE_OK);
        EXPECT_TRUE(ends || std::string(text).find("a stream of a device") != std::string::npos)
            << text; // a worker may be about to look
        std::vector<float> other(prims, 7);
        stage.finish(stage.write(query, stage.token("other"), 41, other));
        fr_sim_hold(producer, false);
        if (ends)
            continue;
        stage.finish(clone);
        stage.finish(stage.seal(40));
        ExpectSameAt(stage, stage.query(Below({"/Q", "/P"}, All())), 40);
    }
}

// Copies of new keys, beside them and beside others.
TEST_P(Clones, OfNewKeysBesideOthers)
{
    client::Stage stage(Keeping(1));
    MakeRoot(stage);
    WriteBoth(stage, stage.query(prims), 1, {{prims}, {}, 100});
    stage.finish(Clone(stage, 1, {"/Q"}));
    WriteBoth(stage, stage.query(Below({"/R", "/Q"}, {4, 2})), 1, {{4}, {}, 200});
    stage.finish(Clone(stage, 2, {"/S", "/R/S"}, "/Q"));
    stage.finish(Clone(stage, 1, {"/T"}, "/Q/4"));
    stage.finish(stage.seal(1));
    stage.finish(stage.seal(2));
    ovstage_query_handle_t all = stage.query(Below({"/R/S", "/Q", "/S", "/P", "/R"}, All())),
                           one = stage.query(std::vector<std::string>{"/T", "/Q/4"});
    for (uint64_t at : {1u, 2u}) {
        ExpectSameAt(stage, all, at);
        ExpectSameAt(stage, one, at);
    }
}

PLACEMENT_ORDERS(Clones);

// Each driver call of a clone fails once, and each allocation: it is there, or nothing of it is,
// and then another one is made.
class CloneFaults : public Clones
{
  protected:
    void Prepare(const client::Stage &stage)
    {
        MakeRoot(stage);
        WriteBoth(stage, stage.query(prims), 1, {{prims}, {}, 100});
        stage.finish(stage.seal(1));
        WriteBoth(stage, stage.query(Paths({5, 1, 2})), 2, {{3}, {}, 200});
        (void)stage.query(Below({"/Q", "/P"}, All()));
    }

    bool Copy(const client::Stage &stage)
    {
        made_ = Succeeds(stage, Clone(stage, 2, {"/Q"}));
        failed_ += !made_;
        return made_;
    }

    void Check(const client::Stage &stage)
    {
        if (!made_)
            stage.finish(Clone(stage, 2, {"/Q"}));
        stage.finish(stage.seal(2));
        ExpectSameAt(stage, stage.query(Below({"/Q", "/P"}, All())), 2);
    }

    uint32_t failed_ = 0;

  private:
    bool made_ = false;
};

TEST_P(CloneFaults, EachCallFailsOnce)
{
    EachCallFails(
        1, 1, [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Copy(stage); },
        [&](const client::Stage &stage) { Check(stage); });
    EXPECT_GT(failed_, 5u);
}

TEST_P(CloneFaults, EachAllocationFailsOnce)
{
    EachAllocationFails(
        1, 1, [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Copy(stage); },
        [&](const client::Stage &stage) { Check(stage); });
    EXPECT_GT(failed_, 5u);
}

INSTANTIATE_TEST_SUITE_P(Orders, CloneFaults, ::testing::Values(Orders()[0]), OrderName);

} // namespace
