// SPDX-License-Identifier: Apache-2.0
#include "succession.hpp"

#include <algorithm>

namespace baton::link {

using transport::Gid;
using transport::TakenSample;

Result<void> Succession::replace(std::shared_ptr<transport::Reader> reader) {
  if (wait_set_ != nullptr) {
    if (Result<void> added = wait_set_->add(reader); !added) return added;
  }
  reader_->stop_matching();
  before_ = std::move(reader_);
  reader_ = std::move(reader);
  return {};
}

/// Whether the new reader has every publisher that the one before has: nothing comes to that one alone any more.
bool Succession::is_replaced() const {
  const std::map<Gid, bool> now = reader_->publishers();
  const std::map<Gid, bool> before = before_->publishers();
  return std::all_of(before.begin(), before.end(), [&](const auto& publisher) {
    const auto found = now.find(publisher.first);
    return found != now.end() && found->second;
  });
}

bool Succession::is_new(const TakenSample& sample) {
  std::uint64_t& last = taken_[sample.publisher()];
  if (sample.sequence() <= last) return false;
  last = sample.sequence();
  return true;
}

Result<TakenSample> Succession::take() {
  for (;;) {
    if (before_) {
      // First whether the new one gets everything that is published from now on, then whether this one has more.
      const bool replaced = is_replaced();
      Result<TakenSample> taken = before_->take();
      if (!taken) return taken;
      if (*taken) {
        if (is_new(*taken)) return taken;
        continue;
      }
      // One take passes over a bounded number of messages: some may be left behind them.
      if (replaced && !before_->has_data()) {
        if (wait_set_ != nullptr) wait_set_->remove(before_);
        lost_before_ += before_->statuses().lost_total;
        before_.reset();
      }
    }
    if (newer_) {
      TakenSample taken = std::move(newer_);
      if (is_new(taken)) return taken;
    }
    Result<TakenSample> taken = reader_->take();
    if (!taken) return taken;
    if (!*taken) {
      ++times_empty_;
      return taken;
    }
    if (before_) {
      newer_ = std::move(*taken);  // what its publisher published before it lies in the reader before by now
    } else if (is_new(*taken)) {
      return taken;
    }
  }
}

bool Succession::has_data() const { return newer_ || reader_->has_data() || (before_ && before_->has_data()); }

void Succession::forget(const std::function<bool(const Gid&)>& is_gone) {
  for (auto at = taken_.begin(); at != taken_.end();) at = is_gone(at->first) ? taken_.erase(at) : std::next(at);
}

std::set<Gid> Succession::readers() const {
  std::set<Gid> out{reader_->gid()};
  if (before_) out.insert(before_->gid());
  return out;
}

std::uint64_t Succession::lost() const {
  return lost_before_ + reader_->statuses().lost_total + (before_ ? before_->statuses().lost_total : 0);
}

Result<void> Succession::attach(transport::WaitSet& wait_set) {
  wait_set_ = &wait_set;
  Result<void> added = wait_set.add(reader_);
  if (before_) {
    Result<void> also = wait_set.add(before_);
    if (added) return also;
  }
  return added;
}

void Succession::detach() {
  if (wait_set_ == nullptr) return;
  wait_set_->remove(reader_);
  if (before_) wait_set_->remove(before_);
  wait_set_ = nullptr;
}

}  // namespace baton::link
