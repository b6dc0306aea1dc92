// SPDX-License-Identifier: Apache-2.0
#include <ros/console.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "baton/message/builder.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/shortage.hpp"
#include "baton/ros1/ros1.hpp"
#include "baton/sfm/size.hpp"
#include "endpoints.hpp"
#include "memory.hpp"

namespace baton::ros1::recompiled {
namespace {

using Core = baton::detail::PublisherCore;

/// The process's publishers by type; of one type the one that was used last is last.
struct Publishers {
  os::Mutex mutex;
  std::unordered_map<const message::Type*, std::vector<std::shared_ptr<Core>>> known BATON_GUARDED_BY(mutex);
};

Publishers& publishers() {
  static Publishers& one = *new Publishers;  // ros::Publishers with static storage may end later
  return one;
}

void use(const MessageClass& message, const std::shared_ptr<Core>& core) {
  Publishers& all = publishers();
  const os::Lock lock(all.mutex);
  std::vector<std::shared_ptr<Core>>& same = all.known[&message.type];
  if (!same.empty() && same.back() == core) return;
  same.erase(std::remove(same.begin(), same.end(), core), same.end());
  same.push_back(core);
}

void forget(const MessageClass& message, const std::shared_ptr<Core>& core) {
  Publishers& all = publishers();
  const os::Lock lock(all.mutex);
  std::vector<std::shared_ptr<Core>>& same = all.known[&message.type];
  same.erase(std::remove(same.begin(), same.end(), core), same.end());
}

thread_local int g_making_stock = 0;

QoS qos_of(const ros::AdvertiseOptions& options) {
  return options.latch ? QoS(1).transient_local() : QoS(ros1::detail::depth_of(options.queue_size));
}

}  // namespace

MakingStock::MakingStock() { ++g_making_stock; }
MakingStock::~MakingStock() { --g_making_stock; }
bool MakingStock::now() { return g_making_stock > 0; }

std::shared_ptr<Core> publisher_of(const MessageClass& message) {
  Publishers& all = publishers();
  const os::Lock lock(all.mutex);
  const auto found = all.known.find(&message.type);
  return found == all.known.end() || found->second.empty() ? nullptr : found->second.back();
}

PublisherEnd::PublisherEnd(ros::NodeHandle& handle, const ros::AdvertiseOptions& options, const MessageClass& message)
    : message_(message),
      codec_(message::Ros1Codec::compile(message.type).or_throw()),
      node_(ros1::node()),
      mode_(ros1::default_mode()),
      announced_(ros1::detail::announce_publisher(*node_, options.topic, mode_)),
      core_(ros1::detail::make_publisher_for_ros(*node_, options.topic, message.type, qos_of(options))),
      has_header_(options.has_header),
      side_(handle, options.topic, options.queue_size, options.latch, mode_,
            {options.datatype, options.md5sum, options.message_definition}, message.type, node_, core_->writer(),
            options.has_header) {
  core_->habit().copy_first();  // most programs publish by reference and fill the same object again
  use(message_, core_);
}

PublisherEnd::~PublisherEnd() { forget(message_, core_); }

void PublisherEnd::publish(const MessageClass& message, const void* object, bool is_shared) {
  if (message.info != message_.info) {
    throw Exception(Error{Errc::type_mismatch, std::string("the topic was advertised as ") + message_.type.name +
                                                   ", and the message is a " + message.type.name});
  }
  if (publish_in_place(object, is_shared ? Form::kPointer : Form::kReference)) {
    use(message, core_);
    return;
  }
  const std::size_t bytes = sfm::copy_size(message.type, object);
  const Result<memory::Chunk> chunk = core_->writer()->loan_sized(bytes);
  if (!chunk) return publish_by_tcp(message.serialize(object), chunk.error());
  publish_loan(*chunk, [&](const memory::Chunk& loan) { message.copy(loan.message(), object); });
  core_->count_copy(bytes);
  use(message, core_);
}

bool PublisherEnd::publish_in_place(const void* object, Form form) {
  const std::optional<Place> place = begin_publish(object, core_, form);
  if (!place) return false;
  memory::Chunk chunk = place->chunk;
  std::unique_ptr<memory::OwnCopy> own_copy;
  if (form == Form::kReference) {
    Result<std::unique_ptr<memory::OwnCopy>> made = memory::OwnCopy::make(chunk);
    if (!made) {
      cancel_publish(object);
      return false;
    }
    own_copy = std::move(*made);
    if (has_header_) {  // the number goes into the message, not into the object, which has its first page from now on
      auto* const number = static_cast<volatile std::uint32_t*>(chunk.message());
      *number = *number;
    }
    chunk = own_copy->shared();
  }
  bool published = false;
  try {
    side_.publish(chunk.message(), chunk.capacity_bytes, [&] {
      transport::PublishInfo info;
      info.keep = true;  // until release(): the program may still use it
      side_.mark(info);
      const std::uint64_t number = core_->publish(chunk, info).or_throw();
      published = true;
      return number;
    });
  } catch (...) {
    if (published && own_copy) leave_to_program(object, std::move(own_copy));
    // A chunk whose pages are not shared any more counts as published: it is never handed over.
    if (!published && (!own_copy || own_copy->end())) cancel_publish(object);
    throw;
  }
  if (own_copy) leave_to_program(object, std::move(own_copy));
  return true;
}

void PublisherEnd::publish(const ros::SerializedMessage& wire) {
  const Result<memory::Chunk> chunk = core_->loan(message_.type);
  if (!chunk) return publish_by_tcp(wire, chunk.error());
  try {
    decode(wire, *chunk);
  } catch (const Exception& error) {
    core_->writer()->abandon(*chunk);
    if (!finds_no_room(error.code())) throw;
    return publish_by_tcp(wire, {error.code(), error.what()});
  }
  publish_loan(*chunk, [](const memory::Chunk&) {});
  core_->count_copy(wire.num_bytes);
  use(message_, core_);
}

void PublisherEnd::publish_by_tcp(const ros::SerializedMessage& wire, const Error& why) {
  if (!finds_no_room(why.code)) throw Exception(why);
  ROS_WARN_THROTTLE(1.0, "baton: a message on %s goes by TCP: %s", core_->topic().c_str(), why.message.c_str());
  side_.publish_bytes(wire);
}

void PublisherEnd::publish_to(const ros::SingleSubscriberPublisher& subscriber, const ros::SerializedMessage& wire) {
  side_.publish_to(subscriber, wire, [&](const transport::Gid& reader) {
    const memory::Chunk chunk = core_->loan(message_.type).or_throw();
    try {
      decode(wire, chunk);
      transport::PublishInfo info;
      info.only_reader = &reader;
      return core_->publish(chunk, info).or_throw();
    } catch (...) {
      core_->writer()->abandon(chunk);
      throw;
    }
  });
}

void PublisherEnd::publish_loan(const memory::Chunk& chunk, const std::function<void(const memory::Chunk&)>& fill) {
  bool published = false;
  try {
    fill(chunk);
    side_.publish(chunk.message(), chunk.capacity_bytes, [&] {
      transport::PublishInfo info;
      side_.mark(info);
      const std::uint64_t number = core_->publish(chunk, info).or_throw();
      published = true;
      return number;
    });
  } catch (...) {
    if (!published) core_->writer()->abandon(chunk);
    throw;
  }
}

void PublisherEnd::decode(const ros::SerializedMessage& wire, const memory::Chunk& chunk) const {
  message::LoanBuilder builder(chunk.message());
  const auto length = static_cast<std::size_t>(wire.message_start - wire.buf.get());  // TCPROS's, before the message
  codec_.decode({wire.message_start, wire.num_bytes - length}, builder).or_throw();
}

std::uint32_t PublisherEnd::subscribers() const {
  const ros1::detail::PublisherSide::Subscribers all = side_.subscribers();
  return all.own + all.handles + all.serialized;
}

}  // namespace baton::ros1::recompiled
