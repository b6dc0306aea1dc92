// SPDX-License-Identifier: Apache-2.0
#include "baton/containers/array_aliaser.hpp"
#include "baton/os/hot_path.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "baton/containers/containers.hpp"

namespace baton::containers {

BATON_HOT bool ArrayAliaser::take(void* native, bool c, const std::byte* content, std::size_t count,
                                  std::size_t element_bytes) noexcept {
  const std::size_t bytes = count * element_bytes;
  if (bytes < worthwhile_) return false;
  void* const buffer = received_.alias(content, bytes, element_bytes);
  if (buffer == nullptr) return false;
  AnyArray(native, c, element_bytes).replace(buffer, count, count);
  aliased_bytes_ += bytes;
  return true;
}

}  // namespace baton::containers
