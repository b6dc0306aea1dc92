// SPDX-License-Identifier: Apache-2.0
#include "line.hpp"

#include <algorithm>
#include <stdexcept>

namespace baton::perf {

Line::Line(const LineSettings& settings)
    : settings_(settings),
      random_(settings.seed),
      loses_(settings.loss),
      overtakes_(settings.overtaking),
      ring_(settings.packets) {
  if (settings.packets == 0) throw std::invalid_argument("a line has room for at least one packet");
}

void Line::push(const std::byte* data, std::size_t bytes, std::int64_t now_ns) {
  ++counts_.entered;
  if (loses_(random_)) {
    ++counts_.lost;
  } else if (inside_ == ring_.size()) {
    ++counts_.refused;
  } else {
    const bool overtakes = settings_.overtaking > 0 && inside_ > 0 && overtakes_(random_);
    if (overtakes) {
      ++counts_.overtook;
      first_ = (first_ + ring_.size() - 1) % ring_.size();
    }
    Packet& packet = ring_[overtakes ? first_ : (first_ + inside_) % ring_.size()];
    ++inside_;
    packet.data.assign(data, data + bytes);
    packet.entered_ns = now_ns;
    packet.due_ns = now_ns + (overtakes ? 0 : settings_.delay_ns);
  }
}

std::int64_t Line::next_ns() const { return inside_ == 0 ? kNever : ring_[first_].due_ns; }

const Line::Packet* Line::front(std::int64_t now_ns) const { return next_ns() <= now_ns ? &ring_[first_] : nullptr; }

void Line::pop(std::int64_t now_ns) {
  const Packet& packet = ring_[first_];
  ++counts_.passed;
  counts_.passed_bytes += packet.data.size();
  counts_.least_held_ns = std::min(counts_.least_held_ns, now_ns - packet.entered_ns);
  counts_.most_held_ns = std::max(counts_.most_held_ns, now_ns - packet.entered_ns);
  first_ = (first_ + 1) % ring_.size();
  --inside_;
}

}  // namespace baton::perf
