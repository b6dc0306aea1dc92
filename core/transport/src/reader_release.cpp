// SPDX-License-Identifier: Apache-2.0
// The end of a sample, which may make its subscription able to take again.
#include "baton/os/crash_point.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/trace.hpp"
#include "connection.hpp"
#include "reader.hpp"

namespace baton::transport {

void TakenSample::release() noexcept {
  if (header_ == nullptr) return;
  header_ = nullptr;
  ReaderConnection& connection = *connection_;
  // In a forked child the sample is the parent's, and the connection segment is not mapped.
  if (connection.generation != os::fork_generation()) return;
  BATON_TRACE2(release, sequence_, size_bytes_);
  BATON_CRASH_POINT("release.before_store");
  connection.channel->releases().release(token_);
  BATON_CRASH_POINT("release.after_store");
  // release: pairs with the acquire in Reader::Impl::drop_retired; our reads are over before the segment is unmapped.
  segment_->held.fetch_sub(1, std::memory_order_release);
  // release: pairs with the acquire in take() and readable(). A thread that sees the free place has the token's store
  // before its next take, so the publisher never counts one sample too many (tests/model, "held limit").
  const std::uint32_t held = connection.outstanding.fetch_sub(1, std::memory_order_release);
  if (held == connection.limit.load(std::memory_order_relaxed)) {
    // It was full: a waiter that ignored this connection must check again.
    out_of_line([&] {
      if (const std::shared_ptr<Reader::Impl> owner = connection.owner.lock()) owner->look_again();
    });
  }
  // relaxed: a message of an orphan was taken with the reader's mutex, under which the state was set before.
  if (unlikely(held == 1 && connection.state.load(std::memory_order_relaxed) == ReaderConnection::State::kOrphaned)) {
    out_of_line([&] {
      if (const std::shared_ptr<Reader::Impl> owner = connection.owner.lock()) owner->drop_useless_later(connection);
    });
  }
  connection.drop_reference();
}

}  // namespace baton::transport
