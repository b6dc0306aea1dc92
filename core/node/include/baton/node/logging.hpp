// SPDX-License-Identifier: Apache-2.0
// Lines for people, with severities: on stderr in ROS 2's format, and on the topic /rosout. docs/guides/logging.md.
// Thread rules: all functions and macros are thread-safe. They never block and never throw (but what a program's own
// arguments throw); a line that stderr has no room for is given up and counted. A forked child may log; its lines do
// not reach /rosout until it makes a Node of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "baton/node/clock.hpp"

namespace baton {

/// The place in a source that logs. Read during the call only.
struct LogSite {
  const char* function = "";
  const char* file = "";
  std::uint32_t line = 0;
};

namespace detail {
struct LoggerCore;
/// For the API of another language: what Baton's own lines pass through, so that they name things as that API does. Null: as
/// they are. Thread-safe; `phrasing` is called in any thread.
void set_phrasing(std::string (*phrasing)(std::string_view)) noexcept;
}  // namespace detail

/// A name with a level. Loggers of one name share their level; a logger without a level of its own has the level of the
/// name before its last dot, at last the program's (BATON_LOG_LEVEL, --log-level, else info). A value, cheap to copy.
class Logger {
 public:
  /// The numbers of ROS 2 and of rcl_interfaces/Log.
  enum class Level : std::uint8_t {
    kUnset = 0,  ///< for set_level(): as the name before the last dot
    kDebug = 10,
    kInfo = 20,
    kWarn = 30,
    kError = 40,
    kFatal = 50,
    kOff = 255,  ///< for set_level(): nothing is logged
  };

  Logger(const Logger&) = default;  // and no move: a logger is never empty
  Logger& operator=(const Logger&) = default;
  ~Logger() = default;

  const std::string& get_name() const noexcept;
  /// "camera" -> "camera.driver".
  Logger get_child(const std::string& suffix) const;
  /// For all loggers of this name in the process, now and later.
  void set_level(Level level) const;
  /// Never kUnset.
  Level get_effective_level() const noexcept;
  bool is_enabled_for(Level level) const noexcept { return level >= get_effective_level(); }

  /// Logs `text` if `level` is enabled.
  void log(Level level, std::string_view text, const LogSite& site = {}) const noexcept;
  /// The same with printf's format.
  void print(Level level, const LogSite& site, const char* format, ...) const noexcept
      __attribute__((format(printf, 4, 5)));

 private:
  friend struct detail::LoggerCore;
  explicit Logger(std::shared_ptr<detail::LoggerCore> core);

  std::shared_ptr<detail::LoggerCore> core_;
};

/// A logger without a node: its lines do not go to /rosout.
Logger get_logger(const std::string& name);

namespace detail {

template <class T, class = void>
struct HasLogger : std::false_type {};
template <class T>
struct HasLogger<T, std::void_t<decltype(std::declval<const T&>().get_logger())>> : std::true_type {};

/// The logger of a macro's first argument.
inline const Logger& logger_of(const Logger& logger) noexcept { return logger; }
inline Logger logger_of(Logger&& logger) noexcept { return logger; }  // a temporary ends before the line is logged
template <class T>
decltype(auto) logger_of(const T& from) {
  static_assert(HasLogger<T>::value,
                "the first argument is a logger or a node, as in RCLCPP_INFO: BATON_INFO(node.get_logger(), \"text\"); "
                "ROS 1's ROS_INFO(\"text\") has none");
  return from.get_logger();
}

inline const Clock& clock_of(const Clock& clock) noexcept { return clock; }
inline const Clock& clock_of(const std::shared_ptr<Clock>& clock) noexcept { return *clock; }

/// The state of one place that logs at times. The words order nothing else: relaxed suffices.
class LogOnce {
 public:
  bool operator()() noexcept { return !done_.exchange(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> done_{false};
};
class LogThrottle {
 public:
  bool operator()(std::chrono::nanoseconds now, std::int64_t period_ms) noexcept {
    std::int64_t last = last_ns_.load(std::memory_order_relaxed);
    const std::int64_t ns = now.count();
    // A clock that was set back begins a new period.
    if (last != kNever && ns >= last && (ns - last) / 1'000'000 < period_ms) return false;
    return last_ns_.compare_exchange_strong(last, ns, std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kNever = INT64_MIN;
  std::atomic<std::int64_t> last_ns_{kNever};
};

}  // namespace detail
}  // namespace baton

// The parts of the macros below. An argument of a line that is not logged is not evaluated.
#define BATON_LOG_IF_(level, condition, logger, ...)                                           \
  do {                                                                                         \
    const auto& baton_logger_ = ::baton::detail::logger_of(logger);                            \
    if (baton_logger_.is_enabled_for(level) && (condition))                                    \
      baton_logger_.print(level, ::baton::LogSite{__func__, __FILE__, __LINE__}, __VA_ARGS__); \
  } while (false)
#define BATON_LOG_STREAM_IF_(level, condition, logger, stream)                                       \
  do {                                                                                               \
    const auto& baton_logger_ = ::baton::detail::logger_of(logger);                                  \
    if (baton_logger_.is_enabled_for(level) && (condition)) {                                        \
      ::std::ostringstream baton_stream_;                                                            \
      baton_stream_ << stream;                                                                       \
      baton_logger_.log(level, baton_stream_.str(), ::baton::LogSite{__func__, __FILE__, __LINE__}); \
    }                                                                                                \
  } while (false)
#define BATON_LOG_FIRST_()                \
  [] {                                    \
    static ::baton::detail::LogOnce once; \
    return once();                        \
  }()
#define BATON_LOG_PERIOD_(clock, milliseconds)                     \
  [](const ::baton::Clock& baton_clock, ::std::int64_t baton_ms) { \
    static ::baton::detail::LogThrottle throttle;                  \
    return throttle(baton_clock.now(), baton_ms);                  \
  }(::baton::detail::clock_of(clock), milliseconds)

// The macros of each level, in the form of RCLCPP_INFO and its family: `logger` is a Logger or a Node.
//   BATON_INFO(logger, "format %d", x)                      printf's format, which the compiler checks
//   BATON_INFO_STREAM(logger, "text " << x)                 with operator<<
// and of both, with _STREAM before the other word:
//   BATON_INFO_ONCE(logger, ...)                            the first time only
//   BATON_INFO_SKIPFIRST(logger, ...)                       each time but the first
//   BATON_INFO_EXPRESSION(logger, condition, ...)           if `condition` is true; ROS 1's _COND
//   BATON_INFO_THROTTLE(logger, clock, milliseconds, ...)   at most once in this time of a Clock or std::shared_ptr<Clock>
// Only times at which the level is enabled count.
#define BATON_DEBUG(logger, ...) BATON_LOG_IF_(::baton::Logger::Level::kDebug, true, logger, __VA_ARGS__)
#define BATON_DEBUG_ONCE(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kDebug, BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_DEBUG_SKIPFIRST(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kDebug, !BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_DEBUG_EXPRESSION(logger, condition, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kDebug, condition, logger, __VA_ARGS__)
#define BATON_DEBUG_THROTTLE(logger, clock, milliseconds, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kDebug, BATON_LOG_PERIOD_(clock, milliseconds), logger, __VA_ARGS__)
#define BATON_DEBUG_STREAM(logger, stream) BATON_LOG_STREAM_IF_(::baton::Logger::Level::kDebug, true, logger, stream)
#define BATON_DEBUG_STREAM_ONCE(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kDebug, BATON_LOG_FIRST_(), logger, stream)
#define BATON_DEBUG_STREAM_SKIPFIRST(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kDebug, !BATON_LOG_FIRST_(), logger, stream)
#define BATON_DEBUG_STREAM_EXPRESSION(logger, condition, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kDebug, condition, logger, stream)
#define BATON_DEBUG_STREAM_THROTTLE(logger, clock, milliseconds, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kDebug, BATON_LOG_PERIOD_(clock, milliseconds), logger, stream)

#define BATON_INFO(logger, ...) BATON_LOG_IF_(::baton::Logger::Level::kInfo, true, logger, __VA_ARGS__)
#define BATON_INFO_ONCE(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kInfo, BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_INFO_SKIPFIRST(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kInfo, !BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_INFO_EXPRESSION(logger, condition, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kInfo, condition, logger, __VA_ARGS__)
#define BATON_INFO_THROTTLE(logger, clock, milliseconds, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kInfo, BATON_LOG_PERIOD_(clock, milliseconds), logger, __VA_ARGS__)
#define BATON_INFO_STREAM(logger, stream) BATON_LOG_STREAM_IF_(::baton::Logger::Level::kInfo, true, logger, stream)
#define BATON_INFO_STREAM_ONCE(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kInfo, BATON_LOG_FIRST_(), logger, stream)
#define BATON_INFO_STREAM_SKIPFIRST(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kInfo, !BATON_LOG_FIRST_(), logger, stream)
#define BATON_INFO_STREAM_EXPRESSION(logger, condition, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kInfo, condition, logger, stream)
#define BATON_INFO_STREAM_THROTTLE(logger, clock, milliseconds, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kInfo, BATON_LOG_PERIOD_(clock, milliseconds), logger, stream)

#define BATON_WARN(logger, ...) BATON_LOG_IF_(::baton::Logger::Level::kWarn, true, logger, __VA_ARGS__)
#define BATON_WARN_ONCE(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kWarn, BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_WARN_SKIPFIRST(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kWarn, !BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_WARN_EXPRESSION(logger, condition, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kWarn, condition, logger, __VA_ARGS__)
#define BATON_WARN_THROTTLE(logger, clock, milliseconds, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kWarn, BATON_LOG_PERIOD_(clock, milliseconds), logger, __VA_ARGS__)
#define BATON_WARN_STREAM(logger, stream) BATON_LOG_STREAM_IF_(::baton::Logger::Level::kWarn, true, logger, stream)
#define BATON_WARN_STREAM_ONCE(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kWarn, BATON_LOG_FIRST_(), logger, stream)
#define BATON_WARN_STREAM_SKIPFIRST(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kWarn, !BATON_LOG_FIRST_(), logger, stream)
#define BATON_WARN_STREAM_EXPRESSION(logger, condition, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kWarn, condition, logger, stream)
#define BATON_WARN_STREAM_THROTTLE(logger, clock, milliseconds, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kWarn, BATON_LOG_PERIOD_(clock, milliseconds), logger, stream)

#define BATON_ERROR(logger, ...) BATON_LOG_IF_(::baton::Logger::Level::kError, true, logger, __VA_ARGS__)
#define BATON_ERROR_ONCE(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kError, BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_ERROR_SKIPFIRST(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kError, !BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_ERROR_EXPRESSION(logger, condition, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kError, condition, logger, __VA_ARGS__)
#define BATON_ERROR_THROTTLE(logger, clock, milliseconds, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kError, BATON_LOG_PERIOD_(clock, milliseconds), logger, __VA_ARGS__)
#define BATON_ERROR_STREAM(logger, stream) BATON_LOG_STREAM_IF_(::baton::Logger::Level::kError, true, logger, stream)
#define BATON_ERROR_STREAM_ONCE(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kError, BATON_LOG_FIRST_(), logger, stream)
#define BATON_ERROR_STREAM_SKIPFIRST(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kError, !BATON_LOG_FIRST_(), logger, stream)
#define BATON_ERROR_STREAM_EXPRESSION(logger, condition, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kError, condition, logger, stream)
#define BATON_ERROR_STREAM_THROTTLE(logger, clock, milliseconds, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kError, BATON_LOG_PERIOD_(clock, milliseconds), logger, stream)

#define BATON_FATAL(logger, ...) BATON_LOG_IF_(::baton::Logger::Level::kFatal, true, logger, __VA_ARGS__)
#define BATON_FATAL_ONCE(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kFatal, BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_FATAL_SKIPFIRST(logger, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kFatal, !BATON_LOG_FIRST_(), logger, __VA_ARGS__)
#define BATON_FATAL_EXPRESSION(logger, condition, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kFatal, condition, logger, __VA_ARGS__)
#define BATON_FATAL_THROTTLE(logger, clock, milliseconds, ...) \
  BATON_LOG_IF_(::baton::Logger::Level::kFatal, BATON_LOG_PERIOD_(clock, milliseconds), logger, __VA_ARGS__)
#define BATON_FATAL_STREAM(logger, stream) BATON_LOG_STREAM_IF_(::baton::Logger::Level::kFatal, true, logger, stream)
#define BATON_FATAL_STREAM_ONCE(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kFatal, BATON_LOG_FIRST_(), logger, stream)
#define BATON_FATAL_STREAM_SKIPFIRST(logger, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kFatal, !BATON_LOG_FIRST_(), logger, stream)
#define BATON_FATAL_STREAM_EXPRESSION(logger, condition, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kFatal, condition, logger, stream)
#define BATON_FATAL_STREAM_THROTTLE(logger, clock, milliseconds, stream) \
  BATON_LOG_STREAM_IF_(::baton::Logger::Level::kFatal, BATON_LOG_PERIOD_(clock, milliseconds), logger, stream)
