// SPDX-License-Identifier: Apache-2.0
#include "publisher_path.hpp"

#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "failure.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

// With KEEP_ALL, a subscription may have no room. As DDS's max_blocking_time: so long a publish waits for room.
constexpr std::int64_t kMostBlockedNs = 100'000'000;
constexpr std::chrono::milliseconds kTryAgain{1};
// So long an ending publisher waits until its last messages are in the queues of the subscriptions that rested.
constexpr std::chrono::milliseconds kMostLinger{100};

/// Each node publishes on these topics, and of rclcpp each node subscribes to the second: connections of all pairs would be n * n.
bool is_seldom(const char* topic, const QoS& qos) {
  return (std::strcmp(topic, "/rosout") == 0 || std::strcmp(topic, "/parameter_events") == 0) &&
         qos.history == History::kKeepLast && qos.liveliness == Liveliness::kAutomatic && qos.deadline == kInfinite;
}

}  // namespace

Result<std::unique_ptr<PublisherPath>> PublisherPath::make(Context& context, const std::string& node, const char* topic,
                                                           const rosidl_message_type_support_t* type, const QoS& qos) {
  Result<std::shared_ptr<const TypeSupport>> type_support = type_support_of(type);
  if (!type_support) return type_support.error();
  const os::HotRoom room;
  std::unique_ptr<PublisherPath> path(new PublisherPath());
  path->type_ = *type_support;
  transport::Participant::WriterOptions options;
  options.topic = topic;
  options.node = node;
  options.type = path->type_->info;
  options.qos = qos;
  options.part = context.part();
  options.seldom = is_seldom(topic, qos);
  Result<std::shared_ptr<transport::Writer>> writer = context.participant().create_writer(options);
  if (!writer) return writer.error();
  path->writer_ = std::move(*writer);
  path->matching_ =
      std::make_unique<Matching>(context.shared_participant(), options, Matching::Partners::kOfThisProcess);
  path->capacities_ = std::make_unique<containers::Capacities>(*path->type_->loans);
  path->topic_ = topic;
  path->qos_ = qos;
  path->idle_ =
      qos.durability == Durability::kVolatile && qos.deadline == kInfinite && qos.liveliness == Liveliness::kAutomatic;
  path->events_ = std::make_shared<EndpointEvents>(context.callback_thread(),
                                                   [writer = path->writer_] { return writer->statuses(); });
  path->writer_->on_event([weak = std::weak_ptr<EndpointEvents>(path->events_)](transport::Event event) {
    if (const std::shared_ptr<EndpointEvents> events = weak.lock()) events->happened(true, event);
  });
  return path;
}

PublisherPath::~PublisherPath() {
  if (!events_) return;
  static_cast<void>(writer_->wait_for_queues(kMostLinger));
  writer_->on_event({});
  events_->stop();
  RCUTILS_LOG_DEBUG_NAMED(kLogger, "publisher of %s: %lu messages through Baton (%lu bytes copied in)", topic_.c_str(),
                          messages_.load(), copied_bytes_.load());
}

/// REQUIRES: no reader is matched. Whether that stays so, and nothing else depends on the message.
BATON_COLD bool PublisherPath::is_idle() { return matched() == 0 && idle_; }

std::size_t PublisherPath::matched() {
  matching_->await([this](std::size_t known) { return writer_->matched() >= known; });
  return writer_->matched();
}

/// The chunk stays a loan if that fails.
BATON_HOT rmw_ret_t PublisherPath::hand_over(const memory::Chunk& chunk, memory::Selection selection) {
  transport::PublishInfo info;
  info.selection = selection;
  messages_.fetch_add(1, std::memory_order_relaxed);
  Result<std::uint64_t> published = writer_->publish(chunk, info);
  if (published) return RMW_RET_OK;
  return out_of_line([&] {
    const std::int64_t end_ns = os::monotonic_ns() + kMostBlockedNs;
    while (!published && published.error().code == Errc::queue_full && os::monotonic_ns() < end_ns) {
      std::this_thread::sleep_for(kTryAgain);
      published = writer_->publish(chunk, info);
    }
    return published ? RMW_RET_OK : failed(published.error());
  });
}

/// `selection`: how the message was made. `room`: the most bytes that the message takes; 0: not known.
template <class Fill>
BATON_HOT rmw_ret_t PublisherPath::publish_filled(memory::Selection selection, std::size_t room, Fill&& fill) {
  if (writer_->matched() == 0 && is_idle()) return RMW_RET_OK;
  Result<memory::Chunk> chunk = room != 0 ? writer_->loan_sized(room) : writer_->loan_growing();
  if (!chunk) return out_of_line([&] { return failed(chunk.error()); });
  message::LoanBuilder builder(chunk->message());
  const Result<void> filled = fill(builder);
  const rmw_ret_t result = filled ? hand_over(*chunk, selection) : failed(filled.error());
  if (result == RMW_RET_OK)
    count_copied(chunk->header->size_bytes);
  else
    out_of_line([&] { writer_->abandon(*chunk); });
  return result;
}

BATON_HOT rmw_ret_t PublisherPath::publish(const void* native) {
  return publish_filled(memory::Selection::kLow,
                        type_->info.fixed_size ? type_->info.skeleton_bytes : type_->native->room_for(native),
                        [&](message::Builder& builder) { return type_->native->write(native, builder); });
}

rmw_ret_t PublisherPath::publish_serialized(const rmw_serialized_message_t& serialized) {
  return publish_filled(memory::Selection::kHigh, 0, [&](message::Builder& builder) -> Result<void> {
    Result<std::size_t> used = type_->cdr.decode({serialized.buffer, serialized.buffer_length}, builder);
    if (!used) return used.error();
    return {};
  });
}

/// A message on loan to the application.
struct PublisherPath::Lent {
  Lent(const TypeSupport& own_type, std::shared_ptr<transport::Writer> loaned_from)
      : type(own_type), writer(std::move(loaned_from)) {}
  ~Lent() {
    loan.reset();
    if (chunk) {
      writer->abandon(*chunk);
    } else if (native != nullptr && !in_chunk) {
      type.loans->destroy(native);
    }
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  const TypeSupport& type;
  const std::shared_ptr<transport::Writer> writer;
  void* native = nullptr;
  bool in_chunk = false;
  std::optional<memory::Chunk> chunk;          // until it is published; `native` is its message
  std::optional<containers::NativeLoan> loan;  // arrays in a chunk
};

BATON_HOT rmw_ret_t PublisherPath::borrow(void** native) {
  auto lent = std::make_shared<Lent>(*type_, writer_);
  if (type_->native->same_layout()) {
    Result<memory::Chunk> chunk = writer_->loan_sized(type_->info.skeleton_bytes);
    if (!chunk) return failed(chunk.error());
    lent->chunk = *chunk;
    lent->native = chunk->message();
    lent->in_chunk = true;
    type_->loans->make_at(lent->native);
  } else {
    lent->native = type_->loans->make();
    if (lent->native == nullptr) throw std::bad_alloc();
    Result<containers::NativeLoan> loan =
        containers::NativeLoan::begin(writer_, *type_->loans, *capacities_, lent->native);
    if (!loan) return failed(loan.error());
    lent->loan.emplace(std::move(*loan));
  }
  *native = lent->native;
  lent_.add(*native, std::move(lent));
  return RMW_RET_OK;
}

rmw_ret_t PublisherPath::give_back(void* native) {
  if (lent_.remove(native)) return RMW_RET_OK;
  RMW_SET_ERROR_MSG("this message was not borrowed from this publisher");
  return RMW_RET_ERROR;
}

BATON_HOT rmw_ret_t PublisherPath::publish_loaned(void* native) {
  const std::optional<std::shared_ptr<Lent>> found = lent_.remove(native);
  if (!found) {
    RMW_SET_ERROR_MSG("this message was not borrowed from this publisher");
    return RMW_RET_ERROR;
  }
  Lent& lent = **found;
  if (writer_->matched() == 0 && is_idle()) return RMW_RET_OK;
  if (lent.chunk) {
    const rmw_ret_t result = hand_over(*lent.chunk, memory::Selection::kInPlace);
    if (result == RMW_RET_OK) lent.chunk.reset();
    return result;
  }
  Result<containers::NativeLoan::Filled> filled = lent.loan->fill();
  if (!filled) return failed(filled.error());
  const rmw_ret_t result = hand_over(filled->chunk, memory::Selection::kInPlace);
  if (result == RMW_RET_OK) {
    count_copied(filled->copied_bytes);
    lent.loan->published();
  }
  return result;
}

}  // namespace baton::rmw
