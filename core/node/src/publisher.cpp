// SPDX-License-Identifier: Apache-2.0
#include "baton/node/publisher.hpp"
#include "baton/os/hot_path.hpp"

namespace baton::detail {

Result<memory::Chunk> PublisherCore::loan(bool fixed, std::size_t bytes, transport::WriterShare* share) {
  Result<memory::Chunk> chunk = fixed ? writer_->loan_sized(bytes) : writer_->loan_growing();
  if (chunk.ok()) *share = transport::WriterShare(*writer_);
  return chunk;
}

Result<std::uint64_t> PublisherCore::publish(const memory::Chunk& chunk, const transport::PublishInfo& info,
                                             transport::WriterShare* share) {
  const bool is_seen = unlikely(events_ != nullptr) && events_->is_on();
  Result<std::uint64_t> sequence = is_seen ? publish_seen(chunk, info) : writer_->publish(chunk, info);
  if (!sequence.ok()) return sequence;
  published_.fetch_add(1, std::memory_order_relaxed);  // a statistic: orders nothing
  if (share != nullptr) share->reset();                // this publisher has one, too
  return sequence;
}

Result<std::uint64_t> PublisherCore::publish_seen(const memory::Chunk& chunk, const transport::PublishInfo& info) {
  transport::PublishInfo kept = info;
  kept.keep = true;
  Result<std::uint64_t> sequence = writer_->publish(chunk, kept);
  if (!sequence.ok()) return sequence;
  events_->sent(info, chunk.message(), chunk.header->size_bytes);
  if (!info.keep) writer_->drop(chunk);
  return sequence;
}

Error PublisherCore::not_its_loan() const {
  return {Errc::invalid_argument,
          "publish on '" + topic_ + "': the loan is empty or of another publisher; publish(*loan) copies it"};
}

void PublisherCore::loan(bool fixed, std::size_t bytes, transport::WriterShare* share, memory::Chunk* chunk) {
  *chunk = lent_or_throw(fixed ? writer_->loan_sized(bytes) : writer_->loan_growing());
  new (static_cast<void*>(share)) transport::WriterShare(*writer_);  // over an empty one
}

std::uint64_t PublisherCore::publish(memory::Chunk* chunk, transport::WriterShare* share) {
  if (chunk->header == nullptr || share->get() != writer_.get()) throw_error(not_its_loan());
  const std::uint64_t sequence = writer_->publish(*chunk).or_throw();
  published_.fetch_add(1, std::memory_order_relaxed);  // a statistic: orders nothing
  *chunk = {};
  share->reset();  // this publisher has one, too
  return sequence;
}

}  // namespace baton::detail
