// SPDX-License-Identifier: Apache-2.0
// How many of a writer's messages subscriptions may hold and do hold, and which messages are given up when memory is
// short. The arithmetic is in grants.cpp, the rules in docs/format/qos.md.
#include <algorithm>

#include "baton/os/shortage.hpp"
#include "endpoint_context.hpp"
#include "writer.hpp"

namespace baton::transport {
namespace {

/// The most rows of one writer in an answer: a hostile process can cause refusals of tens of thousands of
/// subscriptions.
constexpr std::size_t kMaxConnectionRows = 512;
constexpr std::size_t kMaxRefusedRows = 64;

bool of_memory(Errc code) noexcept { return code == Errc::limit_reached || code == Errc::out_of_memory; }

std::uint32_t to_u32(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX));
}

}  // namespace

/// `above`: without the connections that were granted at most so many.
Granted Writer::Impl::granted(const Party& party, std::uint32_t above) const {
  Granted out;
  const auto add = [&](const Party& of, std::uint64_t count) {
    out.total += count;
    if (of == party) out.party += count;
  };
  for (const auto& connection : live_) {
    if (connection->held > above) add(connection->party, connection->held);
  }
  for (const auto& connection : draining_) add(connection->party, connection->channel.outstanding());
  return out;
}

Writer::Impl::Answer Writer::Impl::answer(const Party& party, std::uint32_t wish) const {
  const auto judge = [&](Answer out) {
    out.grant =
        options_.grants_in_part ? grant_in_part(out.shares, out.before, wish) : grant(out.shares, out.before, wish);
    return out;
  };
  const bool fixed = options_.type.fixed_size;
  const Answer by_slots = judge({shares_,
                                 granted(party),
                                 fixed ? sizeof(memory::ChunkHeader) + options_.type.skeleton_bytes : std::size_t{0},
                                 {}});
  if (by_slots.grant.held == 0 || wish <= kSmallWish || shown_bytes_ == 0 || !guards_memory()) return by_slots;
  const std::uint64_t bytes = memory::Pool::slot_bytes(shown_bytes_);
  const std::uint64_t fit = pool_->account().limit_bytes / bytes;  // not options_: raise_limits()
  const Answer by_size =
      judge({shares_of(std::clamp<std::uint64_t>(fit, kFewestSlots, shares_.slots), options_.qos.depth),
             granted(party, kSmallWish),
             bytes,
             {}});
  return by_size.grant.held < by_slots.grant.held ? by_size : by_slots;
}

std::string Writer::Impl::explain_grant(const Party& party, std::uint32_t wish) const {
  const Answer now = answer(party, wish);
  std::string out = explain(now.shares, now.before, wish, options_.qos.depth, now.grant, now.message_bytes);
  if (now.message_bytes != 0 && !options_.type.fixed_size) {
    out += "; a slot is the memory of its largest message so far, " + std::to_string(now.message_bytes) + " bytes";
  }
  return out;
}

void Writer::Impl::refuse(PeerId peer, const AttachFrame& frame, const Refusal& refusal, const std::string& text) {
  RefusedFrame refused;
  refused.writer = frame.writer;
  refused.reader = frame.reader;
  refused.code = refusal.code;
  refused.text = "publisher of '" + options_.topic + "': " + text;
  context_->send(peer, FrameType::kRefused, encode(refused));
  if (resting_.find(peer, frame.reader) != nullptr) {
    const bool first = resting_.refuse(peer, frame.reader);
    if (!is_shortage(refusal.code)) resting_.remove(peer, frame.reader);  // it does not try again
    if (!resting_.awaited()) forget_history();
    if (first) notify(Event::kMatched);
  }
  if (!refused_.insert_or_assign(std::pair{peer, frame.reader}, refusal).second) return;  // a repeated attempt
  statuses_.last_refusal = refused.text;
  if (refusal.code == Errc::incompatible_qos) {
    ++statuses_.incompatible_qos_total;
    statuses_.last_incompatible_policy = Policy::kNone;
    statuses_.last_incompatibility = refused.text;
    notify(Event::kIncompatibleQos);
  }
  context_->graph_changed();
  context_->diagnose_about(peer, Diagnostic::Level::kError, refusal.code, [&] { return refused.text; });
}

/// Call right after a successful collect(). True: the reader holds more than its grant, which an honest reader never
/// does. Its samples are then released, since the other grants leave room for its grant only.
bool Writer::Impl::overheld(WriterConnection& connection) {
  if (connection.channel.held() <= connection.held) return false;
  return out_of_line([&]() BATON_REQUIRES(mutex_) {
    connection.holds_too_much = true;
    connection.channel.end(release());
    return true;
  });
}

/// Gives up the oldest unread message in the queues that may lose messages, and in the history, even if older samples
/// are held. False: there is none.
bool Writer::Impl::give_up_oldest_unread() {
  memory::Handle oldest = 0;
  std::uint64_t sequence = UINT64_MAX;
  const auto consider = [&](memory::Handle handle) BATON_REQUIRES(mutex_) {
    const memory::ChunkHeader* header = pool_->header_of(handle);
    if (header == nullptr || header->sequence >= sequence) return;
    sequence = header->sequence;
    oldest = handle;
  };
  for (const auto& connection : live_) {
    if (keep_all_ && connection->refuses_when_full) continue;  // never dropped
    memory::Handle handle = 0;
    if (!connection->broken && connection->channel.oldest_unread(&handle)) consider(handle);
  }
  if (!history_.empty() && !keep_all_) consider(history_.oldest().handle);
  if (sequence == UINT64_MAX) return false;
  // The policy that keeps the newest messages: no queue relies on more than the queues' share.
  if (options_.pool.policy == memory::Policy::kWorstEffort && sequence + shares_.queues > last_sequence_) return false;
  evict(oldest);
  return true;
}

/// The pool's policy considers the oldest messages only. If these are held, the newer unread messages would stay. One
/// subscription with a long unread queue and a few old samples would then stop the publisher.
Result<memory::Chunk> Writer::Impl::loan_in_shortage(std::size_t message_bytes, bool growing, Error error) {
  const std::uint32_t skeleton_bytes = options_.type.skeleton_bytes;
  Result<memory::Chunk> chunk = std::move(error);
  if (options_.pool.policy == memory::Policy::kNone) return chunk;
  look_at_memory(true);
  for (std::uint32_t i = 0; i < std::max<std::uint32_t>(options_.pool.attempts, 1); ++i) {
    if (chunk || !of_memory(chunk.error().code) || !give_up_oldest_unread()) break;
    chunk = !growing             ? pool_->loan_sized(message_bytes, skeleton_bytes)
            : message_bytes != 0 ? pool_->loan_growing(skeleton_bytes, message_bytes)
                                 : pool_->loan_growing(skeleton_bytes);
  }
  if (!chunk && of_memory(chunk.error().code)) dropped(chunk.error().message.c_str());
  return chunk;
}

std::vector<Holding> Writer::Impl::holdings() {
  std::vector<Holding> out;
  const os::Lock lock(mutex_);
  if (closed_) return out;
  collect();
  if (expel_) expel_broken();
  Holding row;
  row.writer = gid_;
  row.slot_count = to_u32(shares_.slots);
  row.shared = to_u32(shares_.shared);
  row.promised = to_u32(granted(Party{}).total);
  const memory::Pool& pool = *pool_;
  const auto add = [&](WriterConnection& connection) {
    if (out.size() >= kMaxConnectionRows) return;
    Holding& holding = out.emplace_back(row);
    holding.reader = connection.reader;
    holding.standing = connection.draining ? Holding::Standing::kLeft : Holding::Standing::kConnected;
    holding.wished = connection.wished;
    holding.granted = connection.held;
    if (connection.held < connection.wished && !connection.draining) {
      holding.reason = "asks to hold " + std::to_string(connection.wished) + " samples and got " +
                       std::to_string(connection.held) + ", as many as were left then";
    }
    holding.unread = static_cast<std::uint32_t>(connection.channel.unread());
    connection.channel.for_each_held([&](memory::Handle handle) {
      ++holding.held;
      const memory::ChunkHeader* header = pool.header_of(handle);
      if (header == nullptr) return;
      holding.held_bytes += header->size_bytes;
      if (holding.chunks.size() == Holding::kMostChunks) return;
      holding.chunks.push_back({handle, header->sequence, header->size_bytes});
    });
  };
  for (const auto& connection : live_) add(*connection);
  for (const auto& connection : draining_) add(*connection);
  for (const auto& [key, resting] :
       resting_.entries()) {  // as connected ones, to which nothing was published for a while
    if (resting.refused || out.size() >= kMaxConnectionRows) continue;
    Holding& holding = out.emplace_back(row);
    holding.reader = key.second;
    holding.wished = holding.granted = resting.held;
  }
  std::size_t rows = 0;
  for (const auto& [reader, refusal] : refused_) {
    if (++rows > kMaxRefusedRows) break;
    Holding& holding = out.emplace_back(row);
    holding.reader = reader.second;
    holding.standing = Holding::Standing::kRefused;
    holding.wished = refusal.wished;
    if (refusal.why == Refusal::Why::kOther) {
      holding.reason = std::string("the publisher could not connect it: ") + errc_name(refusal.code);
    } else {
      holding.reason = refusal.why == Refusal::Why::kGrant ? explain_grant(refusal.party, refusal.wished)
                                                           : explain_memory(held_by(refusal.party));
    }
  }
  return out;
}

}  // namespace baton::transport
