// SPDX-License-Identifier: Apache-2.0
#include "baton/node/publisher.hpp"

namespace baton::detail {

[[gnu::hot]] Result<std::uint64_t> PublisherCore::publish(const memory::Chunk& chunk,
                                                          const transport::PublishInfo& info) {
  Result<std::uint64_t> sequence = writer_->publish(chunk, info);
  if (sequence.ok()) published_.fetch_add(1, std::memory_order_relaxed);  // a statistic: orders nothing
  return sequence;
}

}  // namespace baton::detail
