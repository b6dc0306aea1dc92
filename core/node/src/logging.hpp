// SPDX-License-Identifier: Apache-2.0
// What is behind a Logger: levels by name, one line of text, and where it goes.
// Thread rules: all functions are thread-safe, and none throws. No lock is held while another room's function runs, but
// the output's own while stderr is written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baton/node/arguments.hpp"
#include "baton/node/logging.hpp"

namespace baton::detail {

/// One line, as it is printed and published.
struct LogLine {
  Logger::Level level;
  std::string_view name;
  std::string_view text;
  LogSite site;
  std::chrono::nanoseconds time;
};

/// Where a node's lines go beside stderr.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void publish(const LogLine& line) noexcept = 0;
};

struct LoggerCore {
  static Logger make(std::string name, std::weak_ptr<LogSink> sink = {});

  std::string name;
  std::weak_ptr<LogSink> sink;
  /// The effective level, and the version of all levels at which it was found: version * 256 + level. Relaxed: it
  /// repeats what levels_of() holds.
  std::atomic<std::uint64_t> known{0};
};

/// "" and lower-case words of `--log-level` and BATON_LOG_LEVEL. False: no such word.
bool level_of_word(std::string_view word, Logger::Level& level);
/// Sets levels as the command line says. `for_all`: the logger that a level without a name is for; empty: all.
void set_levels(const std::vector<LogLevel>& levels, const std::string& for_all);
/// False: no lines on stderr (--disable-stdout-logs).
void set_console(bool on) noexcept;
/// What Baton itself has to say: the logger "baton".
void log_of_baton(Logger::Level level, std::string_view text) noexcept;

/// While one lives, lines of this thread go to stderr only: the thread may hold what publishing needs.
class WithoutSink {
 public:
  WithoutSink() noexcept;
  ~WithoutSink();
  WithoutSink(const WithoutSink&) = delete;
  WithoutSink& operator=(const WithoutSink&) = delete;

 private:
  const bool before_;
};

}  // namespace baton::detail
