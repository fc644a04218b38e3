// Client memory of one write, in the layout and with the owner that the program asks for, and what
// becomes of it.
#ifndef FR_TESTS_MODEL_PAYLOADS_H
#define FR_TESTS_MODEL_PAYLOADS_H

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "tests/model/devices.h"
#include "tests/model/program.h"

namespace model
{

// How often the deleter of a managed tensor ran.
struct Fate {
    std::atomic<int> deleted{0};
};

// One tensor. Its memory is its own allocation, so that a read after the end is seen by a
// sanitizer.
class PayloadTensor
{
  public:
    // `rows` rows of `columns` elements, compact at `from`, to be laid out as the entry says.
    PayloadTensor(const EntryStep &entry, const uint8_t *from, int64_t rows, int64_t columns);
    PayloadTensor(const PayloadTensor &) = delete;
    PayloadTensor &operator=(const PayloadTensor &) = delete;

    // Its rows are there, too, and are written from there.
    void lie_on_device(Devices *devices, int device, fr_cu_device_ptr address);
    // Last, if it is not a client's.
    void manage(const EntryStep &entry);
    const std::vector<uint8_t> &rows() const
    {
        return rows_;
    }
    void scribble_arguments();
    // placing: of the write that is complete.
    void scribble_rows(const Placing &placing);
    DLTensor &tensor();

    const DLManagedTensorVersioned *managed = nullptr; // owned by the stage once passed
    std::shared_ptr<Fate> fate;                        // NULL for a client's tensor

  private:
    struct Managed;
    std::vector<uint8_t> rows_;
    std::vector<int64_t> shape_, strides_;
    DLTensor tensor_{};
    Managed *owned_ = nullptr;
    Devices *devices_ = nullptr; // of rows on a device
    Extent source_ = {};
    int tensor_device_ = 0;

    void lay_out(const EntryStep &entry, const uint8_t *from, int64_t rows, int64_t columns);
};

// What one entry passes.
class Payload
{
  public:
    explicit Payload(const EntryStep &entry, Devices *devices = nullptr);
    Payload(const Payload &) = delete;
    Payload &operator=(const Payload &) = delete;

    ovstage_write_data_t data();
    // What was passed by pointer, but for the rows, must have been copied by the call (D9).
    void scribble_arguments();
    // The op is complete: nobody may look at a client's rows any more.
    void scribble_rows(const Placing &placing);
    // Of managed tensors.
    std::vector<std::shared_ptr<Fate>> fates() const;

  private:
    const EntryStep &entry_;
    Devices *devices_;
    std::deque<PayloadTensor> parts_;
    std::vector<DLTensor> tensors_;
    std::vector<const DLManagedTensorVersioned *> pointers_;
    std::vector<uint32_t> map_;
    std::vector<uint64_t> mask_;

    void put_on_device();
    void spoil(ovstage_write_data_t &data);
    void spoil(DLTensor &tensor) const;
};

} // namespace model

#endif
