// SPDX-License-Identifier: Apache-2.0
// Messages that a reader loses, and publishers whose connection ends for them: counted, and reported now and then.
#include <algorithm>
#include <utility>

#include "baton/os/hot_path.hpp"
#include "baton/transport/whose.hpp"
#include "endpoint_context.hpp"
#include "reader.hpp"

namespace baton::transport {

/// A taken message that cannot be delivered: through the fault of its publisher, whose connection then ends, or for lack of room.
BATON_COLD void Reader::Impl::lose(ReaderConnection& connection, const memory::QueuedMessage& message, const Error& why,
                                   Result<TakenSample>* out) {
  if (why.code == Errc::protocol_violation) {
    *out = refuse(connection, why.code, why.message);
    return;
  }
  // Before it is given back: take() gives it back, too, if there is no memory for the text.
  *out = Error{why.code, "subscription to '" + options_.topic + "' lost a message: " + why.message};
  give_back(connection, message);
  const bool too_large = why.code == Errc::limit_reached || why.code == Errc::window_exhausted;
  ++(too_large ? losses_.limit : losses_.memory);
  notify(Event::kMessageLost);
}

/// Gives back a message that was just taken, without delivering it. The caller counts it.
void Reader::Impl::give_back(ReaderConnection& connection, const memory::QueuedMessage& message) noexcept {
  if (connection.channel->releases().valid(message.entry)) connection.channel->releases().release(message.entry);
}

/// A taken message whose publisher broke the protocol.
Error Reader::Impl::refuse(ReaderConnection& connection, Errc code, const std::string& what) noexcept {
  ++losses_.malformed;
  return expel(connection, code, what);
}

/// Ends the connection to a publisher that broke the protocol.
Error Reader::Impl::expel(ReaderConnection& connection, Errc code, const std::string& what,
                          std::uint64_t least) noexcept {
  try {
    const std::uint64_t unread = std::max(least, connection.channel ? connection.channel->queue().size() : 0);
    Error error{code, "subscription to '" + options_.topic + "' ended the connection to a publisher (process " +
                          std::to_string(context_->pid_of(connection.peer)) + "): " + what};
    context_->expel(connection.peer, gid_, connection.writer, error);
    add_losses(losses_.malformed, unread);
    notify(Event::kMessageLost);
    static_cast<void>(forget(connection));
    return error;
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void Reader::Impl::expel(const Gid& publisher, const std::string& what) noexcept {
  if (forked()) return;
  const os::Lock lock(mutex_);
  if (ReaderConnection* connection = find(publisher)) expel(*connection, Errc::malformed_message, what);
}

/// A message, or what is the program's: passes over lost messages, the first of which is `taken`. Errors are moved and not copied, since
/// there may be no memory.
BATON_COLD Result<TakenSample> Reader::Impl::take_after(Result<TakenSample>&& taken, Passes& passes) {
  for (int passed = 0; passed < kMostLost; ++passed) {
    if (taken.ok() || whose(taken.error().code) != Whose::kMessage) return std::move(taken);
    report_loss(taken.error());
    const os::Lock lock(mutex_);
    taken = take_any(nullptr, passes);
  }
  if (taken.ok()) return std::move(taken);
  // has_data() is still true, so a caller that waits comes back at once.
  return TakenSample();
}

/// One line now and then: a publisher can cause losses at any rate. The end of a connection is reported by expel().
void Reader::Impl::report_loss(const Error& lost) noexcept {
  if (lost.code == Errc::protocol_violation || lost.code == Errc::malformed_message) return;
  if (!loss_lines_.once()) return;
  std::uint64_t count = 0;
  {
    const os::Lock lock(mutex_);
    count = losses_.limit + losses_.memory;
  }
  try {
    context_->diagnose(Diagnostic::Level::kError, lost.code,
                       lost.message + (count > 1 ? " (" + std::to_string(count) + " messages so far)" : ""));
  } catch (const std::bad_alloc&) {
    // Counted all the same.
  }
}

/// The number that is expected next of each publisher, also of one whose connection has ended.
std::vector<ReadPositions::Position> Reader::Impl::positions() const {
  const os::Lock lock(mutex_);
  std::vector<ReadPositions::Position> out = interrupted_.all();
  for (const ConnectionRef& ref : connections_)
    if (ref->next_sequence != 0) out.push_back({ref->writer, ref->process, ref->next_sequence, 0});
  return out;
}

void Reader::Impl::continue_after(const Impl& before) {
  if (forked()) return;
  std::map<std::pair<Gid, std::uint64_t>, std::uint64_t> passed;
  for (const ReadPositions::Position& position : before.positions()) {  // without this reader's lock
    std::uint64_t& next = passed[{position.writer, position.process}];
    next = std::max(next, position.next_sequence);
  }
  const os::Lock lock(mutex_);
  Passes passes;
  for (const ConnectionRef& ref : connections_) {
    if (ref->state.load(std::memory_order_relaxed) == ReaderConnection::State::kAttaching) continue;
    const auto found = passed.find({ref->writer, ref->process});
    if (found == passed.end()) continue;
    // Giving a message up takes it for a moment, which must not exceed the grant: merged_away().
    memory::QueuedMessage message{};
    while (!passes.spent() && !ref->full() && ref->channel->queue().peek(&message) == memory::QueueStatus::kOk &&
           message.sequence < found->second) {
      passes.count();
      if (ref->channel->queue().try_take(message)) give_back(*ref, message);
    }
    ref->next_sequence = std::max(ref->next_sequence, found->second);
  }
}

Losses Reader::Impl::losses() const {
  if (forked()) return {};
  const os::Lock lock(mutex_);
  return losses_;
}

}  // namespace baton::transport
