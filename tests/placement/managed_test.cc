// When a managed tensor is let go of, and by whom.
#include <future>

#include "tests/placement/placement_fixture.h"

namespace
{

class ManagedTensors : public PlacementTest
{
};

int deletions;

void CountDeletion(DLManagedTensorVersioned *)
{
    deletions++;
}

// A managed tensor is let go of when the device has read it, and once.
TEST_P(ManagedTensors, AManagedTensorStaysUntilItWasRead)
{
    deletions = 0;
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream producer = Stream("producer"), writer = Stream("writer");
    fr_cu_event written = Event();
    fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
    ManagedSource source(memory, CountDeletion, Handle(producer));
    ovstage_placement_t placement = Place(writer, written);
    fr_sim_hold(producer, true);
    Produce(producer, memory, 3, 1);
    stage.finish(ovstage_write_attribute_on_device(
        stage.instance, query, ovx_string_or_token_t{stage.token("values"), {}}, 1, source.data,
        OVSTAGE_PRIM_MODE_UPSERT, &placement));
    EXPECT_EQ(deletions, 0) << "nothing was read yet";
    fr_sim_hold(producer, false);
    stage.destroy();
    EXPECT_EQ(deletions, 1);
    // A call that is refused lets go of it, too.
    client::Stage other(0);
    placement.stream = 2;
    ovstage_query_handle_t few = other.query(3);
    EXPECT_EQ(ovstage_write_attribute_on_device(other.instance, few,
                                                ovx_string_or_token_t{other.token("values"), {}}, 1,
                                                source.data, OVSTAGE_PRIM_MODE_UPSERT, &placement)
                  .status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(deletions, 2);
}

// Complete without an event is complete: the tensor is the client's again, whoever is busy.
TEST_P(ManagedTensors, WithoutAnEventAManagedTensorIsGoneAfterTheWait)
{
    for (uint32_t workers : {0u, 1u, 2u}) {
        for (bool is_placed : {true, false}) {
            deletions = 0;
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            ovx_string_or_token_t name = {stage.token("values"), {}};
            fr_cu_stream producer = Stream("producer");
            fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
            ManagedSource source(memory, CountDeletion, Handle(producer));
            ovstage_placement_t placement = Place(nullptr, nullptr);
            client::Gate gates[2];
            std::vector<ovstage_enqueue_result_t> held;
            for (uint32_t k = 0; k < workers; k++) {
                held.push_back(gates[k].submit(stage, k + 2));
                gates[k].wait_entered();
            }
            fr_sim_hold(producer, true);
            Produce(producer, memory, 3, 1);
            ovstage_enqueue_result_t write = ovstage_write_attribute_on_device(
                stage.instance, query, name, 1, source.data, OVSTAGE_PRIM_MODE_UPSERT,
                is_placed ? &placement : nullptr);
            ovstage_op_wait_result_t outcome = {};
            for (int k = 0; k < 100; k++) {
                EXPECT_EQ(ovstage_wait_op(stage.instance, write.op_index, 0, &outcome),
                          OVSTAGE_ERROR_TIMEOUT);
            }
            EXPECT_EQ(deletions, 0) << "nothing was read yet";
            fr_sim_hold(producer, false);
            stage.finish(write);
            EXPECT_EQ(deletions, 1);
            for (client::Gate &gate : gates)
                gate.let_go();
            for (const ovstage_enqueue_result_t &op : held)
                stage.finish(op);
        }
    }
    // What has not run when the instance ends is let go of then.
    client::Stage stage(0);
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
    ManagedSource source(memory, CountDeletion, Handle(producer));
    fr_sim_hold(producer, true);
    Produce(producer, memory, 3, 1);
    deletions = 0;
    ASSERT_EQ(ovstage_write_attribute(stage.instance, stage.query(3), {stage.token("values"), {}},
                                      1, source.data, OVSTAGE_PRIM_MODE_UPSERT)
                  .status,
              OVSTAGE_OK);
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    EXPECT_EQ(deletions, 0);
    fr_sim_hold(producer, false);
    stage.destroy();
    EXPECT_EQ(deletions, 1);
}

// Without workers a deleter is due to whoever waits next, or runs ops.
TEST_P(ManagedTensors, ADeleterIsRunByWhoComesNext)
{
    const std::vector<float> values = {1, 2, 3};
    for (bool waits : {false, true}) {
        deletions = 0;
        client::Stage stage(0);
        ovstage_query_handle_t query = stage.query(3);
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
        ManagedSource source(memory, CountDeletion, Handle(producer));
        ovstage_placement_t placement = Place(nullptr, Event());
        fr_sim_hold(producer, true);
        Produce(producer, memory, 3, 1);
        stage.finish(ovstage_write_attribute_on_device(
            stage.instance, query, ovx_string_or_token_t{stage.token("values"), {}}, 1, source.data,
            OVSTAGE_PRIM_MODE_UPSERT, &placement));
        fr_sim_hold(producer, false);
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(deletions, 0);
        // The simulator may say a few times that it is not done yet.
        for (int k = 0; k < 100 && deletions == 0; k++) {
            if (waits)
                stage.finish(stage.write(query, stage.token("host"), 2, values));
            else
                EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
        }
        EXPECT_EQ(deletions, 1);
    }
}

struct InATask {
    client::Stage *device, *host;
    fr_cu_stream producer;
    ovstage_enqueue_result_t next, host_write;
    int deletions_when_host_is_gone;
    std::promise<void> is_over;
};

ovstage_api_status_t DestroyInATask(const flyrail_task_context_t *, void *user)
{
    auto *it = static_cast<InATask *>(user);
    fr_sim_hold(it->producer, false);
    if (it->host) { // a wait looks; what follows from it lies with this worker
        it->device->finish(it->next);
        it->host->finish(it->host_write);
        it->host->destroy();
        it->deletions_when_host_is_gone = deletions;
    }
    it->device->destroy();
    it->is_over.set_value();
    return OVSTAGE_OK;
}

// The only worker is busy with the task that destroys; and who takes tokens back from it, for
// another instance, does not run what these are for.
TEST_P(ManagedTensors, DestroyInATaskOfTheOnlyWorker)
{
    for (bool waits : {false, true}) {
        deletions = 0;
        flyrail_config_t config = client::config(1);
        config.own_pool = false;
        const std::vector<float> values = {1, 2, 3}; // until no instance reads them
        client::Stage busy(config), host(config), device(config);
        ovstage_query_handle_t query = device.query(3);
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
        ManagedSource source(memory, CountDeletion, Handle(producer));
        ovstage_placement_t placement = Place(nullptr, Event()), none = Place(nullptr, nullptr);
        fr_sim_hold(producer, true);
        Produce(producer, memory, 3, 1);
        InATask it = {&device, waits ? &host : nullptr, producer, {}, {}, 0, {}};
        device.finish(ovstage_write_attribute_on_device(
            device.instance, query, ovx_string_or_token_t{device.token("values"), {}}, 1,
            source.data, OVSTAGE_PRIM_MODE_UPSERT, &placement));
        if (waits) // behind it in the stream
            it.next = Write(device, query, device.token("values"), 1, memory, 3, {}, &none);
        client::Gate gate;
        ovstage_enqueue_result_t held = gate.submit(busy, 1);
        gate.wait_entered();
        ovstage_enqueue_result_t task = client::task(busy, 1, DestroyInATask, &it);
        it.host_write = host.write(host.query(3), host.token("values"), 1, values);
        gate.let_go();
        it.is_over.get_future().wait(); // the worker's: a wait for the op might run it here
        busy.finish(held);
        busy.finish(task);
        EXPECT_EQ(deletions, 1);
        EXPECT_EQ(it.deletions_when_host_is_gone, 0);
    }
}

PLACEMENT_ORDERS(ManagedTensors);

} // namespace
