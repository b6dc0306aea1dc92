// SPDX-License-Identifier: Apache-2.0
#include "arrivals.hpp"

#include <ros/console.h>

#include <algorithm>

namespace baton::ros1::detail {

using transport::Gid;
using transport::TakenSample;

void Arrivals::set_writers(const std::map<Gid, std::string>& alive) {
  constexpr std::size_t kMostWriters = 1024;
  if (writers_.size() > kMostWriters) writers_.clear();
  for (const auto& [gid, node] : alive) writers_[gid] = node;
}

void Arrivals::make_room() {
  if (sources_.size() < kMostSources) return;
  for (auto each = sources_.begin(); each != sources_.end();) {
    const bool known = writers_.count(each->first.second) != 0;
    if (known && (!each->second.waiting.empty() || !each->second.link.expired())) {
      ++each;
    } else {
      counters.refused += each->second.waiting.size();
      each = sources_.erase(each);
    }
  }
}

void Arrivals::arrive(const ArrivedHandlePtr& handle) {
  if (handle->handle.type != type_) {
    ++counters.refused;
    return;
  }
  make_room();
  const Key key{handle->sender, handle->handle.writer};
  Source& source = sources_[key];
  source.link = handle->link;
  // The message of the oldest one was overwritten, or does not come.
  if (source.waiting.size() >= most_waiting_) {
    if (source.waiting.front().handle->handle.number > source.delivered) count_lost(key);
    source.waiting.pop_front();
  }
  source.waiting.push_back({handle, Clock::now()});
}

Arrivals::Found Arrivals::find(const Key& key, Source& source, std::uint64_t number, TakenSample* sample) {
  const auto writer = writers_.find(key.second);
  if (writer == writers_.end()) return Found::kNotYet;
  if (writer->second != key.first) return Found::kRefused;
  for (;;) {
    if (!source.early) {
      Result<TakenSample> taken = reader_->take_from(key.second);
      if (!taken) {
        ROS_WARN_THROTTLE(1.0, "baton: a message is lost: %s", taken.error().message.c_str());
        return taken.error().code == Errc::held_limit ? Found::kHeld : Found::kGone;
      }
      if (!*taken) return Found::kNotYet;
      source.early = std::move(*taken);
    }
    const std::uint64_t next = source.early.sequence();
    if (next > number) return Found::kGone;
    TakenSample found = std::move(source.early);
    source.early = {};
    if (next == number) {
      *sample = std::move(found);
      return Found::kMessage;
    }
    // A handle that roscpp's queues have dropped.
  }
}

/// Looks at the first waiting handle. False: it goes on waiting, or there is none.
bool Arrivals::step(const Key& key, Source& source, Delivery* out) {
  if (source.waiting.empty()) return false;
  const ArrivedHandlePtr first = source.waiting.front().handle;
  const auto done = [&] {
    source.waiting.pop_front();
    return true;
  };
  if (first->handle.number <= source.delivered) return done();
  TakenSample sample;
  const Found found = find(key, source, first->handle.number, &sample);
  if (first->handle.place == Handle::Place::kHere) {
    source.delivered = first->handle.number;
    out->carried = first;
    ++counters.carried;
    return done();
  }
  switch (found) {
    case Found::kMessage:
      source.delivered = first->handle.number;
      out->sample = std::move(sample);
      ++counters.taken;
      return done();
    case Found::kHeld:
      ++counters.held_limit;
      return done();
    case Found::kGone:
      ++counters.overwritten;
      return done();
    case Found::kRefused:
      ++counters.refused;
      return done();
    case Found::kNotYet:
      break;
  }
  if (Clock::now() - source.waiting.front().since < kPatience) return false;
  count_lost(key);
  return done();
}

Arrivals::Delivery Arrivals::next() {
  Delivery out;
  for (auto& [key, source] : sources_) {
    while (!out && step(key, source, &out)) {
    }
    // No handle comes for it, and it pins memory of a publisher that may be dead.
    if (source.waiting.empty() && source.link.expired()) source.early = {};
    if (out) break;
  }
  return out;
}

bool Arrivals::waits() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const auto& each) { return !each.second.waiting.empty(); });
}

std::vector<TakenSample> Arrivals::without_handle(TakenSample&& sample) {
  std::vector<TakenSample> out;
  const auto writer = writers_.find(sample.publisher());
  if (writer == writers_.end()) {
    out.push_back(std::move(sample));
    return out;
  }
  make_room();
  Source& source = sources_[{writer->second, writer->first}];
  if (source.early && source.early.sequence() < sample.sequence()) {
    out.push_back(std::move(source.early));
    source.early = {};
  }
  if (sample.sequence() > source.delivered) {
    source.delivered = sample.sequence();
    out.push_back(std::move(sample));
  }
  return out;
}

bool Arrivals::has(const std::string& node) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](const auto& each) { return each.first.first == node && !each.second.link.expired(); });
}

}  // namespace baton::ros1::detail
