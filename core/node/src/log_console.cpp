// SPDX-License-Identifier: Apache-2.0
#include "log_console.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "baton/os/clock.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/text_output.hpp"

namespace baton::detail {
namespace {

constexpr int kStderr = 2;

class Console {
 public:
  void print(std::string_view plain, std::string_view coloured) noexcept {
    const os::Lock lock(mutex_);
    const os::Output kind = os::output_of(kStderr);
    if (kind == os::Output::kNone) return;  // a program that closed stderr wants no lines
    const bool was_full = lost_ > 0;
    if (!say_lost(kind) || !write(kind, kind == os::Output::kTerminal ? coloured : plain)) {
      ++lost_;
      if (!was_full && !at_exit_) at_exit_ = std::atexit(say_lost_at_exit) == 0;
    }
  }
  void say_lost() noexcept {
    const os::Lock lock(mutex_);
    static_cast<void>(say_lost(os::output_of(kStderr)));
  }

 private:
  static void say_lost_at_exit() noexcept;

  /// True: nothing is lost, or the reader knows it now.
  bool say_lost(os::Output kind) noexcept BATON_REQUIRES(mutex_) {
    if (lost_ == 0) return true;
    std::array<char, 160> text{};
    const std::int64_t now = os::realtime_ns();
    const int size = std::snprintf(text.data(), text.size(),
                                   "[WARN] [%lld.%09lld] [baton]: lines missing above, because stderr was full: %llu\n",
                                   static_cast<long long>(now / 1'000'000'000),
                                   static_cast<long long>(now % 1'000'000'000), static_cast<unsigned long long>(lost_));
    if (!write(kind, {text.data(), static_cast<std::size_t>(size)})) return false;
    lost_ = 0;
    return true;
  }

  bool write(os::Output kind, std::string_view line) noexcept BATON_REQUIRES(mutex_) {
    if (torn_) torn_ = os::write_without_waiting(kStderr, kind, "\n") != 1;
    if (torn_) return false;
    const std::size_t written = os::write_without_waiting(kStderr, kind, line);
    torn_ = written > 0 && written < line.size();  // a line longer than the room: its rest is lost
    return written == line.size();
  }

  os::Mutex mutex_;
  std::uint64_t lost_ BATON_GUARDED_BY(mutex_) = 0;
  bool torn_ BATON_GUARDED_BY(mutex_) = false;  // the reader has the beginning of a line without its end
  bool at_exit_ BATON_GUARDED_BY(mutex_) = false;
};

void Console::say_lost_at_exit() noexcept { os::of_this_process<Console>().say_lost(); }

// Made when the library is loaded, so that no line fails for want of memory.
[[maybe_unused]] const auto& g_made_early = os::of_this_process<Console>();

}  // namespace

void print_line(std::string_view plain, std::string_view coloured) noexcept {
  try {
    os::of_this_process<Console>().print(plain, coloured);
  } catch (...) {
    // A forked child without memory for a lock of its own.
  }
}

}  // namespace baton::detail
