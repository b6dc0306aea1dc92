// SPDX-License-Identifier: Apache-2.0
// How processes find a heap by its name: files and sockets in the domain's directory (docs/format/handshake.md, "Shared
// heaps").
//
//   1. A process that opens or leaves the heap owns the lock of byte 0 of the file "heap-NAME" (file_lock.hpp). So one
//      process at a time opens or leaves, and a death frees the lock.
//   2. The newcomer connects to every socket "heap-NAME@<random>". A socket that refuses belongs to a dead process and
//      is removed.
//   3. Each living member sends a HeapHello with the heap's descriptor. The first answer counts, as other members may be
//      stopped. If there is no member, the newcomer makes the heap.
//   4. Then the newcomer listens on a socket of its own. Its connections stay (membership.hpp).
//   5. A process that leaves removes its socket, and the last one the file. If the last one was killed, the next
//      process that opens any heap of the domain removes both.
// Thread rules: functions from any thread; a Meeting is used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baton/objects/heap.hpp"
#include "baton/os/unix_socket.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "mapping.hpp"

namespace baton::objects::detail {

/// The first packet of a connection, with the heap's descriptor, from the member that accepted it. A later packet has
/// no descriptor and means that the heap has become unwatched (waiters.hpp).
struct HeapHello {
  std::uint64_t magic = kHeapMagic;
  std::uint32_t version = kHeapVersion;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(HeapHello) == 16, "docs/format/handshake.md, section 8");

/// This process's place in the directory.
struct Presence {
  transport::DomainDirectory directory;
  std::string name;         // "heap-NAME"
  std::string socket_name;  // "heap-NAME@..."
  os::UniqueFd listener;
  std::vector<os::UniqueFd> links;  // to the other members
};

/// The state of a newcomer that has contacted the members, and keeps other processes from opening or leaving.
struct Meeting {
  Presence presence;
  os::UniqueFd lock;        // of the heap's file
  os::UniqueFd descriptor;  // empty: no process has the heap open
  bool lost = false;        // a connection failed, and its other end may live
  std::vector<std::string> unreached;
};

/// Errors: as Heap::open().
Result<Meeting> meet(const HeapOptions& options);
/// Tries again the members that were not reached, whose backlog may have room by now.
void connect_unreached(Meeting& meeting);
/// Newcomers find this process from now on.
Result<void> listen(Presence& presence);
/// Newcomers no longer find this process, nor the heap if it was the last one.
void leave(const Presence& presence) noexcept;

/// The names of heaps that a living process has open, sorted.
Result<std::vector<std::string>> names_of_heaps(const HeapOptions& options);

/// True if the other end of a connection is gone.
inline bool is_over(os::IoStatus received, const os::ReceivedPacket& packet) noexcept {
  return received == os::IoStatus::kClosed || received == os::IoStatus::kReset ||
         (received == os::IoStatus::kDone && packet.size_bytes == 0);
}

}  // namespace baton::objects::detail
