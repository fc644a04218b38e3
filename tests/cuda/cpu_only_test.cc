// A stage that is used for the CPU only has nothing to do with a driver, though there is one.
#include "tests/cuda/backend_fixture.h"
#include "tests/support/client.h"

namespace
{

TEST(CpuOnly, AStageCallsNoDriver)
{
    fr_sim_options options = fr_sim_default_options();
    fr_sim_open(&options);
    ASSERT_TRUE(fr_cuda_use_driver(fr_sim_driver()));
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("a");
        const std::vector<float> values = {1, 2, 3};
        stage.finish(stage.write(query, attribute, 1, values));
        stage.finish(stage.seal(1));
        EXPECT_EQ(stage.read(query, attribute, 1), values);
        stage.finish(ovstage_release_query(stage.instance, query));
    }
    EXPECT_EQ(fr_sim_calls(nullptr), 0u);
    fr_sim_close();
    EXPECT_TRUE(fr_cuda_use_driver(nullptr));
}

} // namespace
