// SPDX-License-Identifier: Apache-2.0
#include "baton/native/native_take.hpp"
#include "baton/os/hot_path.hpp"

#include "baton/containers/array_aliaser.hpp"
#include "baton/containers/containers.hpp"
#include "baton/containers/heap.hpp"
#include "baton/memory/window.hpp"

namespace baton::containers {
namespace {

class AliasOrCopy final : public rosidl::ArrayTaker {
 public:
  explicit AliasOrCopy(ArrayAliaser* aliaser) noexcept : aliaser_(aliaser) {}
  BATON_HOT bool take(void* native, bool c, const std::byte* content, std::size_t count,
                      std::size_t element_bytes) override {
    if (aliaser_ != nullptr && aliaser_->take(native, c, content, count, element_bytes)) return true;
    // Copying into the remains of an earlier message would keep that message.
    AnyArray any(native, c, element_bytes);
    if (memory::in_window(any.begin())) any.replace(nullptr, 0, 0);
    return copier_.take(native, c, content, count, element_bytes);
  }
  std::uint64_t copied_bytes() const noexcept { return copier_.copied_bytes(); }

 private:
  ArrayAliaser* aliaser_;
  rosidl::ArrayCopier copier_;
};

}  // namespace

BATON_HOT Result<NativeTaken> take_into_native(const rosidl::NativePlan& plan, transport::TakenSample sample,
                                               void* native, const Quota& quota, std::size_t worthwhile_bytes) {
  if (sample.size_bytes() >= worthwhile_bytes && active()) {
    if (Result<Received> received = Received::begin(sample, quota)) {
      ArrayAliaser aliaser(*received, worthwhile_bytes);
      AliasOrCopy arrays(&aliaser);
      if (Result<void> read = plan.read({received->message(), received->size_bytes()}, native, arrays); !read)
        return read.error();
      return NativeTaken{aliaser.aliased_bytes(), arrays.copied_bytes()};
    }
  }
  AliasOrCopy arrays(nullptr);
  if (Result<void> read =
          plan.read({static_cast<const std::byte*>(sample.message()), sample.size_bytes()}, native, arrays);
      !read)
    return read.error();
  return NativeTaken{0, arrays.copied_bytes()};
}

}  // namespace baton::containers
