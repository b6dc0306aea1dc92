// SPDX-License-Identifier: Apache-2.0
// A heap's name in a domain, and how its descriptor comes to newcomers.
//
// In the domain's directory lie, per heap, the file "heap-NAME" and, per process that has it open, a listening socket "heap-NAME@<random>". Who comes or
// goes owns byte 0 of the file's lock meanwhile (file_lock.hpp), so one does at a time, and a death frees it. A newcomer
// connects to every socket: one that refuses is a dead process's and is removed; each of the living sends {magic, version} and the
// descriptor, and the first answer counts (others may be stopped). If there is none, he makes the heap. Then he listens himself. Sockets stay connected: a hang-up says
// that a process left or died, and wakes the background threads of the others, which ring for it (waiter_table.hpp) and collect. A packet behind the first
// says: look whether somebody cannot be heard (HeapHeader::unwatched). Who goes removes his socket, and the last one the file; after
// a last one that was killed, the next one who opens any heap of the domain does.
// Thread rules: open_named() from any thread; a Membership has one background thread, asleep when nothing happens.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "baton/os/poller.hpp"
#include "baton/os/process.hpp"
#include "baton/shared/heap.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

Result<std::shared_ptr<HeapState>> open_named(const HeapOptions& options);
/// Those that a living process has open, sorted.
Result<std::vector<std::string>> names_of_heaps(const HeapOptions& options);

class Membership {
 public:
  struct Parts {
    transport::DomainDirectory directory;
    std::string name;         // "heap-NAME"
    std::string socket_name;  // "heap-NAME@..."
    os::UniqueFd listener;
    std::vector<os::UniqueFd> links;  // to everybody who was there
  };
  /// Starts the background thread.
  static Result<std::unique_ptr<Membership>> start(Parts parts, HeapState& state);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  void after_fork_in_child() noexcept;
  /// Ends the background thread. The sockets stay until the destructor.
  void stop() noexcept;
  /// Makes the background thread come round.
  void look() noexcept { poller_.wake(); }

 private:
  Membership(Parts parts, HeapState& state, os::Poller poller)
      : parts_(std::move(parts)), state_(state), poller_(std::move(poller)) {}
  void run();
  void send_unwatched() noexcept;

  Parts parts_;
  HeapState& state_;
  os::Poller poller_;
  std::uint32_t generation_ = 0;
  std::atomic<bool> ended_{false};
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace baton::shared::detail
