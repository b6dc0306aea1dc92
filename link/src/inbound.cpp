// SPDX-License-Identifier: Apache-2.0
#include "inbound.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "baton/memory/arena.hpp"
#include "baton/message/byte_order.hpp"
#include "baton/message/validate.hpp"

namespace baton::link {
namespace {

using memory::ChunkHeader;

template <class T>
T swapped(T value) noexcept {
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
}

Gid publisher_of(const ChunkHeader& header) {
  Gid gid;
  std::memcpy(gid.data(), header.publisher_id, gid.size());
  return gid;
}

}  // namespace

Result<ArrivedHeader> read_header(const ChunkHeader& arrived, std::size_t message_bytes) {
  ArrivedHeader out{arrived, false};
  ChunkHeader& header = out.header;
  if (header.version == swapped(memory::kChunkVersion)) {
    out.foreign_order = true;
    header.version = swapped(header.version);
    header.size_bytes = swapped(header.size_bytes);
    header.skeleton_bytes = swapped(header.skeleton_bytes);
    header.sequence = swapped(header.sequence);
    header.source_time_ns = swapped(header.source_time_ns);
    header.source_monotonic_ns = swapped(header.source_monotonic_ns);
    header.correlation_sequence = swapped(header.correlation_sequence);
  }
  if (header.magic != memory::kChunkMagic || header.version != memory::kChunkVersion) {
    return Error{Errc::protocol_violation, "it is no chunk of version " + std::to_string(memory::kChunkVersion)};
  }
  if ((header.byte_order == memory::kNativeByteOrder) == out.foreign_order) {
    return Error{Errc::protocol_violation, "its header says another byte order than it has"};
  }
  if (header.size_bytes != message_bytes || header.size_bytes > memory::kMaxMessageBytes) {
    return Error{Errc::protocol_violation, "its header says " + std::to_string(header.size_bytes) + " bytes, and " +
                                               std::to_string(message_bytes) + " came"};
  }
  if (header.sequence == 0) return Error{Errc::protocol_violation, "it has no number"};
  return out;
}

namespace {
/// How long a chunk waits for its proxy, and a new proxy for its first subscription.
constexpr std::chrono::seconds kUnknown{10}, kFirstReaders{1};
/// The advertisement that names the publisher of a chunk comes over the same connection, within this time.
constexpr std::chrono::seconds kAdvertisementBehind{1};
/// How long a request waits until a server here has it, and until its response can travel.
constexpr std::chrono::seconds kAnswerable{10};
constexpr const char* kLeftOut = "its publisher is left out: the status of the link says why";
/// A publisher with large messages gets memory for so many of the largest that has come.
constexpr std::size_t kLargeMessages = 4;
Error over_its_share() {
  return {Errc::limit_reached, "messages of its host use their share of this machine's memory"};
}
}  // namespace

void InboundChannel::ChannelTraffic::refuse(const Gid& host, Errc code, const std::string& why) {
  traffic.dropped(why);
  budgets->lost(host, why);
  log->write(About::kArrivals, LinkLog::Level::kError, code,
             "a message of another host for '" + topic + "' is lost: " + why);
}

/// A chunk in the memory of its proxy.
struct InboundChannel::InLoan final : ArrivingChunk {
  InLoan(ProxyOfHost to, const memory::Chunk& loan, const ArrivedHeader& from, std::shared_ptr<const LocalType> of,
         std::shared_ptr<ChannelTraffic> lost_to)
      : known(std::move(to)), chunk(loan), arrived(from), type(std::move(of)), channel_traffic(std::move(lost_to)) {
    message = static_cast<std::byte*>(loan.message());
    size_bytes = arrived.header.size_bytes;
  }
  ~InLoan() override {
    if (chunk.header != nullptr) known.writer->abandon(chunk);
  }
  /// All contents are one block behind the skeleton, so that the chunk's size is that of the message.
  Result<void> back(std::size_t bytes) {
    const std::size_t skeleton = type->info.skeleton_bytes;
    if (bytes <= skeleton) return {};
    try {
      if (content == nullptr) {
        content = memory::content_allocate(message, bytes - skeleton, 1);
      } else if (!memory::content_resize_in_place(message, content, bytes - skeleton)) {
        return Error{Errc::message_too_large, "it does not fit into its publisher's memory"};
      }
    } catch (const Exception& error) {
      return Error{error.code(), error.what()};
    }
    return {};
  }
  bool grow(std::size_t bytes) override {
    const Result<void> backed =
        channel_traffic->budgets->is_over(known.host) ? Result<void>(over_its_share()) : back(bytes);
    if (!backed) channel_traffic->refuse(known.host, backed.error().code, backed.error().message);
    return backed.ok();
  }
  void come() override {
    const message::Type& of = type->definition.type();
    valid = arrived.foreign_order ? message::repair_byte_order(of, message::MutableBytes{message, size_bytes})
                                  : message::validate(of, message, static_cast<std::uint32_t>(size_bytes));
  }
  const ProxyOfHost known;
  memory::Chunk chunk;  ///< null once published
  const ArrivedHeader arrived;
  const std::shared_ptr<const LocalType> type;
  const std::shared_ptr<ChannelTraffic> channel_traffic;
  void* content = nullptr;
  Result<void> valid;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// A chunk whose publisher has no proxy yet, or whose proxy has no memory for it now.
struct InboundChannel::StagedMessage final : ArrivingChunk {
  StagedMessage(const Gid& of, const ArrivedHeader& from, std::shared_ptr<HostBudgets> counted,
                std::shared_ptr<ChannelTraffic> lost_to, std::string why_not,
                std::chrono::steady_clock::time_point came = std::chrono::steady_clock::now())
      : host(of),
        budgets(std::move(counted)),
        channel_traffic(std::move(lost_to)),
        why(std::move(why_not)),
        arrived(from),
        since(came) {
    message = &nothing;
    size_bytes = arrived.header.size_bytes;
  }
  ~StagedMessage() override {
    if (weight != 0) budgets->unstage(host, weight);
  }
  bool grow(std::size_t come_bytes) override {
    const std::size_t needs = HostBudgets::kStagedMessageBytes + come_bytes;
    if (needs <= weight) return true;
    if (!budgets->stage(host, needs - weight)) {
      channel_traffic->refuse(host, Errc::limit_reached, why);
      return false;
    }
    weight = needs;
    bytes.resize(come_bytes);
    if (!bytes.empty()) message = bytes.data();
    return true;
  }
  const Gid host;
  const std::shared_ptr<HostBudgets> budgets;
  const std::shared_ptr<ChannelTraffic> channel_traffic;
  const std::string why;
  /// The same message, in another object.
  std::unique_ptr<StagedMessage> moved() {
    auto out = std::make_unique<StagedMessage>(host, arrived, budgets, channel_traffic, why, since);
    out->bytes = std::exchange(bytes, {});
    out->weight = std::exchange(weight, 0);
    if (!out->bytes.empty()) out->message = out->bytes.data();
    return out;
  }
  std::vector<std::byte> bytes;
  std::size_t weight = 0;  ///< counted for its host
  std::byte nothing{};
  const ArrivedHeader arrived;
  const std::chrono::steady_clock::time_point since;
  std::unique_ptr<InLoan> loan;  ///< once there is one
};

/// No message, but a sign of life of its publisher.
struct InboundChannel::LivelinessSign final : ArrivingChunk {
  explicit LivelinessSign(const ArrivedHeader& from) : arrived(from) { message = &nothing; }
  const ArrivedHeader arrived;
  std::byte nothing{};
};

InboundChannel::InboundChannel(std::string topic, std::shared_ptr<const LocalType> type, std::shared_ptr<LinkLog> log,
                               std::shared_ptr<HostBudgets> budgets, std::shared_ptr<const Answerable> answerable)
    : channel_traffic_(std::make_shared<ChannelTraffic>(std::move(topic), std::move(log), budgets)),
      type_(std::move(type)),
      budgets_(std::move(budgets)),
      answerable_(std::move(answerable)) {}

InboundChannel::~InboundChannel() = default;

std::optional<InboundChannel::ProxyOfHost> InboundChannel::find(const Gid& host, const ChunkHeader& header) const {
  const os::Lock lock(mutex_);
  const auto found = writers_.find(publisher_of(header));
  return found == writers_.end() || found->second.host != host ? std::nullopt : std::optional(found->second);
}

void InboundChannel::set_others(PublishersOfHosts left_out, Publishers advertised) {
  const os::Lock lock(mutex_);
  left_out_ = std::move(left_out);
  advertised_ = std::move(advertised);
}

bool InboundChannel::is_advertised(const Gid& publisher) const {
  const os::Lock lock(mutex_);
  return !advertised_ || advertised_->count(publisher) != 0;
}

bool InboundChannel::is_left_out(const Gid& host, const Gid& publisher) const {
  const os::Lock lock(mutex_);
  return left_out_ && left_out_->count({host, publisher}) != 0;
}

/// A loan with memory for the first `come_bytes`.
Result<std::unique_ptr<InboundChannel::InLoan>> InboundChannel::make_loan(const ProxyOfHost& known,
                                                                          const ArrivedHeader& arrived,
                                                                          std::size_t come_bytes) {
  const std::size_t size_bytes = arrived.header.size_bytes;
  if (budgets_->is_over(known.host)) return over_its_share();
  const auto loan_now = [&] {
    return come_bytes < size_bytes ? known.writer->loan_growing(size_bytes) : known.writer->loan_sized(size_bytes);
  };
  Result<memory::Chunk> loan = loan_now();
  if (!loan && loan.error().code == Errc::message_too_large) {
    // The publisher's limits on its own host are above the ordinary ones, since it could publish this message.
    if (Result<void> enlarged = budgets_->enlarge(known.host, known.writer->gid(), kLargeMessages * size_bytes);
        !enlarged)
      return enlarged.error();
    known.writer->raise_limits(size_bytes, kLargeMessages * size_bytes);
    loan = loan_now();
  }
  if (!loan) return loan.error();
  auto out = std::make_unique<InLoan>(known, *loan, arrived, type_, channel_traffic_);
  if (Result<void> backed = out->back(come_bytes); !backed) return backed.error();
  return out;
}

std::unique_ptr<ArrivingChunk> InboundChannel::begin(const Gid& host, const ChunkHeader& header,
                                                     std::size_t message_bytes, std::size_t come_bytes) {
  const Result<ArrivedHeader> arrived = read_header(header, message_bytes);
  if (!arrived) {
    channel_traffic_->refuse(host, arrived.error().code, arrived.error().message);
    return nullptr;
  }
  if (message_bytes == 0 && std::memcmp(arrived->header.type_hash, kSignTag, sizeof kSignTag) == 0)
    return std::make_unique<LivelinessSign>(*arrived);
  const transport::TypeInfo& type = type_->info;
  if (std::memcmp(arrived->header.type_hash, type.hash.data(), sizeof header.type_hash) != 0 ||
      arrived->header.skeleton_bytes != type.skeleton_bytes || message_bytes < type.skeleton_bytes) {
    channel_traffic_->refuse(host, Errc::type_mismatch,
                             "it is not of the type " + type.name + " as this host defines it");
    return nullptr;
  }
  if (is_left_out(host, publisher_of(arrived->header))) {
    channel_traffic_->refuse(host, Errc::limit_reached, kLeftOut);
    return nullptr;
  }
  std::string why = "its publisher is not known here as one of its host (yet)";
  if (const std::optional<ProxyOfHost> known = find(host, header)) {
    Result<std::unique_ptr<InLoan>> loan = make_loan(*known, *arrived, come_bytes);
    if (loan) return std::move(*loan);
    why = loan.error().message;
  }
  auto staged = std::make_unique<StagedMessage>(host, *arrived, budgets_, channel_traffic_, std::move(why));
  if (message_bytes > HostBudgets::kMostStagedBytes - HostBudgets::kStagedMessageBytes) {
    channel_traffic_->refuse(host, Errc::limit_reached, staged->why);
    return nullptr;
  }
  if (!staged->grow(come_bytes)) return nullptr;
  return staged;
}

/// False: a subscription that keeps all has no room.
bool InboundChannel::publish(const Gid& host, InLoan& arriving) {
  if (!arriving.valid) {
    channel_traffic_->refuse(host, arriving.valid.error().code, arriving.valid.error().message);
    return true;
  }
  const os::Lock lock(pending_mutex_);
  const Gid publisher = arriving.known.writer->gid();
  const bool waits =
      pending_.count(publisher) != 0 || is_too_early(arriving) || (answerable_ && !is_answerable(host, arriving));
  if (!waits) return publish_now(arriving);
  const PendingSpace room = pending_space(host, publisher);
  if (room == PendingSpace::kFlowWaits) return false;
  if (room == PendingSpace::kThere) {
    auto moved = std::make_unique<InLoan>(arriving.known, std::exchange(arriving.chunk, {}), arriving.arrived, type_,
                                          channel_traffic_);
    moved->since = arriving.since;
    add_pending(host, publisher, std::move(moved));
  }
  return true;
}

/// Whether the proxy is new, and has no subscription yet.
bool InboundChannel::is_too_early(const InLoan& arriving) {
  return arriving.known.writer->matched() == 0 && std::chrono::steady_clock::now() < arriving.known.waits_until;
}

/// Whether the response can travel, or the request has waited long enough.
bool InboundChannel::is_answerable(const Gid& host, const InLoan& request) const {
  Gid client;
  std::memcpy(client.data(), request.arrived.header.correlation_client, client.size());
  return answerable_->has(host, client) || std::chrono::steady_clock::now() - request.since >= kAnswerable;
}

/// Whether there is room for one more pending message. kNone: no, and the message was counted as lost. kFlowWaits: earlier messages wait for a
/// subscription that keeps all.
InboundChannel::PendingSpace InboundChannel::pending_space(const Gid& host, const Gid& publisher) const {
  const auto of_process = pending_of_process_.find({host, prefix_of(publisher)});
  const auto of_host = pending_of_host_.find(host);
  if ((of_process == pending_of_process_.end() || of_process->second < kMostPendingOfProcess) &&
      (of_host == pending_of_host_.end() || of_host->second < kMostPending))
    return PendingSpace::kThere;
  if (const auto before = pending_.find(publisher); before != pending_.end()) {
    const auto* const first = dynamic_cast<const InLoan*>(before->second.front().arriving.get());
    if (first != nullptr && !is_too_early(*first) && !answerable_) return PendingSpace::kFlowWaits;
  }
  channel_traffic_->refuse(host, Errc::limit_reached,
                           answerable_ ? "too many requests of its process wait until their responses can travel"
                                       : "too many messages of its process wait for a first subscription");
  return PendingSpace::kNone;
}

void InboundChannel::add_pending(const Gid& host, const Gid& publisher, std::unique_ptr<ArrivingChunk> arriving) {
  ++pending_of_process_[{host, prefix_of(publisher)}];
  ++pending_of_host_[host];
  pending_[publisher].push_back({host, std::move(arriving)});
}

void InboundChannel::remove_pending(const Gid& host, const Gid& publisher) {
  const auto of_process = pending_of_process_.find({host, prefix_of(publisher)});
  if (--of_process->second == 0) pending_of_process_.erase(of_process);
  const auto of_host = pending_of_host_.find(host);
  if (--of_host->second == 0) pending_of_host_.erase(of_host);
}

InboundChannel::Offered InboundChannel::offer(PendingMessage& pending) {
  if (auto* const staged = dynamic_cast<StagedMessage*>(pending.arriving.get())) {
    Error why{Errc::limit_reached, "its publisher is not known here"};
    std::unique_ptr<InLoan> loan = loan_for(pending.host, *staged, why);
    if (!loan) {
      if (std::chrono::steady_clock::now() - staged->since < kUnknown) return Offered::kSoon;
      channel_traffic_->refuse(pending.host, why.code, why.message);
      return Offered::kDone;
    }
    pending.arriving = std::move(loan);
  }
  auto& arriving = dynamic_cast<InLoan&>(*pending.arriving);
  if (!arriving.valid) {
    channel_traffic_->refuse(pending.host, arriving.valid.error().code, arriving.valid.error().message);
    return Offered::kDone;
  }
  if (is_too_early(arriving)) return Offered::kSoon;
  if (answerable_ && !is_answerable(pending.host, arriving)) return Offered::kWaits;
  return publish_now(arriving) ? Offered::kDone : Offered::kSoon;
}

bool InboundChannel::deliver_pending() {
  std::size_t offered = 0;
  bool soon = false;
  const os::Lock lock(pending_mutex_);
  for (auto at = pending_.begin(); at != pending_.end();) {
    std::deque<PendingMessage>& waiting = at->second;
    while (!waiting.empty()) {
      if (++offered > kMostOffered) return true;
      const Offered end = offer(waiting.front());
      if (end == Offered::kDone) {
        remove_pending(waiting.front().host, at->first);
        waiting.pop_front();
        continue;
      }
      soon = soon || end == Offered::kSoon;
      break;
    }
    at = waiting.empty() ? pending_.erase(at) : std::next(at);
  }
  return soon;
}

bool InboundChannel::has_pending(const Gid& publisher) const {
  const os::Lock lock(pending_mutex_);
  return !answerable_ && pending_.count(publisher) != 0;
}

bool InboundChannel::has_pending() const {
  const os::Lock lock(pending_mutex_);
  return !answerable_ && !pending_.empty();
}

/// False: a subscription that keeps all has no room.
bool InboundChannel::publish_now(InLoan& arriving) {
  const Gid& host = arriving.known.host;
  const ArrivedHeader& arrived = arriving.arrived;
  Gid client;
  std::memcpy(client.data(), arrived.header.correlation_client, client.size());
  const transport::Origin origin{arrived.header.sequence, arrived.header.source_time_ns};
  transport::PublishInfo info;
  info.origin = &origin;
  info.selection = arrived.header.selection;
  info.correlation_client = client;
  info.only_client = client != Gid{};  // of a response; a request's client subscribes no requests, so it reaches all
  info.correlation_sequence = arrived.header.correlation_sequence;
  std::memcpy(info.attachment.data(), arrived.header.attachment, info.attachment.size());
  const Result<std::uint64_t> published = arriving.known.writer->publish(arriving.chunk, info);
  if (published) {
    arriving.chunk = {};
    channel_traffic_->traffic.count(arriving.size_bytes);
    return true;
  }
  if (published.error().code == Errc::queue_full) return false;
  // A message that came before, from an earlier run of the other link, is not lost.
  if (published.error().code != Errc::already_exists)
    channel_traffic_->refuse(host, published.error().code, published.error().message);
  return true;
}

/// Null: the publisher has no proxy, or the proxy has no memory, for the reason `why`.
std::unique_ptr<InboundChannel::InLoan> InboundChannel::loan_for(const Gid& host, StagedMessage& staged, Error& why) {
  const std::optional<ProxyOfHost> known = find(host, staged.arrived.header);
  if (!known) return nullptr;
  Result<std::unique_ptr<InLoan>> loan = make_loan(*known, staged.arrived, staged.size_bytes);
  if (!loan) {
    why = loan.error();
    return nullptr;
  }
  std::memcpy((*loan)->message, staged.message, staged.size_bytes);
  (*loan)->come();
  return std::move(*loan);
}

bool InboundChannel::deliver_staged(const Gid& host, StagedMessage& staged) {
  const Gid publisher = publisher_of(staged.arrived.header);
  Error why{Errc::limit_reached, "its publisher is not known here"};
  if (!staged.loan) staged.loan = loan_for(host, staged, why);
  if (staged.loan) return publish(host, *staged.loan);
  if (is_left_out(host, publisher)) {
    channel_traffic_->refuse(host, Errc::limit_reached, kLeftOut);
    return true;
  }
  {
    const os::Lock lock(pending_mutex_);
    if (pending_.count(publisher) != 0) {
      const PendingSpace room = pending_space(host, publisher);
      if (room == PendingSpace::kThere) add_pending(host, publisher, staged.moved());
      return room != PendingSpace::kFlowWaits;
    }
  }
  const auto waited = std::chrono::steady_clock::now() - staged.since;
  if (waited < (is_advertised(publisher) ? kUnknown : kAdvertisementBehind)) return false;
  channel_traffic_->refuse(host, why.code, why.message);
  return true;
}

bool InboundChannel::deliver(const Gid& host, ArrivingChunk& arriving) {
  if (auto* loan = dynamic_cast<InLoan*>(&arriving)) return publish(host, *loan);
  if (const auto* sign = dynamic_cast<LivelinessSign*>(&arriving)) {
    if (const std::optional<ProxyOfHost> known = find(host, sign->arrived.header)) known->writer->assert_liveliness();
    return true;
  }
  return deliver_staged(host, dynamic_cast<StagedMessage&>(arriving));
}

void InboundChannel::add(const Gid& host, const std::shared_ptr<transport::Writer>& writer, bool first_readers) {
  const os::Lock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::seconds wait = answerable_ ? kAnswerable : kFirstReaders;
  writers_[writer->gid()] = {host, writer, first_readers ? now + wait : now};
}

void InboundChannel::remove(const Gid& publisher) {
  const os::Lock pending(pending_mutex_);
  if (const auto found = pending_.find(publisher); found != pending_.end()) {
    for (const PendingMessage& each : found->second) {
      remove_pending(each.host, publisher);
      if (!answerable_)
        channel_traffic_->refuse(each.host, Errc::not_found, "its publisher ended while it waited for a subscription");
    }
    pending_.erase(found);
  }
  const os::Lock lock(mutex_);
  writers_.erase(publisher);
}

}  // namespace baton::link
