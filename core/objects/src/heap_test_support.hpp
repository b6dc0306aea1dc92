// SPDX-License-Identifier: Apache-2.0
// What the tests of shared heaps use: a heap of the test, objects in it, children that open it and may be killed.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/objects/heap.hpp"
#include "baton/os/unique_fd.hpp"
#include "support/temporary_directory.hpp"

namespace baton::objects {

/// Of a type of heap_test.cpp.
struct NameAndId {
  const char* name;
  std::uint64_t id;
};
NameAndId redefined_elsewhere();

inline Heap new_heap(std::size_t limit_bytes = std::size_t{64} << 20) {
  HeapOptions options;
  options.limit_bytes = limit_bytes;
  return Heap::create(options).or_throw();
}

/// The process's heap for tests of objects.
inline Heap& test_heap() {
  static auto* const heap = new Heap(new_heap());
  return *heap;
}

/// An object in the test's heap, as a local variable.
template <class T>
class InHeap {
 public:
  template <class... Args>
  explicit InHeap(Args&&... args) : object_(test_heap().construct<T>(std::forward<Args>(args)...)) {}
  ~InHeap() { test_heap().destroy(object_); }
  InHeap(const InHeap&) = delete;
  InHeap& operator=(const InHeap&) = delete;
  T& operator*() const { return object_; }
  T* operator->() const { return &object_; }

 private:
  T& object_;
};

class HeapDirectory : public ::baton::test::TemporaryDirectory {
 public:
  HeapOptions options(const std::string& name, std::size_t limit_bytes = std::size_t{64} << 20) const {
    HeapOptions out;
    out.name = name;
    out.domain = 0;
    out.runtime_directory = path();
    out.limit_bytes = limit_bytes;
    out.timeout = std::chrono::seconds(60);  // an emulator on a busy machine needs more than the default
    return out;
  }
};

/// Returns when the threads of this process's heaps sleep, or after a second. The sanitizer's allocator stays locked in a
/// child that is forked while another thread is inside it.
inline void let_heap_threads_sleep() {
#if defined(__SANITIZE_ADDRESS__)
  const auto awake = [] {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string stat;
      std::getline(std::ifstream(task.path() / "stat"), stat);
      if (stat.find("(baton-heap) ") != std::string::npos && stat.find("(baton-heap) S") == std::string::npos)
        return true;
    }
    return false;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int looks = 0; looks < 3 && std::chrono::steady_clock::now() < end; ++looks) {
    if (awake()) looks = -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
#endif
}

/// A child of its own, without any heap. Exit code 0 unless an expectation failed there.
template <class Body>
pid_t forked(Body&& body) {
  let_heap_threads_sleep();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(250);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}
/// Runs body(heap) in a child that has `heap` open anew.
template <class Body>
pid_t in_child(const Heap& heap, Body&& body) {
  const os::UniqueFd descriptor = os::duplicate(heap.descriptor().get());
  return forked([&] {
    Heap mine = Heap::attach(descriptor).or_throw();
    body(mine);
  });
}
template <class Done>
void wait_until(Done&& done) {
  while (!done()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}
inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
[[noreturn]] inline void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace baton::objects
