// SPDX-License-Identifier: Apache-2.0
// A heap that several processes share. **All of its memory is writable by every process that opens it: it connects
// processes that trust each other.** The heap survives the death of a process at any instruction. It does not survive
// wrong writes.
//
// A heap has a name in a domain. The first process that opens it makes it. Every process that has it open hands it to
// newcomers, over a Unix socket in the domain's directory. So the first process may be gone, and containers need to
// share only that directory. The heap is one sparse memfd, reserved at its limit; memory is backed as it is used. After
// the last process the kernel frees everything.
//
// Which processes live. Each process that opens a heap takes a slot of its table and locks one byte of the memfd
// (F_OFD_SETLK, byte = slot) on an open file description of its own. The kernel drops the lock when the process ends,
// and every process can query it, from any namespace. {slot, epoch} names a process in every word of the heap: locks,
// half-done operations, holds.
// Three ways detect a death: a process waits for a lock or operation of the dead process; collect(); and, in named
// heaps, at once, the background threads of the other processes, whose sockets hang up. Then one of the processes takes
// the dead process's byte lock and recovers it.
//
// Thread rules: every function may be called from any thread. A forked child has no heap: its Heap objects return
// Errc::forked, the memory is not mapped in the child, and the child can open the heap anew. Objects must not be used
// after the last Heap of this process is gone, except by smart pointers. Smart pointers keep the heap open, and this
// process keeps handing it to newcomers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "baton/objects/process_lock.hpp"
#include "baton/objects/shareable.hpp"
#include "baton/os/duration.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::objects {

namespace detail {
class HeapState;
/// Memory of the open heap whose first byte is heap_base. It belongs to the containers of `guard` (a guarded<>; 0:
/// none). Throws baton::Exception.
void* allocate_at(std::byte* heap_base, std::size_t bytes, std::size_t alignment, std::uint32_t guard);
void deallocate_at(std::byte* heap_base, void* memory) noexcept;
/// The guard for which a container at this place allocates, if its allocator lies at `allocator` and names `guard`;
/// `given`: also if the allocator lies in private memory.
std::uint32_t guard_of(std::byte* heap_base, const void* allocator, std::uint32_t guard, bool given) noexcept;
}  // namespace detail

/// Processes that may have one heap open at a time.
inline constexpr std::size_t kMaxProcesses = detail::kMaxProcesses;

/// An event that no call can return.
struct HeapEvent {
  enum class Kind : std::uint8_t {
    kProcessDied,  ///< its holds and half-done operations were given back; its locks go to their next waiters
    kOrphan,       ///< an object whose last holder died, of a type unknown to this process: kept until one knows it
    kDiedInDestructor,  ///< the process died in a destructor; the memory was freed, and the destructor was not run
                        ///< again
  } kind;
  std::int32_t pid = 0;  ///< pid of the dead process, in its own PID namespace
  std::string text;      ///< in words
};

struct HeapOptions {
  std::string name;                                ///< letters, digits, '-', '_', '.'; at most 48
  int domain = -1;                                 ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;                   ///< empty: BATON_RUNTIME_DIR, else the per-user default
  std::size_t limit_bytes = std::size_t{1} << 30;  ///< address space; an existing heap keeps its limit. 1 MiB to 16 GiB
  os::Nanoseconds timeout = std::chrono::seconds(5);  ///< of open(): other processes may be stopped
  /// Called on any thread, one call at a time, without a lock of the heap; never after the Heap object's end. May fork
  /// and collect. Must not throw, and must not wait for threads that use the heap.
  std::function<void(const HeapEvent&)> on_event;
};

struct HeapStats {
  std::size_t limit_bytes = 0;
  std::size_t backed_bytes = 0;  ///< memory taken from the machine
  std::size_t used_bytes = 0;    ///< in living allocations, rounded up to their size classes
  std::size_t allocations = 0;
  std::size_t objects = 0;  ///< of smart pointers, orphans included
  std::size_t orphans = 0;
  std::size_t processes = 0;  ///< living processes that have it open
};

class Heap {
 public:
  /// Opens the heap of that name in the domain, and makes it if no process has it open. Errors: invalid_argument,
  /// no_runtime_directory, foreign_runtime_directory, timed_out (every process that has it is stopped), limit_reached
  /// (kMaxProcesses), out_of_memory, window_exhausted, version_mismatch, unsupported.
  static Result<Heap> open(const HeapOptions& options);
  /// The names of the domain's heaps that a living process has open, sorted. options.domain and runtime_directory
  /// count. Errors: no_runtime_directory, foreign_runtime_directory, invalid_argument (the domain).
  static Result<std::vector<std::string>> names(const HeapOptions& options = {});
  /// Makes a heap without a name. The caller passes its descriptor() to other processes. name, domain and directory are
  /// not used.
  static Result<Heap> create(const HeapOptions& options = {});
  /// Opens the heap behind a descriptor of a Heap.
  static Result<Heap> attach(const os::UniqueFd& descriptor, const HeapOptions& options = {});

  Heap(Heap&&) noexcept;
  Heap& operator=(Heap&&) noexcept;
  ~Heap();

  /// For attach() in another process (SCM_RIGHTS, inheritance). Owned by the heap. A process that attaches to a heap
  /// with a name has no sockets, so its death is not noticed at once. After this call every sleep in the heap lasts at
  /// most kLookAgainNs (event_count.hpp), as in a heap without a name.
  const os::UniqueFd& descriptor() const noexcept;

  /// Uninitialised memory, aligned to 64 bytes (to `alignment` if it is larger, at most 64 KiB). It belongs to this
  /// process: it is freed when the process ends or has closed the heap, unless keep() was called before. Errors:
  /// out_of_memory (the machine), limit_reached (the heap), forked.
  Result<void*> allocate(std::size_t bytes, std::size_t alignment = 64);
  /// Frees memory of any process's allocate() of this heap. Null is allowed.
  void deallocate(void* memory) noexcept;
  /// For memory of allocate() or construct() by this process: from now on it stays when this process ends, and belongs
  /// to all processes.
  void keep(void* memory) noexcept;
  /// Constructs an object in memory as of allocate(). When this process ends the object is freed, without its
  /// destructor, but with the content of stored<> and guarded<> members. Throws baton::Exception with the errors of
  /// allocate(), and the constructor's exceptions.
  template <class T, class... Args>
  T& construct(Args&&... args) {
    static_assert(detail::check_shareable<T>());
    void* const memory = allocate(sizeof(T), alignof(T)).or_throw();
    try {
      return *::new (memory) T(std::forward<Args>(args)...);
    } catch (...) {
      deallocate(memory);
      throw;
    }
  }
  template <class T>
  void destroy(T& object) noexcept {
    object.~T();
    deallocate(&object);
  }

  /// Recovers dead processes; returns how many there were. The heap itself calls it when a process of a named heap dies
  /// and when memory is short.
  std::size_t collect();
  HeapStats stats() const;
  /// Takes memory from the machine for `count` allocations of `bytes` alive at the same time, so that they need no
  /// system call later. An object of a smart pointer needs 64 bytes more than its size. Errors: as allocate().
  Result<void> reserve(std::size_t bytes, std::size_t count);
  /// Maps all memory taken from the machine so far into this process, so that touching it does not fault later. Call it
  /// on the thread that must not wait: otherwise the end of that thread's first pointer allocates a few bytes of
  /// private memory.
  void prefault() noexcept;

  /// The heap's first byte in this process; null after fork().
  std::byte* base() const noexcept;

  explicit Heap(std::shared_ptr<detail::HeapState> state) noexcept;  // for this library

 private:
  std::shared_ptr<detail::HeapState> state_;
};

}  // namespace baton::objects
