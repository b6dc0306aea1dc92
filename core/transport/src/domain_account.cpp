// SPDX-License-Identifier: Apache-2.0
#include "domain_account.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "baton/memory/account.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/memory_left.hpp"

namespace baton::transport {

void DomainAccount::start(Hub* hub, std::function<void()> report) {
  {
    const os::Lock lock(state_->mutex);
    state_->hub = hub;
    state_->report = std::move(report);
    state_->generation = os::fork_generation();
  }
  watch_ = memory::watch_account([state = state_](std::ptrdiff_t bytes) { return changed(state, bytes); });
}

void DomainAccount::stop() {
  watch_.reset();
  // In a forked child another thread may have held the mutex, for ever.
  if (state_->generation != os::fork_generation()) return;
  const os::Lock lock(state_->mutex);
  state_->hub = nullptr;
  state_->report = nullptr;
}

Result<void> DomainAccount::changed(const std::shared_ptr<State>& state, std::ptrdiff_t bytes) {
  const os::Lock lock(state->mutex);
  if (!state->hub || state->generation != os::fork_generation()) return {};
  if (bytes > 0) {
    const std::uint64_t own = memory::process_backed_bytes();  // already includes the growth in question
    std::uint64_t sum = own + state->claimed();
    if (sum > limit_bytes()) {
      const auto grown = static_cast<std::uint64_t>(bytes);
      sum = own + believed_bytes(sum - own, os::shared_memory_of_machine(), own - std::min(own, grown));
    }
    if (sum > limit_bytes())
      return Error{Errc::limit_reached,
                   "the domain's message memory would reach " + std::to_string(sum) +
                       " bytes, beyond BATON_DOMAIN_MEMORY_LIMIT=" + std::to_string(limit_bytes()) +
                       "; raise it, or lower the publishers' memory_limit_bytes"};
  }
  if (state->reporting) return {};
  try {
    state->hub->schedule(std::chrono::steady_clock::now() + kReportDelay, [state] {
      std::function<void()> report;
      {
        const os::Lock inner(state->mutex);
        state->reporting = false;
        report = state->report;
      }
      if (report) report();
    });
    state->reporting = true;
  } catch (const std::bad_alloc&) {
    // The next report includes this change.
  }
  return {};
}

void DomainAccount::peer_reported(PeerId peer, const AccountFrame& frame) {
  const os::Lock lock(state_->mutex);
  // A peer's number is only its claim: an absurd one must not make the sum wrap around.
  state_->peers[peer] = std::min<std::uint64_t>(frame.backed_bytes, std::uint64_t{1} << 48);
}

void DomainAccount::peer_gone(PeerId peer) {
  const os::Lock lock(state_->mutex);
  state_->peers.erase(peer);
}

std::uint64_t DomainAccount::State::claimed() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [peer, backed] : peers) sum += backed;
  return sum;
}

std::uint64_t DomainAccount::believed_bytes(std::uint64_t claimed, std::uint64_t shared, std::uint64_t own) noexcept {
  const std::uint64_t of_others = shared - std::min(shared, own);
  return of_others < UINT64_MAX - kUncounted ? std::min(claimed, of_others + kUncounted) : claimed;
}

std::size_t DomainAccount::peers_backed_bytes() const {
  std::uint64_t claimed = 0;
  {
    const os::Lock lock(state_->mutex);
    claimed = state_->claimed();
  }
  if (claimed <= kUncounted) return claimed;
  return believed_bytes(claimed, os::shared_memory_of_machine(), memory::process_backed_bytes());
}

AccountFrame DomainAccount::own() const {
  AccountFrame frame;
  frame.backed_bytes = memory::process_backed_bytes();
  frame.limit_bytes = memory::process_limit_bytes();
  return frame;
}

const Result<std::size_t>& DomainAccount::limit() {
  // As in memory::process_limit(): no initializer that a forked child could find half run.
  static std::atomic<const Result<std::size_t>*> known{nullptr};
  const Result<std::size_t>* limit = known.load(std::memory_order_acquire);
  if (limit == nullptr) {
    auto read = std::make_unique<Result<std::size_t>>(memory::limit_from_environment("BATON_DOMAIN_MEMORY_LIMIT"));
    // acq_rel: pairs with the acquire above.
    if (known.compare_exchange_strong(limit, read.get(), std::memory_order_acq_rel)) limit = read.release();
  }
  return *limit;
}

}  // namespace baton::transport
