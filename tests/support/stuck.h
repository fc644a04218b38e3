// A write that does not end before it is let go.
#ifndef FR_TESTS_SUPPORT_STUCK_H
#define FR_TESTS_SUPPORT_STUCK_H

#include <condition_variable>
#include <mutex>

#include "tests/support/columns.h"

namespace client
{

// A managed tensor whose deleter waits: it holds up its own lane, and only seals that cover its
// attribute.
class Stuck
{
  public:
    explicit Stuck(const std::vector<float> &values)
        : payload(values, static_cast<int64_t>(values.size()))
    {
        std::memset(&managed, 0, sizeof(managed));
        managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        managed.manager_ctx = this;
        managed.dl_tensor = payload.tensor;
        managed.deleter = [](DLManagedTensorVersioned *self) {
            auto *stuck = static_cast<Stuck *>(self->manager_ctx);
            std::unique_lock<std::mutex> lock(stuck->mutex);
            stuck->changed.wait(lock, [stuck] { return stuck->open; });
        };
        payload.data.tensors = nullptr;
        payload.data.managed_tensors = &pointer;
    }
    void let_go()
    {
        std::lock_guard<std::mutex> lock(mutex);
        open = true;
        changed.notify_all();
    }
    Payload payload;

  private:
    DLManagedTensorVersioned managed;
    const DLManagedTensorVersioned *pointer = &managed;
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
};

} // namespace client

#endif
