// SPDX-License-Identifier: Apache-2.0
#include "replaceable_reader.hpp"

#include <algorithm>
#include <utility>

namespace baton::link {

using transport::Gid;
using transport::Losses;
using transport::TakenSample;

namespace {

void add(Losses& sum, const Losses& more) {
  for (std::uint64_t Losses::*const reason :
       {&Losses::overflow, &Losses::held, &Losses::limit, &Losses::memory, &Losses::malformed, &Losses::interrupted,
        &Losses::lifespan, &Losses::stamp})
    sum.*reason += more.*reason;
}

}  // namespace

Result<void> ReplaceableReader::replace(std::shared_ptr<transport::Reader> reader) {
  if (wait_set_ != nullptr) {
    if (Result<void> added = wait_set_->add(reader); !added) return added;
  }
  reader_->stop_matching();
  before_ = std::move(reader_);
  reader_ = std::move(reader);
  return {};
}

/// Whether the new reader is connected to every publisher of the old one, so that no further message comes to the old one alone, and none that
/// was published before is still on its way to the old one.
bool ReplaceableReader::has_all(const Publishers& now, const Publishers& before) {
  return std::all_of(before.begin(), before.end(), [&](const auto& publisher) {
    const auto found = now.find(publisher.first);
    return publisher.second && found != now.end() && found->second;
  });
}

/// The old reader's publishers. One to which it has been connecting for too long is waited for no more: its process may be stopped, or
/// hostile, and the messages of the others wait meanwhile. What it keeps for the old reader counts as lost.
ReplaceableReader::Publishers ReplaceableReader::awaited() {
  const Clock::time_point now = Clock::now();
  Publishers out = before_->publishers();
  for (auto at = out.begin(); at != out.end();) {
    if (at->second) {
      connecting_.erase(at->first);
      ++at;
      continue;
    }
    Connecting& connecting = connecting_.try_emplace(at->first, Connecting{now, false}).first->second;
    if (now - connecting.since < longest_wait_) {
      ++at;
      continue;
    }
    if (!std::exchange(connecting.given_up, true)) ++lost_before_.interrupted;
    at = out.erase(at);
  }
  return out;
}

/// Whether the old reader connects to the publisher of `newer_`, which keeps older messages for the old reader.
bool ReplaceableReader::waits_for_before(const Publishers& before) const {
  const auto found = before.find(newer_.publisher());
  if (found == before.end() || found->second) return false;
  const auto connecting = connecting_.find(newer_.publisher());
  return connecting == connecting_.end() || Clock::now() - connecting->second.since < longest_wait_;
}

bool ReplaceableReader::is_new(const TakenSample& sample) {
  std::uint64_t& last = taken_[sample.publisher()];
  if (sample.sequence() <= last) return false;
  last = sample.sequence();
  return true;
}

Result<TakenSample> ReplaceableReader::take() {
  spent_ = false;
  for (int passed = 0; passed < kMostPassed; ++passed) {
    if (before_) {
      // In this order: first whether the new reader gets everything that is published from now on, then whether the old one still connects,
      // then whether it has more.
      const Publishers now = reader_->publishers();
      const Publishers before = awaited();
      Result<TakenSample> taken = before_->take();
      reader_->continue_after(*before_);  // also of what the old reader has lost
      if (!taken) return taken;
      if (*taken) {
        if (is_new(*taken)) return taken;
        continue;
      }
      if (before_->has_data())
        break;  // take() passed over as many messages as it may: the next one is still the old reader's
      if (newer_ && waits_for_before(before)) return TakenSample();
      if (has_all(now, before)) {
        if (wait_set_ != nullptr) wait_set_->remove(before_);
        add(lost_before_, before_->losses());
        before_.reset();
        connecting_.clear();
      }
    }
    if (newer_) {
      TakenSample taken = std::move(newer_);
      if (is_new(taken)) return taken;
    }
    Result<TakenSample> taken = reader_->take();
    if (!taken) return taken;
    if (!*taken) {
      spent_ = reader_->has_data();
      return taken;
    }
    if (before_) {
      newer_ = std::move(*taken);  // by now the old reader has everything that the publisher published before it
    } else if (is_new(*taken)) {
      return taken;
    }
  }
  spent_ = true;
  return TakenSample();
}

std::size_t ReplaceableReader::unread() const { return reader_->unread() + (before_ ? before_->unread() : 0); }

bool ReplaceableReader::has_data() const {
  if (before_ && before_->has_data()) return true;
  if (newer_) return !before_ || !waits_for_before(before_->publishers());
  return reader_->has_data();
}

void ReplaceableReader::forget(const std::function<bool(const Gid&)>& is_gone) {
  for (auto at = taken_.begin(); at != taken_.end();) at = is_gone(at->first) ? taken_.erase(at) : std::next(at);
}

std::set<Gid> ReplaceableReader::readers() const {
  std::set<Gid> out{reader_->gid()};
  if (before_) out.insert(before_->gid());
  return out;
}

std::set<Gid> ReplaceableReader::publishers() const {
  std::set<Gid> out;
  if (newer_) out.insert(newer_.publisher());
  for (const transport::Reader* reader : {reader_.get(), before_.get()}) {
    if (reader == nullptr) continue;
    for (const auto& [publisher, live] : reader->publishers()) out.insert(publisher);
    for (const transport::EndpointInfo& gone : reader->gone_publishers()) out.insert(gone.gid);
  }
  return out;
}

Losses ReplaceableReader::losses() const {
  Losses out = lost_before_;
  add(out, reader_->losses());
  if (before_) add(out, before_->losses());
  return out;
}

Result<void> ReplaceableReader::attach(transport::WaitSet& wait_set) {
  wait_set_ = &wait_set;
  Result<void> added = wait_set.add(reader_);
  if (before_) {
    Result<void> also = wait_set.add(before_);
    if (added) return also;
  }
  return added;
}

void ReplaceableReader::detach() {
  if (wait_set_ == nullptr) return;
  wait_set_->remove(reader_);
  if (before_) wait_set_->remove(before_);
  wait_set_ = nullptr;
}

}  // namespace baton::link
