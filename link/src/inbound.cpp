// SPDX-License-Identifier: Apache-2.0
#include "inbound.hpp"

#include <cstring>

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
  // On the way a message is padded to a multiple of 4.
  if (header.size_bytes > message_bytes || message_bytes - header.size_bytes > 3 ||
      header.size_bytes > memory::kMaxMessageBytes) {
    return Error{Errc::protocol_violation, "its header says " + std::to_string(header.size_bytes) + " bytes, and " +
                                               std::to_string(message_bytes) + " came"};
  }
  if (header.sequence == 0) return Error{Errc::protocol_violation, "it has no number"};
  return out;
}

/// A chunk in the memory of the publisher that stands for its own.
struct InboundChannel::InLoan final : Arriving {
  InLoan(std::shared_ptr<transport::Writer> to, const memory::Chunk& loan) : writer(std::move(to)), chunk(loan) {
    message = static_cast<std::byte*>(loan.message());
  }
  ~InLoan() override {
    if (chunk.header != nullptr) writer->abandon(chunk);
  }
  std::shared_ptr<transport::Writer> writer;
  memory::Chunk chunk;  ///< null once published
  ArrivedHeader arrived{};
};

/// A chunk whose publisher is not known yet.
struct InboundChannel::Parked final : Arriving {
  Parked(std::size_t size, std::atomic<std::size_t>& counted)
      : bytes(new std::byte[size]), total(counted), size_(size) {
    message = bytes.get();
    size_bytes = size;
    total.fetch_add(size_, std::memory_order_relaxed);
  }
  ~Parked() override { total.fetch_sub(size_, std::memory_order_relaxed); }
  const std::unique_ptr<std::byte[]> bytes;
  std::atomic<std::size_t>& total;
  ArrivedHeader arrived{};

 private:
  const std::size_t size_;
};

InboundChannel::InboundChannel(std::string topic, std::shared_ptr<const CarriedType> type,
                               std::shared_ptr<Saying> saying)
    : topic_(std::move(topic)), type_(std::move(type)), saying_(std::move(saying)) {}

InboundChannel::~InboundChannel() = default;

void InboundChannel::refuse(Errc code, const std::string& why) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  saying_->say_rarely("refused " + topic_, Saying::Level::kError, code,
                      "a message of another host for '" + topic_ + "' is lost: " + why);
}

std::unique_ptr<Arriving> InboundChannel::begin(const ChunkHeader& header, std::size_t arriving_bytes) {
  const Result<ArrivedHeader> arrived = read_header(header, arriving_bytes);
  if (!arrived) {
    refuse(arrived.error().code, arrived.error().message);
    return nullptr;
  }
  const std::size_t size_bytes = arrived->header.size_bytes;
  const transport::TypeInfo& type = type_->info;
  if (std::memcmp(arrived->header.type_hash, type.hash.data(), sizeof header.type_hash) != 0 ||
      arrived->header.skeleton_bytes != type.skeleton_bytes || size_bytes < type.skeleton_bytes) {
    refuse(Errc::type_mismatch, "it is not of the type " + type.name + " as this host defines it");
    return nullptr;
  }
  std::shared_ptr<transport::Writer> writer;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = writers_.find(publisher_of(header));
    if (found != writers_.end()) writer = found->second;
  }
  if (!writer) {
    if (size_bytes + parked_bytes_.load(std::memory_order_relaxed) > kMostParkedBytes) {
      refuse(Errc::limit_reached, "its publisher is not known here (yet)");
      return nullptr;
    }
    auto parked = std::make_unique<Parked>(size_bytes, parked_bytes_);
    parked->arrived = *arrived;
    return parked;
  }
  Result<memory::Chunk> loan = writer->loan_sized(size_bytes);
  if (!loan) {
    refuse(loan.error().code, loan.error().message);
    return nullptr;
  }
  auto out = std::make_unique<InLoan>(std::move(writer), *loan);
  // All contents are one block behind the skeleton, so that the chunk's size is that of the message.
  if (size_bytes > type.skeleton_bytes) {
    try {
      static_cast<void>(memory::content_allocate(out->message, size_bytes - type.skeleton_bytes, 1));
    } catch (const Exception& error) {
      refuse(error.code(), error.what());
      return nullptr;
    }
  }
  out->size_bytes = size_bytes;
  out->arrived = *arrived;
  return out;
}

void InboundChannel::publish(InLoan& arriving) {
  const ArrivedHeader& arrived = arriving.arrived;
  const message::Type& type = type_->definition.type();
  const Result<void> valid =
      arrived.foreign_order
          ? message::repair_byte_order(type, message::MutableBytes{arriving.message, arriving.size_bytes})
          : message::validate(type, arriving.message, static_cast<std::uint32_t>(arriving.size_bytes));
  if (!valid) return refuse(valid.error().code, valid.error().message);
  const transport::Origin origin{arrived.header.sequence, arrived.header.source_time_ns};
  transport::PublishInfo info;
  info.origin = &origin;
  info.selection = arrived.header.selection;
  std::memcpy(info.correlation_client.data(), arrived.header.correlation_client, info.correlation_client.size());
  info.correlation_sequence = arrived.header.correlation_sequence;
  std::memcpy(info.attachment.data(), arrived.header.attachment, info.attachment.size());
  const Result<std::uint64_t> published = arriving.writer->publish(arriving.chunk, info);
  if (published) {
    arriving.chunk = {};
    delivered_.fetch_add(1, std::memory_order_relaxed);
  } else if (published.error().code != Errc::already_exists) {  // sent again by a link that was started again: not lost
    refuse(published.error().code, published.error().message);
  }
}

void InboundChannel::deliver(std::unique_ptr<Arriving> arriving) {
  if (auto* loan = dynamic_cast<InLoan*>(arriving.get())) return publish(*loan);
  std::unique_ptr<Parked> parked(dynamic_cast<Parked*>(arriving.release()));
  if (!parked) return;
  std::unique_ptr<InLoan> now;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = writers_.find(publisher_of(parked->header));
    if (found == writers_.end()) {
      parked_.push_back(std::move(parked));
      if (parked_.size() <= kMostParked) return;
      parked_.pop_front();
      refuse(Errc::limit_reached, "its publisher is not known here (yet)");
      return;
    }
  }
  if (std::unique_ptr<Arriving> again = begin(parked->header, parked->size_bytes)) {
    std::memcpy(again->message, parked->message, parked->size_bytes);
    again->header = parked->header;
    deliver(std::move(again));
  }
}

void InboundChannel::add(const std::shared_ptr<transport::Writer>& writer) {
  std::deque<std::unique_ptr<Parked>> mine;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    writers_[writer->gid()] = writer;
    std::deque<std::unique_ptr<Parked>> others;
    for (auto& parked : parked_)
      (publisher_of(parked->header) == writer->gid() ? mine : others).push_back(std::move(parked));
    parked_ = std::move(others);
  }
  for (auto& parked : mine) deliver(std::move(parked));
}

void InboundChannel::remove(const Gid& publisher) {
  const std::lock_guard<std::mutex> lock(mutex_);
  writers_.erase(publisher);
}

}  // namespace baton::link
