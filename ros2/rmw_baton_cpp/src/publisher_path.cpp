// SPDX-License-Identifier: Apache-2.0
#include "publisher_path.hpp"

#include <algorithm>
#include <cstring>

#include "baton/os/clock.hpp"
#include "baton/os/process.hpp"
#include "baton/os/wake_socket.hpp"
#include "endpoints.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/error_handling.h"

namespace baton::rmw {
namespace {

constexpr std::uint32_t kMostSlots = 4096;              // of address space for large messages: a terabyte
constexpr std::int64_t kLookAgainNs = 20'000'000;       // while somebody below is not served, or not known yet
constexpr std::int64_t kForgetLeftNs = 60'000'000'000;  // longer than any lease that ROS 2's RMWs use by default

}  // namespace

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
  if (!qos || !may_be_served(inner->topic_name, profile)) return nullptr;
  Result<std::shared_ptr<const TypeSupport>> type_support = type_support_of(type, "publisher", inner->topic_name);
  if (!type_support) return nullptr;
  std::unique_ptr<PublisherPath> path(new PublisherPath(baton_context, inner_node, inner));
  path->type_ = *type_support;
  transport::Participant::WriterOptions options;
  options.topic = inner->topic_name;
  options.node = full_name(*inner_node);
  options.type = (*type_support)->info;
  options.qos = *qos;
  static_assert(RMW_GID_STORAGE_SIZE == sizeof options.gid);
  std::memcpy(options.gid.data(), gid.data, options.gid.size());
  // What finds no memory goes below, and nothing unread is given up for it; but a history is of the newest messages.
  if (qos->durability == Durability::kTransientLocal) {
    options.pool.slots = std::clamp(2 * qos->depth, options.pool.slots, kMostSlots);
  } else {
    options.pool.policy = memory::Policy::kNone;
  }
  Result<std::shared_ptr<transport::Writer>> writer = baton_context->participant().create_writer(options);
  if (!writer) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "publisher of %s takes the underlying RMW only: %s", inner->topic_name,
                           writer.error().message.c_str());
    return nullptr;
  }
  path->writer_ = std::move(*writer);
  path->capacities_ = std::make_unique<heap::Capacities>(*path->type_->loans);
  path->qos_ = profile;
  path->durable_ = qos->durability == Durability::kTransientLocal;
  path->manual_liveliness_ = qos->liveliness == Liveliness::kManualByTopic;
  path->always_ = path->durable_ || baton_context->both();
  Event& matched = events[RMW_EVENT_PUBLICATION_MATCHED];
  if (ring_below(matched, inner, RMW_EVENT_PUBLICATION_MATCHED)) path->matched_rings_ = &matched.signal;
  if (qos->deadline != kInfinite) {
    Event& missed = events[RMW_EVENT_OFFERED_DEADLINE_MISSED];
    missed.below = false;
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
  RCUTILS_LOG_DEBUG_NAMED(kLogger, "publisher of %s: %lu messages through Baton (%lu bytes copied in), %lu below",
                          inner_->topic_name, through_baton_, copied_bytes_, through_below_);
}

[[gnu::hot]] rmw_ret_t PublisherPath::publish(const void* native, rmw_publisher_allocation_t* allocation) {
  return hand_over(
      memory::Selection::kLow, type_->info.fixed_size ? type_->info.skeleton_bytes : type_->native->room_for(native),
      [&](message::Builder& builder) { return type_->native->write(native, builder); },
      [&] { return underlying()->rmw_publish(inner_, native, allocation); });
}

rmw_ret_t PublisherPath::publish_serialized(const rmw_serialized_message_t& serialized,
                                            rmw_publisher_allocation_t* allocation) {
  return hand_over(
      memory::Selection::kHigh, 0,
      [&](message::Builder& builder) -> Result<void> {
        Result<std::size_t> used = type_->cdr.decode({serialized.buffer, serialized.buffer_length}, builder);
        if (!used) return used.error();
        return {};
      },
      [&] { return underlying()->rmw_publish_serialized_message(inner_, &serialized, allocation); });
}

/// A message that the application has.
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
  std::optional<memory::Chunk> chunk;  // in_chunk: until it is published, `native` is its message
  // Arrays in a chunk. Neither: the pool had none, and this is a message like any other.
  std::optional<heap::NativeLoan> loan;
};

[[gnu::hot]] rmw_ret_t PublisherPath::borrow(void** native) {
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
      Result<heap::NativeLoan> loan = heap::NativeLoan::begin(writer_, *type_->loans, *capacities_, lent->native);
      if (loan) lent->loan.emplace(std::move(*loan));
    }
  }
  *native = lent->native;
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  lent_.push_back(std::move(lent));
  return RMW_RET_OK;
}

[[gnu::hot]] std::shared_ptr<PublisherPath::Lent> PublisherPath::return_of(void* native) {
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  for (std::shared_ptr<Lent>& each : lent_) {
    if (each->native != native) continue;
    std::swap(each, lent_.back());
    std::shared_ptr<Lent> lent = std::move(lent_.back());
    lent_.pop_back();
    return lent;
  }
  return nullptr;
}

rmw_ret_t PublisherPath::give_back(void* native) {
  if (return_of(native)) return RMW_RET_OK;
  RMW_SET_ERROR_MSG("this message was not borrowed from this publisher");
  return RMW_RET_ERROR;
}

[[gnu::hot]] rmw_ret_t PublisherPath::publish_loaned(void* native, rmw_publisher_allocation_t* allocation) {
  const std::shared_ptr<Lent> lent = return_of(native);
  if (!lent) {
    RMW_SET_ERROR_MSG("this message was not borrowed from this publisher");
    return RMW_RET_ERROR;
  }
  if (lent->chunk) return publish_in_place(*lent, allocation);
  if (!lent->loan) return publish(native, allocation);
  return hand_over_made(
      memory::Selection::kInPlace,
      [&](const auto& give, bool) -> Result<void> {
        Result<heap::NativeLoan::Filled> filled = lent->loan->fill();
        if (!filled) return filled.error();
        copied_bytes_ += filled->copied_bytes;
        Result<void> given = give(filled->chunk);
        if (given) lent->loan->published();
        return given;
      },
      [&] { return underlying()->rmw_publish(inner_, native, allocation); });
}

[[gnu::hot]] rmw_ret_t PublisherPath::publish_in_place(Lent& lent, rmw_publisher_allocation_t* allocation) {
  // Once Baton has the chunk, it may be released and lent again: what also goes below is copied before.
  std::unique_ptr<std::byte[]> copy;
  return hand_over_made(
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

/// `selection`: what the message says of its making. `room`: the bytes that it takes at most, 0 if that is not known.
template <class Fill, class Below>
[[gnu::hot]] rmw_ret_t PublisherPath::hand_over(memory::Selection selection, std::size_t room, Fill&& fill,
                                                Below&& below) {
  return hand_over_made(
      selection,
      [&](const auto& publish, bool) -> Result<void> {
        Result<memory::Chunk> chunk = room != 0 ? writer_->loan_sized(room) : writer_->loan_growing();
        if (!chunk) return chunk.error();
        message::LoanBuilder builder(chunk->message());
        Result<void> done = fill(builder);
        if (done) done = publish(*chunk);
        if (done)
          copied_bytes_ += chunk->header->size_bytes;
        else
          writer_->abandon(*chunk);
        return done;
      },
      below);
}

/// `make(publish, also)` makes the chunk, gives it to `publish`, and keeps or abandons it if that fails. `also`: below() comes next.
template <class Make, class Below>
[[gnu::hot]] rmw_ret_t PublisherPath::hand_over_made(memory::Selection selection, Make&& make, Below&& below) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (deadline_ != 0) last_publish_ns_.store(os::monotonic_ns(), std::memory_order_relaxed);  // a time: orders nothing
  const bool also = always_ || someone_below();
  OrderHeader header = last_;
  ++header.number;
  bool handed = false;
  if (durable_ || writer_->matched() != 0) {
    if (also) ++header.underlying_count;
    // After a failure below, the number that this message will have there is one that was announced before: see of_baton().
    header.also_underlying = also && !below_failed_;
    const auto give = [&](const memory::Chunk& chunk) -> Result<void> {
      // Not if somebody else has come meanwhile, or this message will have another's number below.
      if (older_ != OlderUnderlying::kUnknown && writer_->matched() == matched_here_ && !below_failed_)
        header.older = older_;
      transport::PublishInfo info = header.encode();
      info.selection = selection;
      Result<std::uint64_t> published = writer_->publish(chunk, info);
      if (!published) return published.error();
      handed = true;
      fresh_.clear();
      older_ = OlderUnderlying::kUnknown;
      ++through_baton_;
      return {};
    };
    const Result<void> made = make(give, also);
    if (!handed)
      RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s: a message goes below: %s", inner_->topic_name,
                              made.error().message.c_str());
  }
  if (handed && !also) {
    last_ = header;
    return manual_liveliness_ ? underlying()->rmw_publisher_assert_liveliness(inner_) : RMW_RET_OK;
  }
  ++through_below_;
  const rmw_ret_t result = below();
  if (result != RMW_RET_OK) {
    if (!handed) return result;  // neither path has it: the application is told
    // Baton's subscriptions have it; the number that it claims below goes to the next message.
    rcutils_reset_error();
    below_failed_ = also;
    last_.number = header.number;
    return RMW_RET_OK;
  }
  last_.number = header.number;
  ++last_.underlying_count;
  below_failed_ = false;
  return RMW_RET_OK;
}

/// Whether a subscription that the underlying RMW knows is not served by Baton. With mutex_.
[[gnu::hot]] bool PublisherPath::someone_below() {
  std::size_t matched = matched_below_;
  if ((matched_rings_ == nullptr || matched_rings_->clear()) &&
      underlying()->rmw_publisher_count_matched_subscriptions(inner_, &matched) != RMW_RET_OK) {
    rcutils_reset_error();
    if (matched_rings_ != nullptr) matched_rings_->set();
    older_ = OlderUnderlying::kUnknown;
    return true;
  }
  const std::size_t here = writer_->matched();
  const bool changed = !looked_ || matched != matched_below_ || here != matched_here_;
  if (changed || needed_ || !left_.empty() || !fresh_.empty()) {
    const std::int64_t now_ns = os::monotonic_ns();
    if (changed || !fresh_.empty() || now_ns >= next_look_ns_) {
      matched_below_ = matched;
      matched_here_ = here;
      look_who_is_below(now_ns);
    }
  }
  return needed_ || older_ == OlderUnderlying::kFollowed;
}

void PublisherPath::look_who_is_below(std::int64_t now_ns) {
  looked_ = true;
  next_look_ns_ = now_ns + kLookAgainNs;
  const std::vector<transport::Gid> readers = writer_->matched_readers();
  const std::vector<transport::EndpointInfo> endpoints = baton_context_->participant().endpoints();
  std::map<transport::Gid, Origin> served;
  for (const transport::Gid& gid : readers) {
    Origin& origin = served[gid] = origin_of(endpoints, gid);
    const auto before = served_.find(gid);
    if (!origin.known && before != served_.end()) origin = before->second;  // on its way out of the graph
  }
  for (const auto& [gid, origin] : served_) {
    if (served.count(gid) == 0) left_.emplace(gid, Left{origin, now_ns});
  }
  for (const auto& [gid, origin] : served) {
    if (served_.count(gid) == 0) fresh_.push_back(gid);
  }
  const auto is_not_served = [&](const transport::Gid& gid) { return served.count(gid) == 0; };
  fresh_.erase(std::remove_if(fresh_.begin(), fresh_.end(), is_not_served), fresh_.end());
  served_ = std::move(served);

  std::size_t accounted_for = 0, fresh_and_known = 0;
  needed_ = false;
  judged_.clear();
  std::map<transport::Gid, Left> still_left;
  for (const KnownSubscription& known : known_subscriptions(inner_node_, inner_->topic_name)) {
    const std::string node = (known.node_namespace == "/" ? "" : known.node_namespace) + "/" + known.node;
    const auto judge = [&](bool below, const char* why) { judged_.push_back({known.gid, node, below, why}); };
    if (served_.count(known.gid) != 0) {
      ++accounted_for;
      if (std::find(fresh_.begin(), fresh_.end(), known.gid) != fresh_.end()) ++fresh_and_known;
      judge(false, "");
      continue;
    }
    rmw_qos_compatibility_type_t compatibility = RMW_QOS_COMPATIBILITY_OK;
    if (underlying()->rmw_qos_profile_check_compatible(qos_, known.qos, &compatibility, nullptr, 0) != RMW_RET_OK) {
      rcutils_reset_error();
    } else if (compatibility == RMW_QOS_COMPATIBILITY_ERROR) {
      judge(false, "quality of service does not match");
      continue;
    }
    const auto left = left_.find(known.gid);
    if (left != left_.end() && now_ns - left->second.since_ns < kForgetLeftNs) {
      still_left.insert(*left);
      if (has_left(endpoints, known.gid, left->second.origin, os::process_ended)) {
        ++accounted_for;
        judge(false, "has left; the underlying RMW does not know yet");
        continue;
      }
    }
    const ContextAnnouncement::Context context =
        baton_context_->announcement().context_of(baton_context_->participant(), known.gid);
    if (context == ContextAnnouncement::Context::kDead) {  // killed before Baton served it
      ++accounted_for;
      judge(false, "its process died; the underlying RMW does not know yet");
      continue;
    }
    judge(true, context == ContextAnnouncement::Context::kAlive
                    ? "Baton does not serve it (yet): a content filter, a type or topic that is not for Baton"
                    : "its process is not in Baton: another RMW, machine or runtime directory, BATON_RMW_PATHS=below, "
                      "or security");
    needed_ = true;
  }
  left_ = std::move(still_left);
  if (matched_below_ > accounted_for) needed_ = true;
  const auto below = std::count_if(judged_.begin(), judged_.end(), [](const Judged& each) { return each.below; });
  const std::size_t known_below = accounted_for + static_cast<std::size_t>(below);
  older_ = OlderUnderlying::kUnknown;
  // All that are known are matched, and no others: what is written below goes to them, and to nobody else. What a durable publisher
  // says of a message, those would hear who come later.
  if (matched_below_ == known_below && !fresh_.empty() && last_.underlying_count != 0 && !durable_) {
    if (fresh_and_known == 0) older_ = OlderUnderlying::kNone;
    if (fresh_and_known == fresh_.size()) older_ = OlderUnderlying::kFollowed;
  }
  if (matched_below_ > known_below)
    judged_.push_back({{}, "?", true, "matched, but not in the graph: it has just come"});
}

/// For `baton doctor`: a JSON object.
std::string PublisherPath::describe() {
  const std::lock_guard<std::mutex> lock(mutex_);
  looked_ = false;
  someone_below();
  std::string made = "{\"gid\": " + quoted(hexadecimal(writer_->gid())) + ", \"topic\": " + quoted(inner_->topic_name) +
                     ", \"node\": " + quoted(full_name(*inner_node_)) +
                     ", \"fixed_size\": " + (type_->native->same_layout() ? "true" : "false") +
                     ", \"through_baton\": " + std::to_string(through_baton_) +
                     ", \"through_below\": " + std::to_string(through_below_) + ", \"both\": " +
                     quoted(durable_  ? "transient local"
                            : always_ ? "BATON_RMW_PATHS=both"
                                      : "") +
                     ", \"readers\": [";
  for (const Judged& each : judged_) {
    if (&each != judged_.data()) made += ", ";
    made += "{\"gid\": " + quoted(hexadecimal(each.gid)) + ", \"node\": " + quoted(each.node) +
            ", \"below\": " + (each.below ? "true" : "false") + ", \"why\": " + quoted(each.why) + "}";
  }
  return made + "]}";
}

}  // namespace baton::rmw
