// SPDX-License-Identifier: Apache-2.0
// Ordinary containers that point into Baton's memory: std::vector of a received message or of a loan, or a C sequence.
// This is sound only if libbaton_heap.so sees every free() and operator delete of the program. active() finds that out
// once.
//
// Thread rules: every function from any thread.
// Invariants: (1) unless active(), nothing is ever aliased; (2) once active, always active: reaches() excludes
// libraries that are loaded later; buffers are not taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/containers/counters.hpp"

namespace baton::containers {

/// The first call decides whether this program can have aliased buffers: it looks up which library defines the
/// functions' names, and then frees probes through each of the functions. REQUIRES for received messages: called before
/// the first subscription is made (messages of segments that were mapped earlier are copied). BATON_HEAP=0 in the
/// environment means no.
bool active();

/// For a program part that gives out addresses in the window by itself: `freed` is called with addresses at which no array
/// begins, and returns whether such an address was its own. Called before active(), which this calls. False: no free is
/// seen in this process, so `freed` is never called. True says nothing about active().
bool active_beside(bool (*freed)(void* address));

/// The reason and the way out if not active; the method if active. Made by active(); valid for the rest of the process.
const std::string& reason();

/// Loaded libraries whose calls of free or operator delete do not reach libbaton_heap.so (RTLD_DEEPBIND, -Bsymbolic, an
/// allocator of their own). Before such a library may free or resize the arrays of a message, detach them. Bindings
/// that a library makes later are seen later; an allocator that is hidden in a library is never seen. Empty if not
/// active.
std::vector<std::string> strangers();

/// Tests another way by which buffers may come back, e.g. an allocator of a C library: true if a buffer given to
/// `deallocate(buffer, state)` arrives. Not tried, and false, if `deallocate` lies in a library of strangers(), or if
/// not active.
bool reaches(void (*deallocate)(void* buffer, void* state), void* state);

/// Thread-safe; the sums of different calls never shrink.
Counters counters();

/// counters() of the RMW that a program has loaded: the RMW exports no other function of this header.
extern "C" [[gnu::visibility("default")]] void baton_heap_counters(Counters* sums);

}  // namespace baton::containers
