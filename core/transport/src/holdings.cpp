// SPDX-License-Identifier: Apache-2.0
// Which subscriptions hold which messages, and what they lost: a query to every process of the domain, whose background
// thread answers. For tools.
#include <algorithm>

#include "participant.hpp"

namespace baton::transport {

Result<Report> Participant::Impl::report(std::chrono::nanoseconds timeout) {
  if (Result<void> ok = usable(); !ok) return ok.error();
  timeout = std::clamp<std::chrono::nanoseconds>(timeout, timeout.zero(), std::chrono::hours(24));
  std::uint64_t question;
  Report own;
  {
    const os::Lock lock(mutex_);
    for (const auto& [gid, writer] : writers_) {
      std::vector<Holding> here = writer->holdings();
      std::move(here.begin(), here.end(), std::back_inserter(own.holdings));
    }
    for (const auto& [gid, reader] : readers_) {
      if (const Losses losses = reader->losses(); losses.any()) own.losses.emplace(gid, losses);
    }
    {
      const os::Lock questions_lock(questions_mutex_);
      question = ++last_question_;
      Question& asked = questions_[question];
      for (const auto& [peer, state] : peers_) asked.missing.push_back(peer);
    }
    for (const auto& [peer, state] : peers_) send(peer, FrameType::kHoldingsRequest, encode_question(question));
  }
  os::UniqueLock lock(questions_mutex_);
  const auto asked = questions_.find(question);
  answered_.wait_for(lock.standard(), timeout, [&] { return asked->second.missing.empty(); });
  Report out = std::move(asked->second.answers);
  questions_.erase(asked);
  lock.unlock();
  std::move(own.holdings.begin(), own.holdings.end(), std::back_inserter(out.holdings));
  out.losses.merge(own.losses);
  return out;
}

void Participant::Impl::on_holdings_request(PeerId peer, std::uint64_t question) {
  // A peer that exceeds its allowance gets an empty answer, because a look costs every publisher some of its time.
  const bool may = may_ask(peer);
  for (const auto& [gid, writer] : writers_) {
    if (!may) break;
    const std::vector<Holding> all = writer->holdings();
    for (std::size_t begin = 0; begin < all.size(); begin += kMaxHoldings) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(kMaxHoldings, all.size() - begin));
      send(peer, FrameType::kHoldings, encode(HoldingsFrame{question, gid, {first, first + count}}));
    }
  }
  LossesFrame lost{question, {}};
  std::size_t rows = 0;
  for (const auto& [gid, reader] : readers_) {
    if (!may || rows == kMaxLossesAnswered) break;
    const Losses losses = reader->losses();
    if (!losses.any()) continue;
    ++rows;
    lost.losses.emplace_back(gid, losses);
    if (lost.losses.size() < kMaxLosses) continue;
    send(peer, FrameType::kLosses, encode(lost));
    lost.losses.clear();
  }
  if (!lost.losses.empty()) send(peer, FrameType::kLosses, encode(lost));
  send(peer, FrameType::kHoldings, encode(HoldingsFrame{question, {}, {}}));
}

void Participant::Impl::on_holdings(PeerId peer, HoldingsFrame&& frame) {
  const EndpointRecord* const writer = graph_.find(frame.writer);
  const bool own = writer != nullptr && writer->peer() == peer;  // a process speaks of its own publishers only
  if (own || frame.holdings.empty()) take_answer(peer, std::move(frame));
}

// A query number of 0 stands for all queries: the peer is gone.
void Participant::Impl::take_answer(PeerId peer, HoldingsFrame&& frame) {
  {
    const os::Lock lock(questions_mutex_);
    for (auto& [number, question] : questions_) {
      const auto waiting = std::find(question.missing.begin(), question.missing.end(), peer);
      if (waiting == question.missing.end() || (frame.question != 0 && frame.question != number)) continue;
      if (frame.holdings.empty()) {
        question.missing.erase(waiting);
      } else if (question.takes(peer)) {
        question.counts[peer] += frame.holdings.size();
        std::move(frame.holdings.begin(), frame.holdings.end(), std::back_inserter(question.answers.holdings));
      }
    }
  }
  answered_.notify_all();
}

void Participant::Impl::on_losses(PeerId peer, const LossesFrame& frame) {
  const os::Lock lock(questions_mutex_);
  const auto asked = questions_.find(frame.question);
  if (asked == questions_.end()) return;
  Question& question = asked->second;
  if (std::find(question.missing.begin(), question.missing.end(), peer) == question.missing.end()) return;
  if (!question.takes(peer)) return;
  question.counts[peer] += frame.losses.size();
  for (const auto& [reader, losses] : frame.losses) {
    const EndpointRecord* const record = graph_.find(reader);  // a process speaks of its own subscriptions only
    if (record != nullptr && record->peer() == peer) question.answers.losses.emplace(reader, losses);
  }
}

bool Participant::Impl::Question::takes(PeerId peer) {
  return answers.holdings.size() + answers.losses.size() < kMaxAnswers && counts[peer] < kMaxAnswersPerPeer;
}

}  // namespace baton::transport
