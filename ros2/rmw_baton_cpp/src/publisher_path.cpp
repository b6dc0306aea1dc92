// SPDX-License-Identifier: Apache-2.0
#include "publisher_path.hpp"

#include <algorithm>
#include <cstring>

#include "baton/os/clock.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/process.hpp"
#include "baton/os/wake_socket.hpp"
#include "endpoints.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/error_handling.h"

namespace baton::rmw {
std::unique_ptr<PublisherPath> PublisherPath::make(const std::shared_ptr<BatonContext>& baton_context,
                                                   const rmw_node_t* inner_node, const rmw_publisher_t* inner,
                                                   const rosidl_message_type_support_t* type, Events& events) {
  const Underlying& rmw = *underlying();
  rmw_qos_profile_t profile{};
  rmw_gid_t gid{};
  if (rmw.rmw_publisher_get_actual_qos(inner, &profile) != RMW_RET_OK ||
      rmw.rmw_get_gid_for_publisher(inner, &gid) != RMW_RET_OK) {
    rcutils_reset_error();
    return nullptr;
  }
  const std::optional<QoS> qos = qos_of(profile);
  if (!qos || !may_publish(inner->topic_name, profile)) return nullptr;
  Result<std::shared_ptr<const TypeSupport>> type_support =
      type_support_of(type, warn_of_type("publisher", inner->topic_name));
  if (!type_support) return nullptr;
  const os::HotRoom room;
  std::unique_ptr<PublisherPath> path(new PublisherPath(baton_context, inner_node, inner));
  path->type_ = *type_support;
  transport::Participant::WriterOptions options;
  options.topic = inner->topic_name;
  options.node = full_name(*inner_node);
  options.type = (*type_support)->info;
  options.qos = *qos;
  static_assert(RMW_GID_STORAGE_SIZE == sizeof options.gid);
  std::memcpy(options.gid.data(), gid.data, options.gid.size());
  // A message without memory takes the underlying RMW, and evicts no unread message. But a history must keep the newest
  // messages.
  if (qos->durability != Durability::kTransientLocal) options.pool.policy = memory::Policy::kNone;
  Result<std::shared_ptr<transport::Writer>> writer = baton_context->participant().create_writer(options);
  if (!writer) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "publisher of %s takes the underlying RMW only: %s", inner->topic_name,
                           writer.error().message.c_str());
    return nullptr;
  }
  path->writer_ = std::move(*writer);
  path->capacities_ = std::make_unique<containers::Capacities>(*path->type_->loans);
  path->qos_ = profile;
  path->durable_ = qos->durability == Durability::kTransientLocal;
  path->manual_liveliness_ = qos->liveliness == Liveliness::kManualByTopic;
  path->always_ = path->durable_ || baton_context->both();
  Event& matched = events[RMW_EVENT_PUBLICATION_MATCHED];
  if (signal_underlying(matched, inner, RMW_EVENT_PUBLICATION_MATCHED)) path->matched_signal_ = &matched.signal;
  if (qos->deadline != kInfinite) {
    Event& missed = events[RMW_EVENT_OFFERED_DEADLINE_MISSED];
    missed.counts_underlying = false;
    path->deadline_ = baton_context->deadlines().add(
        {qos->deadline, [p = path.get()] { return p->last_publish_ns_.load(std::memory_order_relaxed); },
         [&missed] { missed.happened(1); }});
  }
  baton_context->announcement().add(path->writer_->gid(), [p = path.get()] { return p->describe(); });
  return path;
}

PublisherPath::~PublisherPath() {
  if (deadline_ != 0) baton_context_->deadlines().remove(deadline_);
  if (!writer_) return;
  baton_context_->announcement().remove(writer_->gid());
  RCUTILS_LOG_DEBUG_NAMED(
      kLogger, "publisher of %s: %lu messages through Baton (%lu bytes copied in), %lu through the underlying RMW",
      inner_->topic_name, through_baton_, copied_bytes_, through_underlying_);
}

BATON_HOT rmw_ret_t PublisherPath::publish(const void* native, rmw_publisher_allocation_t* allocation) {
  return publish_filled(
      memory::Selection::kLow, type_->info.fixed_size ? type_->info.skeleton_bytes : type_->native->room_for(native),
      [&](message::Builder& builder) { return type_->native->write(native, builder); },
      [&] { return underlying()->rmw_publish(inner_, native, allocation); });
}

rmw_ret_t PublisherPath::publish_serialized(const rmw_serialized_message_t& serialized,
                                            rmw_publisher_allocation_t* allocation) {
  return publish_filled(
      memory::Selection::kHigh, 0,
      [&](message::Builder& builder) -> Result<void> {
        Result<std::size_t> used = type_->cdr.decode({serialized.buffer, serialized.buffer_length}, builder);
        if (!used) return used.error();
        return {};
      },
      [&] { return underlying()->rmw_publish_serialized_message(inner_, &serialized, allocation); });
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
  std::optional<memory::Chunk> chunk;  // until it is published; `native` is its message
  // Arrays in a chunk. If both are empty, the pool had no chunk, and this is an ordinary message.
  std::optional<containers::NativeLoan> loan;
};

BATON_HOT rmw_ret_t PublisherPath::borrow(void** native) {
  auto lent = std::make_shared<Lent>(*type_, writer_);
  if (type_->native->same_layout()) {
    if (Result<memory::Chunk> chunk = writer_->loan_sized(type_->info.skeleton_bytes)) {
      lent->chunk = *chunk;
      lent->native = chunk->message();
      lent->in_chunk = true;
      type_->loans->make_at(lent->native);
    }
  }
  if (!lent->in_chunk) {
    lent->native = type_->loans->make();
    if (lent->native == nullptr) return RMW_RET_BAD_ALLOC;
    if (!type_->native->same_layout()) {
      Result<containers::NativeLoan> loan =
          containers::NativeLoan::begin(writer_, *type_->loans, *capacities_, lent->native);
      if (loan) lent->loan.emplace(std::move(*loan));
    }
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

BATON_HOT rmw_ret_t PublisherPath::publish_loaned(void* native, rmw_publisher_allocation_t* allocation) {
  const std::optional<std::shared_ptr<Lent>> found = lent_.remove(native);
  if (!found) {
    RMW_SET_ERROR_MSG("this message was not borrowed from this publisher");
    return RMW_RET_ERROR;
  }
  const std::shared_ptr<Lent>& lent = *found;
  if (lent->chunk) return publish_in_place(*lent, allocation);
  if (!lent->loan) return publish(native, allocation);
  return publish_made(
      memory::Selection::kInPlace,
      [&](const auto& give, bool) -> Result<void> {
        Result<containers::NativeLoan::Filled> filled = lent->loan->fill();
        if (!filled) return filled.error();
        copied_bytes_ += filled->copied_bytes;
        Result<void> given = give(filled->chunk);
        if (given) lent->loan->published();
        return given;
      },
      [&] { return underlying()->rmw_publish(inner_, native, allocation); });
}

BATON_HOT rmw_ret_t PublisherPath::publish_in_place(Lent& lent, rmw_publisher_allocation_t* allocation) {
  // Once Baton has the chunk, it may be released and lent again. So the underlying RMW gets a copy.
  std::unique_ptr<std::byte[]> copy;
  return publish_made(
      memory::Selection::kInPlace,
      [&](const auto& give, bool also) -> Result<void> {
        if (also) {
          copy.reset(new std::byte[type_->info.skeleton_bytes]);
          std::memcpy(copy.get(), lent.native, type_->info.skeleton_bytes);
        }
        Result<void> given = give(*lent.chunk);
        if (given) lent.chunk.reset();
        return given;
      },
      [&] { return underlying()->rmw_publish(inner_, lent.chunk ? lent.native : copy.get(), allocation); });
}

/// `selection`: how the message was made. `room`: the most bytes that the message takes; 0: not known.
template <class Fill, class Write>
BATON_HOT rmw_ret_t PublisherPath::publish_filled(memory::Selection selection, std::size_t room, Fill&& fill,
                                                  Write&& write_underlying) {
  return publish_made(
      selection,
      [&](const auto& publish, bool) -> Result<void> {
        Result<memory::Chunk> chunk = room != 0 ? writer_->loan_sized(room) : writer_->loan_growing();
        if (!chunk) return out_of_line([&] { return chunk.error(); });
        message::LoanBuilder builder(chunk->message());
        Result<void> done = fill(builder);
        if (done) done = publish(*chunk);
        if (done)
          copied_bytes_ += chunk->header->size_bytes;
        else
          out_of_line([&] { writer_->abandon(*chunk); });
        return done;
      },
      write_underlying);
}

/// `make(publish, also)` makes the chunk and gives it to `publish`; if that fails it keeps or abandons the chunk.
/// `also`: write_underlying() comes next.
template <class Make, class Write>
BATON_HOT rmw_ret_t PublisherPath::publish_made(memory::Selection selection, Make&& make, Write&& write_underlying) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (deadline_ != 0) last_publish_ns_.store(os::monotonic_ns(), std::memory_order_relaxed);  // a time: orders nothing
  const bool also = always_ || underlying_needed();
  OrderHeader header = last_;
  ++header.number;
  bool handed = false;
  if (durable_ || writer_->matched() != 0) {
    if (also) ++header.underlying_count;
    // After a failed write, the underlying RMW gives this message a number that was announced for another message.
    header.also_underlying = also && !write_failed_;
    const auto publish = [&](const memory::Chunk& chunk) -> Result<void> {
      // The statement about older messages does not hold for a reader that Baton has matched since.
      if (need_.older() != OlderUnderlying::kUnknown && writer_->matched() == need_.matched_baton() && !write_failed_)
        header.older = need_.older();
      transport::PublishInfo info = header.encode();
      info.selection = selection;
      Result<std::uint64_t> published = writer_->publish(chunk, info);
      if (!published) return out_of_line([&] { return published.error(); });
      handed = true;
      need_.handed_over();
      ++through_baton_;
      return {};
    };
    const Result<void> made = make(publish, also);
    if (!handed) {
      out_of_line([&] {
        RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s: a message takes the underlying RMW only: %s", inner_->topic_name,
                                made.error().message.c_str());
      });
    }
  }
  if (handed && !also) {
    last_ = header;
    return manual_liveliness_ ? underlying()->rmw_publisher_assert_liveliness(inner_) : RMW_RET_OK;
  }
  return publish_underlying(header.number, handed, also, write_underlying);
}

/// The part of the underlying RMW in publish_made(). `handed`: Baton has the message, too.
template <class Write>
BATON_COLD rmw_ret_t PublisherPath::publish_underlying(std::uint64_t number, bool handed, bool also,
                                                       Write&& write_underlying) {
  ++through_underlying_;
  const rmw_ret_t result = write_underlying();
  if (result != RMW_RET_OK && !handed) return result;  // neither path has the message: report that to the application
  last_.number = number;
  if (result == RMW_RET_OK) {
    ++last_.underlying_count;
    write_failed_ = false;
  } else {  // Baton's readers have the message. Its number in the underlying RMW goes to the next message.
    rcutils_reset_error();
    write_failed_ = also;
  }
  return RMW_RET_OK;
}

/// Whether the next message must be written to the underlying RMW. With mutex_.
BATON_HOT bool PublisherPath::underlying_needed() {
  std::size_t matched = need_.matched_underlying();
  if ((matched_signal_ == nullptr || matched_signal_->clear()) && !count_underlying_readers(&matched)) return true;
  const std::size_t matched_baton = writer_->matched();
  if (need_.is_due(matched, matched_baton, os::monotonic_ns)) look(matched, matched_baton);
  return need_.needed();
}

bool PublisherPath::count_underlying_readers(std::size_t* matched) {
  if (underlying()->rmw_publisher_count_matched_subscriptions(inner_, matched) == RMW_RET_OK) return true;
  rcutils_reset_error();
  if (matched_signal_ != nullptr) matched_signal_->set();
  need_.forget_older();
  return false;
}

void PublisherPath::look(std::size_t matched_underlying, std::size_t matched_baton) {
  UnderlyingNeed::Facts facts;
  facts.matched_underlying = matched_underlying;
  facts.matched_baton = matched_baton;
  facts.served = writer_->matched_readers();
  facts.graph = baton_context_->participant().endpoints();
  for (KnownSubscription& known : known_subscriptions(inner_node_, inner_->topic_name)) {
    rmw_qos_compatibility_type_t compatibility = RMW_QOS_COMPATIBILITY_OK;
    if (underlying()->rmw_qos_profile_check_compatible(qos_, known.qos, &compatibility, nullptr, 0) != RMW_RET_OK)
      rcutils_reset_error();
    facts.known.push_back({known.gid, std::move(known.node), compatibility != RMW_QOS_COMPATIBILITY_ERROR});
  }
  // Later readers would read the history of a durable publisher, with its statements about the present newcomers.
  facts.wrote_underlying = last_.underlying_count != 0 && !durable_;
  facts.process_ended = os::process_ended;
  facts.context_of = [this](const transport::Gid& gid) {
    return baton_context_->announcement().context_of(baton_context_->participant(), gid);
  };
  need_.look(facts, os::monotonic_ns());
}

std::size_t PublisherPath::matched_only_in_baton(std::size_t matched_underlying) {
  if (writer_->matched() == 0) return 0;
  transport::Participant& participant = baton_context_->participant();
  const std::uint64_t version = participant.graph_version();  // before the graph is read
  const std::lock_guard<std::mutex> lock(counted_mutex_);
  if (counted_ && counted_->graph_version == version && counted_->matched_underlying == matched_underlying)
    return counted_->count;
  const std::vector<KnownSubscription> known = known_subscriptions(inner_node_, inner_->topic_name);
  const std::vector<transport::Gid> readers = writer_->matched_readers();
  const auto count = std::count_if(readers.begin(), readers.end(), [&](const transport::Gid& gid) {
    // The underlying RMW may not have met an end of another context yet: it counts that one when it has.
    return baton_context_->announcement().context_of(participant, gid) == ContextState::kUnknown &&
           std::none_of(known.begin(), known.end(), [&](const KnownSubscription& each) { return each.gid == gid; });
  });
  counted_ = {version, matched_underlying, static_cast<std::size_t>(count)};
  return counted_->count;
}

/// For `baton doctor`: a JSON object.
std::string PublisherPath::describe() {
  const std::lock_guard<std::mutex> lock(mutex_);
  need_.look_again();
  underlying_needed();
  std::string made = "{\"gid\": " + quoted(os::hexadecimal(writer_->gid())) +
                     ", \"topic\": " + quoted(inner_->topic_name) + ", \"node\": " + quoted(full_name(*inner_node_)) +
                     ", \"fixed_size\": " + (type_->native->same_layout() ? "true" : "false") +
                     ", \"through_baton\": " + std::to_string(through_baton_) +
                     ", \"through_underlying\": " + std::to_string(through_underlying_) + ", \"both\": " +
                     quoted(durable_  ? "transient local"
                            : always_ ? "BATON_RMW_PATHS=both"
                                      : "") +
                     ", \"readers\": [";
  for (const UnderlyingNeed::Judged& each : need_.readers()) {
    if (&each != need_.readers().data()) made += ", ";
    made += "{\"gid\": " + quoted(os::hexadecimal(each.gid)) + ", \"node\": " + quoted(each.node) +
            ", \"underlying\": " + (each.needs_underlying ? "true" : "false") + ", \"why\": " + quoted(each.why) + "}";
  }
  return made + "]}";
}

}  // namespace baton::rmw
