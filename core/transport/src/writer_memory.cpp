// SPDX-License-Identifier: Apache-2.0
// What readers hold of a writer's memory, in bytes, and what the writer does before that leaves too little for its next messages.
// docs/format/qos.md ("How much memory may readers hold?") is normative; the arithmetic is in grants.cpp.
//
// The sizes of most types are known only when messages have been published, so a grant of samples says little about memory.
// look_at_memory() runs before a loan, but not before every loan: only after as many loans as certainly do not use up what is
// left. In a healthy steady state it counts slots and nothing else.
// Invariant, for messages that are not larger than the largest before: what all readers hold, and can take from their queues before
// the next look, leaves the writer's part of shares_of_memory() free.
#include <algorithm>
#include <string>

#include "baton/memory/account.hpp"
#include "baton/os/memory_left.hpp"
#include "endpoint_context.hpp"
#include "writer.hpp"

namespace baton::transport {
namespace {

std::uint64_t less(std::uint64_t from, std::uint64_t what) noexcept { return from > what ? from - what : 0; }

std::string mebibytes(std::size_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

}  // namespace

/// The slots of a type of fixed size are counted exactly, and prefaulted slots have all their memory, whatever readers hold. A
/// writer without a policy has callers with another way for their messages.
bool Writer::Impl::guards_memory() const noexcept {
  return !options_.type.fixed_size && !options_.pool.prefault && options_.pool.policy != memory::Policy::kNone;
}

void Writer::Impl::larger_message(std::size_t bytes) noexcept {
  shown_bytes_ = static_cast<std::uint32_t>(bytes);
  const std::size_t unit = memory::Pool::slot_bytes(bytes);
  if (unit <= unit_bytes_ + unit_bytes_ / 8) {  // of messages that grow little by little, not each is a reason to look
    loans_left_ -= loans_left_ / 4;
    return;
  }
  unit_bytes_ = unit;
  memory_.slots = 0;  // what was seen was in other units
  loans_left_ = 0;
}

/// Fills held_. REQUIRES: collect() was called.
void Writer::Impl::measure_holders() {
  held_.clear();
  const auto add = [this](WriterConnection& connection) BATON_REQUIRES(mutex_) {
    const std::uint32_t party = held_.number_of(connection.party);
    connection.held_bytes = 0;
    connection.channel.for_each_held([&, pool = pool_.get(), all = &held_](memory::Handle handle) {
      const std::size_t bytes = pool->bytes_of(handle);
      connection.held_bytes += bytes;
      all->add(party, handle, bytes);
    });
  };
  for (const auto& connection : live_) add(*connection);
  for (const auto& connection : draining_) add(*connection);
  held_.sum();
}

Granted Writer::Impl::held_by(const Party& party) const noexcept {
  return {units(held_.bytes()), units(held_.bytes_of(party))};
}

/// What limits beyond the pool's own leave.
std::size_t Writer::Impl::left_outside() {
  const Participant::MemoryAccount now = context_->memory_account();
  std::size_t left = less(now.process_limit_bytes, now.process_backed_bytes);
  if (now.domain_limit_bytes != SIZE_MAX)
    left = std::min<std::size_t>(left, less(now.domain_limit_bytes, now.domain_backed_bytes));
  return std::min(left, os::memory_left());
}

/// Until the next loan that needs it. `short_of_it`: a loan has just failed.
void Writer::Impl::look_at_memory(bool short_of_it) {
  // The next look comes one loan after so many.
  loans_left_ = UINT32_MAX;
  if (shown_bytes_ == 0 || !guards_memory()) return;
  collect();
  if (expel_) expel_broken();
  const memory::Pool::Account now = pool_->account();
  const std::uint64_t healthy = memory_.shared / 4;
  const bool same = memory_.slots != 0 && now.backed_bytes == seen_backed_;
  // No message is much larger than a unit, so even if readers held all of them they would hold little more than a quarter.
  if (same && !short_of_it && now.published_slots + now.loaned_slots <= healthy) {
    loans_left_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, healthy));
    return;
  }
  try {
    divide_memory(now, same && !short_of_it);
  } catch (const std::bad_alloc&) {
    loans_left_ = 0;  // this process has no memory for its own lists: with the next loan
  }
}

/// The rest of look_at_memory(). `same`: the pool has taken no memory since the last look.
void Writer::Impl::divide_memory(const memory::Pool::Account& now, bool same) {
  measure_holders();
  if (!same && pool_->room(unit_bytes_, SIZE_MAX) > 0) seen_outside_ = left_outside();
  seen_backed_ = now.backed_bytes;
  const std::uint64_t held = units(held_.bytes());
  const std::uint64_t room = pool_->room(unit_bytes_, seen_outside_);
  std::uint64_t unread = less(pool_->published_bytes(), held_.bytes()) / unit_bytes_;
  memory_ = shares_of_memory(held + unread + now.loaned_slots + room, options_.qos.depth);
  const std::uint64_t for_all = less(memory_.shared, memory_.newcomers);
  // Readers may take what waits in their queues without another loan.
  if (const std::uint64_t waiting = less(unread, memory_.queues); held + waiting > for_all) {
    give_up_unread_beyond(memory_.queues, unread);
    unread = std::min(unread, memory_.queues);
  }
  std::uint64_t until_next = less(for_all, held + less(unread, memory_.queues));
  for (const HeldMemory::OfParty& each : held_.parties()) {
    const Granted of_party{held, units(each.bytes)};
    if (holds_too_much(memory_, of_party)) {
      close_holders(each.party, of_party.party);
    } else {
      until_next = std::min(until_next, less(memory_.party, of_party.party));
    }
  }
  // Other publishers take from what is left outside, too.
  if (seen_outside_ / unit_bytes_ <= room) until_next = std::min(until_next, room / 4);
  loans_left_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(until_next, UINT32_MAX));
}

void Writer::Impl::give_up_unread_beyond(std::uint64_t allowed, std::uint64_t unread) {
  for (; unread > allowed; --unread) {
    if (!give_up_oldest_unread()) return;
  }
}

/// Ends the connections of a party that holds too much: those that hold more than others do by default; if there is none, those that
/// hold more than one message; if there is none, all that hold something. The others stay, and what is held stays readable.
void Writer::Impl::close_holders(const Party& party, std::uint64_t held) {
  const auto holds_more = [&](const WriterConnection& connection, std::uint64_t than) BATON_REQUIRES(mutex_) {
    return connection.party == party && units(connection.held_bytes) > than &&
           !(keep_all_ && connection.refuses_when_full);  // both ends asked for a publisher that waits
  };
  for (const std::uint64_t than : {std::uint64_t{kBasicHeld}, std::uint64_t{1}, std::uint64_t{0}}) {
    bool found = false;
    for (std::size_t i = live_.size(); i > 0; --i) {
      const WriterConnection& connection = *live_[i - 1];
      if (!holds_more(connection, than)) continue;
      found = true;
      const PeerId peer = connection.peer;
      RefusedFrame closed;
      closed.writer = gid_;
      closed.reader = connection.reader;
      closed.code = Errc::limit_reached;
      drain(connection);
      try {
        closed.text = "publisher of '" + options_.topic +
                      "' ended the connection: " + explain_memory({units(held_.bytes()), held});
        context_->diagnose_about(peer, Diagnostic::Level::kWarning, closed.code, [&] { return closed.text; });
        context_->send(peer, FrameType::kClosed, encode(closed));
      } catch (const std::bad_alloc&) {
        context_->hub().end_for_want_of_memory(peer);  // the end informs the peer
      }
    }
    if (found) return;
  }
}

std::string Writer::Impl::explain_memory(const Granted& held) const {
  const std::size_t limit = pool_->account().limit_bytes;  // not options_: raise_limits()
  const std::uint64_t fit = memory_.slots;
  return "its process (or user) holds " + mebibytes(held.party * unit_bytes_) +
         " of the publisher's messages, and all subscriptions " + mebibytes(held.total * unit_bytes_) +
         ". There is memory for " + std::to_string(fit) + " messages of " + std::to_string(unit_bytes_) +
         " bytes: all may hold " + std::to_string(memory_.shared) + " of them, one process " +
         std::to_string(memory_.party) + ". Release samples sooner, lower QoS held, or raise " +
         (fit * unit_bytes_ + unit_bytes_ < limit
              ? "BATON_PROCESS_MEMORY_LIMIT, BATON_DOMAIN_MEMORY_LIMIT, or the memory of the cgroup or machine"
              : "PublisherOptions::memory_limit_bytes, which is " + mebibytes(limit));
}

/// Whether a reader of this party may hold one message more.
bool Writer::Impl::memory_for(const Party& party) {
  if (memory_.slots == 0 || !guards_memory()) return true;
  measure_holders();
  const Granted held = held_by(party);
  return !holds_too_much(memory_, {held.total + 1, held.party + 1});
}

void Writer::Impl::dropped(const char* why) noexcept {
  ++statuses_.dropped_total;
  notify(Event::kMessageDropped);
  if (!drop_lines_.once()) return;
  try {
    context_->diagnose(Diagnostic::Level::kWarning, Errc::limit_reached,
                       "publisher of '" + options_.topic + "' dropped a message for want of memory (" +
                           std::to_string(statuses_.dropped_total) + " so far): " + why);
  } catch (const std::bad_alloc&) {
    // The count stays.
  }
}

}  // namespace baton::transport
