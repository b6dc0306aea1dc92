// SPDX-License-Identifier: Apache-2.0
#include "logging.hpp"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <utility>

#include "baton/os/clock.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/lock.hpp"
#include "log_console.hpp"

namespace baton {
namespace detail {
namespace {

using Level = Logger::Level;

struct SeverityWords {
  Level level;
  std::string_view word;  // of --log-level
  std::string_view printed;
  std::string_view colour;  // rcutils: logging.c
};
constexpr std::array<SeverityWords, 7> kWords = {{{Level::kDebug, "debug", "DEBUG", "\033[32m"},
                                                  {Level::kInfo, "info", "INFO", ""},
                                                  {Level::kWarn, "warn", "WARN", "\033[33m"},
                                                  {Level::kError, "error", "ERROR", "\033[31m"},
                                                  {Level::kFatal, "fatal", "FATAL", "\033[31m"},
                                                  {Level::kUnset, "unset", "UNSET", ""},
                                                  {Level::kOff, "off", "OFF", ""}}};

const SeverityWords& words_of(Level level) noexcept {
  for (const SeverityWords& words : kWords)
    if (words.level == level) return words;
  return kWords[1];
}

/// The levels that were set, by name; "" is the program's. A change replaces the whole map, so that a child that is
/// forked meanwhile has the old one or the new one.
using Levels = std::map<std::string, Level, std::less<>>;
struct LevelsLock {
  os::Mutex mutex;
};
std::atomic<const Levels*> g_levels{nullptr};
/// Changes after g_levels.
std::atomic<std::uint64_t> g_version{1};
std::atomic<bool> g_console{true};
thread_local bool t_without_sink = false;

os::Mutex& levels_mutex() { return os::of_this_process<LevelsLock>().mutex; }
// Made when the library is loaded: a lock must not need memory later.
[[maybe_unused]] const auto& g_made_early = levels_mutex();

/// The first call reads BATON_LOG_LEVEL; `wrong` is then its value if that is no level.
const Levels& levels(std::string* wrong) BATON_REQUIRES(levels_mutex()) {
  // Relaxed: all changes happen under the lock.
  if (const Levels* known = g_levels.load(std::memory_order_relaxed)) return *known;
  auto made = std::make_unique<Levels>();
  const char* text = os::harmless_environment("BATON_LOG_LEVEL");
  if (text != nullptr && *text != '\0') {
    Level level = Level::kInfo;
    if (level_of_word(text, level))
      (*made)[""] = level;
    else if (wrong != nullptr)
      *wrong = text;
  }
  g_levels.store(made.get(), std::memory_order_relaxed);
  return *made.release();
}

Level effective(const Levels& all, std::string_view name) noexcept {
  for (;;) {
    if (const auto found = all.find(name); found != all.end()) return found->second;
    if (name.empty()) return Level::kInfo;
    const std::size_t dot = name.rfind('.');
    name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  }
}

void change(const std::vector<std::pair<std::string, Level>>& wanted) {
  const os::Lock lock(levels_mutex());
  const Levels& before = levels(nullptr);
  auto after = std::make_unique<Levels>(before);
  for (const auto& [name, level] : wanted) {
    if (level == Level::kUnset)
      after->erase(name);
    else
      (*after)[name] = level;
  }
  if (*after == before) return;
  g_levels.store(after.release(), std::memory_order_relaxed);
  // Release: pairs with the acquire in find_level(), though its reader takes the lock as well.
  g_version.fetch_add(1, std::memory_order_release);
  delete &before;  // readers hold the lock
}

/// The slow part of get_effective_level().
BATON_COLD Level find_level(LoggerCore& core) {
  std::string wrong;
  Level level = Level::kInfo;
  {
    const os::Lock lock(levels_mutex());
    const std::uint64_t version = g_version.load(std::memory_order_relaxed);  // changed under the lock only
    level = effective(levels(&wrong), core.name);
    core.known.store(version * 256 + static_cast<std::uint64_t>(level), std::memory_order_relaxed);
  }
  if (!wrong.empty())
    log_of_baton(Level::kWarn, "BATON_LOG_LEVEL is '" + wrong +
                                   "'; the levels are debug, info, warn, error, fatal and off. It is taken for info");
  return level;
}

void print(const LogLine& line) {
  if (!g_console.load(std::memory_order_relaxed)) return;  // a switch that orders nothing
  const SeverityWords& words = words_of(line.level);
  std::array<char, 64> time{};
  const auto ns = line.time.count();
  std::snprintf(time.data(), time.size(), "] [%lld.%09lld] [", static_cast<long long>(ns / 1'000'000'000),
                static_cast<long long>(ns % 1'000'000'000));
  // rcutils' default: [{severity}] [{time}] [{name}]: {message}
  std::string text(words.colour);
  text.append("[").append(words.printed).append(time.data()).append(line.name).append("]: ").append(line.text);
  std::string plain = text.substr(words.colour.size()) + '\n';
  if (!words.colour.empty()) text += "\033[0m";
  text += '\n';
  print_line(plain, text);
}

}  // namespace

Logger LoggerCore::make(std::string name, std::weak_ptr<LogSink> sink) {
  auto core = std::make_shared<LoggerCore>();
  core->name = std::move(name);
  core->sink = std::move(sink);
  return Logger(std::move(core));
}

bool level_of_word(std::string_view word, Level& level) {
  for (const SeverityWords& words : kWords) {
    if (words.word != word) continue;
    level = words.level;
    return true;
  }
  return false;
}

void set_levels(const std::vector<LogLevel>& levels, const std::string& for_all) {
  std::vector<std::pair<std::string, Level>> wanted;
  for (const LogLevel& one : levels) {
    Level level = Level::kInfo;
    if (level_of_word(one.level, level)) wanted.emplace_back(one.logger.empty() ? for_all : one.logger, level);
  }
  if (!wanted.empty()) change(wanted);
}

void set_console(bool on) noexcept { g_console.store(on, std::memory_order_relaxed); }

namespace {

const Logger& of_baton() {
  static const auto* const logger = new Logger(get_logger("baton"));  // threads may use it while static objects end
  return *logger;
}

std::atomic<std::string (*)(std::string_view)> g_phrasing{nullptr};  // relaxed: a function, which orders nothing

// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever.
[[maybe_unused]] const auto& g_of_baton_early = of_baton();

}  // namespace

void set_phrasing(std::string (*phrasing)(std::string_view)) noexcept {
  g_phrasing.store(phrasing, std::memory_order_relaxed);
}

void log_of_baton(Level level, std::string_view text) noexcept {
  try {
    if (const auto phrasing = g_phrasing.load(std::memory_order_relaxed)) return of_baton().log(level, phrasing(text));
  } catch (const std::bad_alloc&) {  // as it is
  }
  of_baton().log(level, text);
}

WithoutSink::WithoutSink() noexcept : before_(std::exchange(t_without_sink, true)) {}
WithoutSink::~WithoutSink() { t_without_sink = before_; }

}  // namespace detail

Logger::Logger(std::shared_ptr<detail::LoggerCore> core) : core_(std::move(core)) {}

Logger get_logger(const std::string& name) { return detail::LoggerCore::make(name); }

const std::string& Logger::get_name() const noexcept { return core_->name; }

Logger Logger::get_child(const std::string& suffix) const {
  return detail::LoggerCore::make(core_->name.empty() ? suffix : core_->name + "." + suffix, core_->sink);
}

void Logger::set_level(Level level) const { detail::change({{core_->name, level}}); }

Logger::Level Logger::get_effective_level() const noexcept {
  const std::uint64_t known = core_->known.load(std::memory_order_relaxed);
  // Acquire: pairs with the release in change().
  if (known / 256 == detail::g_version.load(std::memory_order_acquire)) return static_cast<Level>(known % 256);
  try {
    return detail::find_level(*core_);
  } catch (...) {
    return Level::kInfo;  // no memory for the first look
  }
}

void Logger::log(Level level, std::string_view text, const LogSite& site) const noexcept {
  if (level == Level::kUnset || level == Level::kOff || !is_enabled_for(level)) return;
  const int saved = errno;
  try {
    const detail::LogLine line{level, core_->name, text, site, std::chrono::nanoseconds(os::realtime_ns())};
    detail::print(line);
    if (!detail::t_without_sink) {
      if (const std::shared_ptr<detail::LogSink> sink = core_->sink.lock()) {
        const detail::WithoutSink guard;  // what publishing reports must not be published
        sink->publish(line);
      }
    }
  } catch (...) {
    // There is no memory for the line.
  }
  errno = saved;
}

void Logger::print(Level level, const LogSite& site, const char* format, ...) const noexcept {
  if (!is_enabled_for(level)) return;
  const int saved = errno;
  std::array<char, 1024> text;
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  errno = saved;  // for %m
  const int size = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (size < 0) {
    log(level, format, site);  // a wide string that the locale has no bytes for
  } else if (static_cast<std::size_t>(size) < text.size()) {
    log(level, {text.data(), static_cast<std::size_t>(size)}, site);
  } else {
    try {
      std::string longer(static_cast<std::size_t>(size) + 1, '\0');
      errno = saved;
      std::vsnprintf(longer.data(), longer.size(), format, again);
      longer.pop_back();
      log(level, longer, site);
    } catch (...) {
      log(level, {text.data(), text.size() - 1}, site);  // no memory for the rest
    }
  }
  va_end(again);
  errno = saved;
}

}  // namespace baton
