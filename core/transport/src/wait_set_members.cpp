// SPDX-License-Identifier: Apache-2.0
// Which readers and guard conditions are in a wait set, and what it waits for because of them. Not part of the steady state.
#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "endpoint_context.hpp"
#include "reader.hpp"
#include "wait_set.hpp"

namespace baton::transport {

void WaitSet::Impl::remove(const Reader::Impl* reader) {
  std::shared_ptr<Reader::Impl> kept;  // destroyed after the lock is released
  {
    const os::Lock lock(mutex);
    const auto found =
        std::find_if(readers.begin(), readers.end(), [reader](const auto& entry) { return entry.get() == reader; });
    if (found == readers.end()) return;
    kept = std::move(*found);
    readers.erase(found);
  }
  changed();
  look_again();
}

/// Applies the changes since the last call. Allocates; not part of the steady state.
Result<void> WaitSet::Impl::rebuild() {
  std::vector<std::shared_ptr<Reader::Impl>> members;
  os::HotVector<ConnectionRef> before;
  before.swap(connections);
  with_message = nullptr;  // these connections may end now
  {
    const os::Lock lock(mutex);
    members = readers;
    watched_owners = guards;
  }
  watched.clear();
  for (const auto& guard : watched_owners) watched.push_back(guard.get());
  for (const auto& reader : members) reader->append_connections(&connections);
  // A reader that left us may have announced its sleep to its new wait set before we revoked our announcement, in the
  // same word: then its announcement is lost. So its new waiter must check, and announce its sleep, once more.
  for (const ConnectionRef& ref : before) {
    const std::shared_ptr<Reader::Impl> owner = ref->owner.lock();
    if (owner && std::find(members.begin(), members.end(), owner) == members.end()) owner->look_again();
  }
  futex.set_events(connections.size(), [this](std::size_t i) { return &connections[i]->line->event; });
  // Each connection may be new here: all count as such with news.
  if (once) {
    told.assign(connections.size() + 1, 0);
    for (std::size_t i = 0; i < connections.size(); ++i)
      told[i + 1] = memory::capture_event<Platform>(connections[i]->line->event) - 1;
  }
  const bool by_futex = FutexSleeper::serves(connections.size() + 1);
  how = by_futex ? memory::Sleeping::kFutex : memory::Sleeping::kDescriptor;
  if (!by_futex) {
    if (Result<void> opened = descriptor.open(); !opened) return opened;
  }
  descriptor.lacks_sockets = false;
  WakeDescriptor* const sockets = descriptor.descriptor();
  if (sockets == nullptr) return {};
  std::set<Notifier> publish;
  for (const auto& reader : members) reader->append_notifiers(&publish);
  sockets->forget_unless([&](const Notifier& notifier) { return publish.count(notifier) != 0; });
  for (const auto& reader : members) {
    if (!by_futex && !reader->give_sockets(this, *sockets)) descriptor.lacks_sockets = true;
  }
  return {};
}

/// For lack of memory or descriptors the words to wait for are not known: the caller looks for messages every 100 ms.
BATON_COLD void WaitSet::Impl::pause_for(const Error& lack) noexcept {
  const std::int64_t now = os::monotonic_ns();
  if (lack_lines.once()) {
    std::shared_ptr<Reader::Impl> reader;
    {
      const os::Lock lock(mutex);
      if (!readers.empty()) reader = readers.front();
    }
    if (reader != nullptr) reader->report_lack(lack);
  }
  const std::int64_t until = std::min(deadline_ns, now + std::chrono::nanoseconds(kWakeSocketPause).count());
  if (until > now) std::this_thread::sleep_for(std::chrono::nanoseconds(until - now));
}

WaitSet::~WaitSet() {
  if (impl_->generation != os::fork_generation()) return;
  std::vector<std::shared_ptr<Reader::Impl>> readers;
  {
    const os::Lock lock(impl_->mutex);
    readers.swap(impl_->readers);
  }
  for (const auto& reader : readers) reader->leave_wait_set(impl_);
}

Result<void> WaitSet::add(const std::shared_ptr<Reader>& reader) {
  const std::shared_ptr<Reader::Impl> impl = reader->impl().shared_from_this();
  if (Result<void> joined = impl->join_wait_set(impl_); !joined) return joined;
  {
    const os::Lock lock(impl_->mutex);
    if (std::find(impl_->readers.begin(), impl_->readers.end(), impl) != impl_->readers.end()) return {};
    impl_->readers.push_back(impl);
  }
  impl_->changed();
  impl_->look_again();
  return {};
}

void WaitSet::remove(const std::shared_ptr<Reader>& reader) {
  Reader::Impl& impl = reader->impl();
  if (impl.leave_wait_set(impl_)) impl_->remove(&impl);
}

Result<void> WaitSet::add(GuardCondition& guard) {
  {
    const os::Lock lock(impl_->mutex);
    if (std::find(impl_->guards.begin(), impl_->guards.end(), guard.impl_) != impl_->guards.end()) return {};
    impl_->guards.push_back(guard.impl_);
  }
  {
    const os::Lock lock(guard.impl_->mutex);
    guard.impl_->wait_sets.push_back(impl_);
  }
  impl_->changed();
  impl_->look_again();
  return {};
}

void WaitSet::remove(GuardCondition& guard) {
  {
    const os::Lock lock(guard.impl_->mutex);
    auto& wait_sets = guard.impl_->wait_sets;
    wait_sets.erase(std::remove_if(wait_sets.begin(), wait_sets.end(),
                                   [this](const auto& entry) {
                                     const auto locked = entry.lock();
                                     return !locked || locked == impl_;
                                   }),
                    wait_sets.end());
  }
  const os::Lock lock(impl_->mutex);
  auto& guards = impl_->guards;
  guards.erase(std::remove(guards.begin(), guards.end(), guard.impl_), guards.end());
  impl_->changed();
  impl_->look_again();
}

}  // namespace baton::transport
