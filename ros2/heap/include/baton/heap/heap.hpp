// SPDX-License-Identifier: Apache-2.0
// Ordinary containers that point into Baton's memory: std::vector of a received message, of a loan, a C sequence. Sound only where
// libbaton_heap.so sees every free() and operator delete of the program; whether it does is found out here, once.
//
// Thread rules: every function from any thread.
// Invariants: (1) unless active(), nothing is ever aliased; (2) once active, always active: libraries that are loaded later are told
// apart by reaches(), not by taking buffers back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace baton::heap {

/// Decides, at the first call, whether this program can have aliased buffers, by looking up who answers to the functions' names
/// and then by freeing probes through each of them. REQUIRES for received messages: called before the first subscription is made
/// (what was mapped earlier is copied). BATON_HEAP=0 in the environment says no.
bool active();

/// Why not, with the way out; or how, if active. Made by active(); valid for the rest of the process.
const std::string& reason();

/// Loaded libraries whose calls of free or operator delete go elsewhere (RTLD_DEEPBIND, -Bsymbolic, an allocator of their own): the
/// arrays of a message that such a library may free or resize are to be detached first. What a library loads or binds later is
/// seen later; an allocator that is hidden in a library, never. Empty if not active.
std::vector<std::string> strangers();

/// Another way by which buffers may come back, e.g. an allocator of a C library: true if a buffer that is given to
/// `deallocate(buffer, state)` arrives. Not tried, and false, if the library that `deallocate` is in is one of strangers(), or if not
/// active.
bool reaches(void (*deallocate)(void* buffer, void* state), void* state);

/// Sums since the start of the process, and what lives now.
struct Counters {
  std::uint64_t aliased = 0;  ///< buffers handed out
  std::uint64_t freed = 0;    ///< buffers that came back
  std::uint64_t unknown =
      0;  ///< frees of addresses in the window where no buffer begins: errors of the program; ignored
  std::uint64_t discarded_pages =
      0;  ///< pages of received messages that the program had written, as far as they were counted
  std::size_t live_buffers = 0;
  std::size_t live_messages = 0;  ///< received messages and loans that are kept by buffers
};
Counters counters();

}  // namespace baton::heap
