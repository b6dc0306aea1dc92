// SPDX-License-Identifier: Apache-2.0
#include "baton/node/init.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include "baton/node/shutdown.hpp"
#include "baton/os/process.hpp"
#include "logging.hpp"
#include "names.hpp"
#include "parameter_yaml.hpp"

namespace baton {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Exception({Errc::invalid_argument, why}); }

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// The two sides of `from:=to`, or none.
std::optional<std::pair<std::string, std::string>> sides(const std::string& text) {
  const std::size_t at = text.find(":=");
  if (at == std::string::npos) return std::nullopt;
  return std::pair{text.substr(0, at), text.substr(at + 2)};
}

void check_node(const std::string& name, const std::string& argument) {
  if (const std::string why = detail::why_no_node_name(name); !why.empty())
    refuse("argument '" + argument + "': '" + name + "' " + why);
}

/// Takes a leading "node:" off, but not "rostopic://".
std::string take_node(std::string& from, const std::string& argument) {
  const std::size_t colon = from.find(':');
  if (colon == std::string::npos || from.compare(colon, 3, "://") == 0) return "";
  std::string node = from.substr(0, colon);
  check_node(node, argument);
  from.erase(0, colon + 1);
  return node;
}

void take_scheme(std::string& name, Remapping::Applies& applies) {
  for (const auto& [scheme, kind] : {std::pair{"rostopic://", Remapping::Applies::kTopics},
                                     std::pair{"rosservice://", Remapping::Applies::kServices}}) {
    if (!starts_with(name, scheme)) continue;
    name.erase(0, std::string_view(scheme).size());
    applies = kind;
  }
}

void check_name(const std::string& name, const std::string& argument) {
  if (const std::string why = detail::why_no_name(name); !why.empty())
    refuse("argument '" + argument + "': '" + name + "' " + why);
}

/// `[node:]from:=to`, also `__ns`, `__node` and `__name`.
Remapping remapping(const std::string& argument) {
  auto both = sides(argument);
  if (!both) refuse("argument '" + argument + "': a rule for names has the form from:=to, e.g. image:=/camera/image");
  auto& [from, to] = *both;
  Remapping rule;
  rule.node = take_node(from, argument);
  if (from == "__node" || from == "__name") {
    rule.applies = Remapping::Applies::kNodeName;
    check_node(to, argument);
    rule.to = to;
    return rule;
  }
  if (from == "__ns") {
    rule.applies = Remapping::Applies::kNamespace;
    rule.to = detail::checked_namespace(to);
    return rule;
  }
  take_scheme(from, rule.applies);
  if (starts_with(from, "__"))
    refuse("argument '" + argument + "': unknown word '" + from + "'; there are __ns, __node and __name");
  check_name(from, argument);
  Remapping::Applies of_target = rule.applies;
  take_scheme(to, of_target);
  if (of_target != rule.applies) refuse("argument '" + argument + "': both sides must name the same kind of thing");
  check_name(to, argument);
  rule.from = from;
  rule.to = to;
  return rule;
}

ParameterAssignment assignment(const std::string& argument) {
  auto both = sides(argument);
  if (!both) refuse("argument '" + argument + "': a parameter has the form name:=value, e.g. rate:=10.0");
  auto& [name, value] = *both;
  const std::string node = take_node(name, argument);
  if (name.empty()) refuse("argument '" + argument + "': the parameter's name is empty");
  const std::string where = "argument '" + argument + "'";
  return {node.empty() ? "/**" : "/**/" + node, name, parse_parameter_value(value, where), where, true};
}

LogLevel log_level(const std::string& argument) {
  LogLevel result{"", argument};
  if (auto both = sides(argument)) {
    result = {both->first, both->second};
    if (result.logger.empty()) refuse("argument '--log-level " + argument + "': the logger's name is empty");
  }
  std::transform(result.level.begin(), result.level.end(), result.level.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (Logger::Level known{}; !detail::level_of_word(result.level, known))
    refuse("argument '--log-level " + argument + "': the levels are debug, info, warn, error, fatal and off");
  return result;
}

/// The arguments behind `--ros-args`.
class RosArguments {
 public:
  RosArguments(const std::vector<std::string>& all, std::size_t& at, Arguments& result)
      : all_(all), at_(at), result_(result) {}

  /// Reads up to `--` or the end.
  void read() {
    for (; at_ < all_.size() && all_[at_] != "--"; ++at_) one(all_[at_]);
  }

 private:
  void one(const std::string& flag) {
    if (flag == "-r" || flag == "--remap") {
      result_.remappings.push_back(remapping(value(flag)));
    } else if (flag == "-p" || flag == "--param") {
      result_.parameters.push_back(assignment(value(flag)));
    } else if (flag == "--params-file") {
      for (ParameterAssignment& found : read_parameter_file(value(flag)))
        result_.parameters.push_back(std::move(found));
    } else if (flag == "--log-level") {
      result_.log_levels.push_back(log_level(value(flag)));
    } else if (flag == "--disable-rosout-logs" || flag == "--enable-rosout-logs") {
      result_.rosout = flag == "--enable-rosout-logs";
    } else if (flag == "--disable-stdout-logs" || flag == "--enable-stdout-logs") {
      result_.console = flag == "--enable-stdout-logs";
    } else if (flag != "--ros-args") {  // a second one changes nothing
      refuse("argument '" + flag +
             "' behind --ros-args is unknown; there are -r from:=to, -p name:=value, --params-file FILE, --log-level "
             "LEVEL, --disable-rosout-logs, --disable-stdout-logs, and -- before the program's own arguments");
    }
  }

  const std::string& value(const std::string& flag) {
    if (at_ + 1 >= all_.size() || all_[at_ + 1] == "--") refuse("argument '" + flag + "': its value is missing");
    return all_[++at_];
  }

  const std::vector<std::string>& all_;
  std::size_t& at_;
  Arguments& result_;
};

/// An argument of ROS 1's grammar; false: it is the program's own.
bool take_ros1(const std::string& argument, Arguments& result) {
  const auto both = sides(argument);
  if (!both || starts_with(argument, "-")) return false;
  const auto& [from, to] = *both;
  // roslaunch gives these to every program. Baton has no master, and writes no log files.
  if (from == "__log" || from == "__master" || from == "__ip" || from == "__hostname") return true;
  if (from.size() > 1 && from[0] == '_' && from[1] != '_') {
    const std::string where = "argument '" + argument + "'";
    result.parameters.push_back({"/**", from.substr(1), parse_parameter_value(to, where), where, true});
  } else {
    result.remappings.push_back(remapping(argument));
  }
  return true;
}

/// What one call of init() read. Never freed, because another thread may be reading it; `former` keeps it reachable, so
/// that a leak checker sees what the program still has. A program calls init() once.
struct Initialised {
  std::shared_ptr<const Arguments> arguments;
  const Initialised* former;
};

/// What init() read last. No lock, so that a child forked at any moment can read it.
std::atomic<const Initialised*>& of_init() {
  static std::atomic<const Initialised*> state{new Initialised{std::make_shared<const Arguments>(), nullptr}};
  return state;
}
// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever.
[[maybe_unused]] const auto& g_made_early = of_init();

/// Whether report_unused_parameters() has nothing (more) to say. Orders nothing else: relaxed.
std::atomic<bool> g_unused_reported{true};

// Constant after the first init(), and never freed: threads may end the program while its static objects end.
const std::string* g_program = nullptr;
std::terminate_handler g_former_end = nullptr;

[[noreturn]] void end_for_usage_error() {
  // Not `throw;`: the former handler shall still find the exception.
  if (const std::exception_ptr uncaught = std::current_exception()) {
    try {
      std::rethrow_exception(uncaught);
    } catch (const UsageError& error) {
      const std::string_view text = error.what();
      const std::size_t code = std::string_view(errc_name(error.code())).size() + 2;
      std::fflush(stdout);
      std::fprintf(stderr, "%s: %s\n", g_program->c_str(), text.data() + std::min(code, text.size()));
      std::_Exit(2);
    } catch (...) {
    }
  }
  g_former_end();
  std::abort();
}

/// A user who mistypes an option gets a line, and not "terminate called" with a core dump. Not by exit() where the mistake is
/// found: a program may catch it.
void end_for_usage_errors(const std::string& program) {
  [[maybe_unused]] static const bool once = [&] {
    const std::string name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
    g_program = new std::string(name.empty() ? os::program_name() : name);
    g_former_end = std::set_terminate(end_for_usage_error);
    return true;
  }();
}

}  // namespace

bool ParameterAssignment::applies_to(const std::string& fully_qualified_name) const {
  return detail::matches(node, fully_qualified_name);
}

Arguments parse_arguments(const std::vector<std::string>& arguments) {
  Arguments result;
  try {
    for (std::size_t at = 0; at < arguments.size(); ++at) {
      if (arguments[at] == "--ros-args") {
        RosArguments(arguments, ++at, result).read();
      } else if (!take_ros1(arguments[at], result)) {
        result.rest.push_back(arguments[at]);
      }
    }
  } catch (const Exception& error) {
    throw UsageError(error);
  }
  return result;
}

std::vector<std::string> detail::read_arguments(const std::vector<std::string>& arguments) {
  auto parsed = std::make_shared<const Arguments>(parse_arguments(arguments));
  auto* made = new Initialised{parsed, of_init().load(std::memory_order_relaxed)};
  // Release: pairs with the acquire in arguments(). `former` is never read through, so relaxed would do for it.
  while (!of_init().compare_exchange_weak(made->former, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  g_unused_reported.store(parsed->parameters.empty(), std::memory_order_relaxed);
  detail::set_levels(parsed->log_levels, "");
  detail::set_console(parsed->console.value_or(true));
  return parsed->rest;
}

void detail::report_unused_parameters() noexcept {
  if (g_unused_reported.load(std::memory_order_relaxed) || g_unused_reported.exchange(true, std::memory_order_relaxed))
    return;
  for (const ParameterAssignment& one : arguments()->parameters) {
    if (one.use->declared.load(std::memory_order_relaxed)) continue;
    // A file often serves several programs: only what it says of one node of this program by name is a mistake here.
    const bool by_name = one.use->applied.load(std::memory_order_relaxed) && one.node.find('*') == std::string::npos;
    if (!one.single && !by_name) continue;
    log_of_baton(Logger::Level::kWarn, one.where + ": no node of this program has declared the parameter '" + one.name +
                                           "', so nothing is set; `baton param list` shows the names");
  }
}

std::vector<std::string> init(const std::vector<std::string>& arguments) {
  end_for_usage_errors(arguments.empty() ? "" : arguments.front());
  std::vector<std::string> rest = detail::read_arguments(arguments);
  try {
    shutdown_on_signals();
  } catch (const Exception& error) {
    if (error.code() != Errc::already_exists) throw;  // the program chose its signals before
  }
  return rest;
}

std::vector<std::string> init(int argc, const char* const* argv) {
  return init(std::vector<std::string>(argv, argv + argc));
}

std::shared_ptr<const Arguments> arguments() {
  return of_init().load(std::memory_order_acquire)->arguments;  // pairs with the release in read_arguments()
}

}  // namespace baton
