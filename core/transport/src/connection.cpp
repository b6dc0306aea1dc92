// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <algorithm>

#include "baton/os/crash_point.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/memory_file.hpp"
#include "baton/os/trace.hpp"

namespace baton::transport {

EventLine::EventLine(EventLine&& other) noexcept
    : line_(other.line_), pages_(std::move(other.pages_)), page_(std::move(other.page_)), index_(other.index_) {}

EventLine& EventLine::operator=(EventLine&& other) noexcept {
  std::swap(line_, other.line_);
  std::swap(pages_, other.pages_);
  std::swap(page_, other.page_);
  std::swap(index_, other.index_);
  return *this;
}

EventLine::~EventLine() {
  if (!page_ || page_->mapping.generation() != os::fork_generation()) return;
  const os::Lock lock(pages_->mutex_);
  page_->used[index_] = false;
}

Result<EventLine> EventPages::allocate() {
  const os::Lock lock(mutex_);
  EventLine out;
  for (const auto& page : pages_) {
    for (std::uint32_t i = 0; i < kLinesPerPage && !out.page_; ++i) {
      if (page->used[i]) continue;
      out.page_ = page;
      out.index_ = i;
    }
    if (out.page_) break;
  }
  if (!out.page_) {
    Result<os::CreatedSegment> created = os::create_segment("baton-events", kEventPageBytes, os::Writers::kOnlyCreator);
    if (!created) return created.error();
    auto page = os::make_hot_shared<EventPage>();
    page->mapping = std::move(created->mapping);
    page->fd = std::make_shared<const os::UniqueFd>(os::move_high(std::move(created->fd)));
    pages_.push_back(page);
    out.page_ = std::move(page);
    out.index_ = 0;
  }
  out.page_->used[out.index_] = true;
  out.line_ = reinterpret_cast<ControlLine*>(out.page_->mapping.base()) + out.index_;
  out.pages_ = shared_from_this();
  return out;
}

BATON_HOT_SELDOM SegmentUse* ReaderConnection::search_segment(std::uint32_t index) noexcept {
  for (const auto& use : segments) {
    if (use->index == index) return last_used = use.get();
  }
  return nullptr;
}

BATON_COLD std::uint64_t ReaderConnection::count_lost(std::uint64_t sequence, std::uint64_t position) noexcept {
  // Without a number to expect: as many as were pushed before it. A smaller number is of a message from before the
  // connection: Writer::hand_newest_to().
  const std::uint64_t lost = next_sequence == 0         ? position
                             : sequence > next_sequence ? lost_in_gap(sequence - next_sequence)
                                                        : 0;
  next_sequence = std::max(next_sequence, sequence + 1);
  return lost;
}

const Gid& TakenSample::publisher() const noexcept { return connection_->writer; }

std::uint64_t TakenSample::process() const noexcept { return connection_->process; }

bool TakenSample::names_own_client() const noexcept {
  Gid client{};
  std::copy_n(header_->correlation_client, client.size(), client.begin());
  return prefix_of(client) == prefix_of(publisher());
}

}  // namespace baton::transport
