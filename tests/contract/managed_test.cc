// Managed tensors of writes: who deletes them, when, and which are adopted. R88, D9, D10.
#include "tests/support/write_fixtures.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

class ManagedTest : public PayloadFixture
{
};

TEST_F(ManagedTest, R88_managed_tensors_are_deleted_once_when_the_write_is_done)
{
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make(ramp(4), 1, 0, record);
    Payload payload(ramp(4), 4);
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &managed;
    EXPECT_EQ(round_trip(payload.data), (std::vector<Values>{{0}, {1}, {2}, {3}}));
    EXPECT_EQ(record->deleted, 1);
}

TEST_F(ManagedTest, R88_managed_tensors_are_deleted_once_on_every_rejection)
{
    struct Case {
        const char *what;
        void (*bend)(ovstage_write_data_t &data, DLManagedTensorVersioned &managed);
        ovstage_api_status_t status;
    };
    const Case cases[] = {
        {"count", [](ovstage_write_data_t &data, DLManagedTensorVersioned &) { data.count = 5; },
         OVSTAGE_ERROR_INVALID_ARGUMENT},
        {"dtype",
         [](ovstage_write_data_t &, DLManagedTensorVersioned &managed) {
             managed.dl_tensor.dtype.bits = 4;
         },
         OVSTAGE_ERROR_NOT_SUPPORTED},
        {"version",
         [](ovstage_write_data_t &, DLManagedTensorVersioned &managed) {
             managed.version.major = 2;
         },
         OVSTAGE_ERROR_INVALID_ARGUMENT},
        {"shape",
         [](ovstage_write_data_t &, DLManagedTensorVersioned &managed) {
             managed.dl_tensor.shape[0] = 3;
         },
         OVSTAGE_ERROR_INVALID_ARGUMENT},
        {"semantic",
         [](ovstage_write_data_t &data, DLManagedTensorVersioned &) {
             data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
         },
         OVSTAGE_ERROR_INVALID_ARGUMENT},
    };
    for (const Case &one : cases) {
        SCOPED_TRACE(one.what);
        auto record = std::make_shared<Managed::Record>();
        DLManagedTensorVersioned *managed = Managed::make(ramp(4), 1, 0, record);
        const DLManagedTensorVersioned *pointer = managed;
        Payload payload(ramp(4), 4);
        payload.data.tensors = nullptr;
        payload.data.managed_tensors = &pointer;
        one.bend(payload.data, *managed);
        refuse(payload.data, one.status);
        EXPECT_EQ(record->deleted, 1);
    }
    // Refused before the payload is looked at.
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make(ramp(4), 1, 0, record);
    Payload payload(ramp(4), 4);
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &managed;
    refused(write(stage, query + 12345, attribute, 1, payload.data), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(record->deleted, 1);
}

TEST_F(ManagedTest, D10_a_managed_tensor_that_fits_is_adopted)
{
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed =
        Managed::make(ramp(12), 3, DLPACK_FLAG_BITMASK_IS_COPIED, record);
    const void *memory = managed->dl_tensor.data;
    Payload payload(ramp(12), 4, 3);
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &managed;
    stage.finish(write(stage, query, attribute, 1, payload.data));
    EXPECT_EQ(record->deleted, 0);
    stage.finish(stage.seal(1));
    {
        Snapshot snapshot(stage, query, {attribute}, 1);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        EXPECT_EQ(snapshot.groups[0].data.tensors[0].data, memory);
    }
    // Never written by the stage: a partial write goes elsewhere.
    Payload one({70, 71, 72}, 1, 3);
    one.data.count = 1;
    stage.finish(write(stage, query, attribute, 2, one.data));
    EXPECT_EQ(static_cast<const float *>(memory)[0], 0.0f);
    stage.destroy();
    EXPECT_EQ(record->deleted, 1);
}

TEST_F(ManagedTest, D10_adoption_is_for_instances_that_ask_or_copies)
{
    flyrail_config_t asks = config(1);
    asks.adopt_managed = true;
    for (bool adopting : {false, true}) {
        Stage one(adopting ? asks : config(1));
        auto record = std::make_shared<Managed::Record>();
        const DLManagedTensorVersioned *managed = Managed::make(ramp(4), 1, 0, record);
        Payload payload(ramp(4), 4);
        payload.data.tensors = nullptr;
        payload.data.managed_tensors = &managed;
        ovstage_query_handle_t four = one.query(4);
        one.finish(write(one, four, one.token("a"), 1, payload.data));
        EXPECT_EQ(record->deleted, adopting ? 0 : 1);
        one.destroy();
        EXPECT_EQ(record->deleted, 1);
    }
}

TEST_F(ManagedTest, D10_what_does_not_cover_all_is_copied)
{
    Payload payload(ramp(4), 4);
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed =
        Managed::make(ramp(4), 1, DLPACK_FLAG_BITMASK_IS_COPIED, record);
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &managed;
    uint32_t map[4] = {3, 2, 1, 0};
    payload.data.index_map = map;
    payload.data.count = 4;
    EXPECT_EQ(round_trip(payload.data), (std::vector<Values>{{3}, {2}, {1}, {0}}));
    EXPECT_EQ(record->deleted, 1);
}

TEST_F(ManagedTest, D9_the_queue_is_full_and_managed_tensors_go)
{
    flyrail_config_t small = config(1);
    small.pending_limit_bytes = 1024;
    Stage tight(small);
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make(ramp(1000), 1, 0, record);
    Payload payload(ramp(1), 1);
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &managed;
    std::string why = refused(write(tight, tight.query(1000), tight.token("a"), 1, payload.data),
                              OVSTAGE_ERROR_QUEUE_FULL);
    EXPECT_NE(why.find("4000"), std::string::npos) << why;
    EXPECT_NE(why.find("1024"), std::string::npos) << why;
    EXPECT_EQ(record->deleted, 1);
}

} // namespace
