// SPDX-License-Identifier: Apache-2.0
// What physics carries between the processes of a run, and no middleware: when the robot started and when its brakes engaged.
// A file of two words that every process maps. Both words are written once, by the base.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <system_error>

#include "world.hpp"

namespace baton::robot {

inline Nanoseconds now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class WorldFile {
 public:
  /// Maps `path`, which holds at least two words of zeros. Throws std::system_error.
  explicit WorldFile(const char* path) {
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    void* const memory =
        file < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(WorldWords), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int problem = errno;
    if (file >= 0) ::close(file);
    if (memory == MAP_FAILED) throw std::system_error(problem, std::generic_category(), path);
    words_ = static_cast<WorldWords*>(memory);
  }
  WorldFile(const WorldFile&) = delete;
  WorldFile& operator=(const WorldFile&) = delete;
  ~WorldFile() { ::munmap(words_, sizeof(WorldWords)); }

  Nanoseconds start() const { return read(words_->start); }
  Nanoseconds brake() const { return read(words_->brake); }
  void start_at(Nanoseconds time) { words_->start.store(time, std::memory_order_relaxed); }
  /// Only the first time counts.
  void brake_at(Nanoseconds time) {
    Nanoseconds none = 0;
    words_->brake.compare_exchange_strong(none, time, std::memory_order_relaxed);
  }

 private:
  /// 0: not yet. Each word is a fact of its own, so relaxed order is enough.
  struct WorldWords {
    std::atomic<Nanoseconds> start, brake;
  };
  static Nanoseconds read(const std::atomic<Nanoseconds>& word) {
    const Nanoseconds time = word.load(std::memory_order_relaxed);
    return time == 0 ? kNever : time;
  }
  WorldWords* words_;
};

}  // namespace baton::robot
