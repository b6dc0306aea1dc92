// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <dlfcn.h>

#include <bitset>
#include <filesystem>
#include <mutex>
#include <string>

#include "baton/containers/heap.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/process.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "interface.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

/// Events that ROS 2 itself reports to the application, such as incompatible policies, are not reported twice.
void log(const transport::Diagnostic& diagnostic) {
  if (diagnostic.level == transport::Diagnostic::Level::kError) {
    warn_of_peer(diagnostic.code, errc_name(diagnostic.code) + (": " + diagnostic.text));
  } else {
    RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s: %s", errc_name(diagnostic.code), diagnostic.text.c_str());
  }
}

/// Says once per process what became of settings that this RMW does not have.
void say_what_is_replaced(const rmw_init_options_t& options) {
  static std::once_flag variables, security;
  std::call_once(variables, [] {
    for (const char* name : {"BATON_RMW", "BATON_RMW_PATHS"}) {
      if (os::environment(name) != nullptr)
        RCUTILS_LOG_WARN_NAMED(kLogger, "%s has no effect: no other RMW runs below, every message takes Baton's memory",
                               name);
    }
  });
  if (options.security_options.enforce_security != RMW_SECURITY_ENFORCEMENT_PERMISSIVE ||
      options.security_options.security_root_path == nullptr)
    return;
  std::call_once(security, [&] {
    RCUTILS_LOG_WARN_NAMED(kLogger,
                           "SROS 2 does not apply: Baton neither encrypts nor reads permissions, and %s is not used",
                           options.security_options.security_root_path);
  });
}

/// For a discovery range of OFF: a runtime directory of this context alone, beside the domains' directories.
Result<std::string> own_directory(int domain, std::uint8_t part) {
  const Result<int> number = transport::resolve_domain(domain, {});
  if (!number) return number.error();
  const Result<transport::DomainDirectory> common = transport::open_domain_directory(*number, {});
  if (!common) return common.error();
  const std::string runtime_directory = common->path.substr(0, common->path.rfind('/'));
  transport::remove_dead_directories(runtime_directory, "off-");  // of processes that were killed
  return runtime_directory + "/off-" + std::to_string(os::process_id()) + "-" + std::to_string(part);
}

std::mutex g_parts_mutex;
std::bitset<256> g_parts;

}  // namespace

Context::Part::Part() {
  const std::lock_guard<std::mutex> lock(g_parts_mutex);
  std::size_t lowest = 1;
  while (lowest < g_parts.size() && g_parts[lowest]) ++lowest;
  if (lowest == g_parts.size()) return;
  g_parts[lowest] = true;
  number = static_cast<std::uint8_t>(lowest);
}

Context::Part::~Part() {
  const std::lock_guard<std::mutex> lock(g_parts_mutex);
  g_parts[number] = false;
}

Context::OwnDirectory::~OwnDirectory() {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

Result<std::unique_ptr<Context>> Context::join(const rmw_init_options_t& options) {
  if (options.security_options.enforce_security == RMW_SECURITY_ENFORCEMENT_ENFORCE)
    return Error{Errc::unsupported, "security is enforced, and Baton does not encrypt: use another RMW"};
  say_what_is_replaced(options);
  choose_array_memory();
  // The first call decides: arrays of segments that were mapped before it are always copied.
  static_cast<void>(may_alias());
  std::unique_ptr<Context> context(new Context());
  if (context->part() == 0) return Error{Errc::limit_reached, "a process has at most 255 contexts at a time"};
  context->callback_thread_->wait_set()->wake_once_for_each_message();
  transport::ParticipantOptions wanted;
  const char* domain = os::harmless_environment("BATON_DOMAIN");
  if (domain == nullptr || *domain == '\0')
    wanted.domain = options.domain_id == RMW_DEFAULT_DOMAIN_ID ? 0 : static_cast<int>(options.domain_id);
  if (meets_itself_alone(options)) {
    Result<std::string> directory = own_directory(wanted.domain, context->part());
    if (!directory) return directory.error();
    context->own_directory_.path = wanted.runtime_directory = std::move(*directory);
  }
  wanted.on_diagnostic = log;
  wanted.diagnostic_owner = context->callback_thread_;
  Result<std::shared_ptr<transport::Participant>> joined = transport::Participant::join(wanted);
  if (!joined) return joined.error();
  context->participant_ = std::move(*joined);
  return context;
}

void Context::say_how_messages_go() {
  std::call_once(said_, [this] {
    const bool asked = ::dlsym(RTLD_DEFAULT, "baton_heap_install_v1") != nullptr;
    RCUTILS_LOG_COND_NAMED(asked ? RCUTILS_LOG_SEVERITY_INFO : RCUTILS_LOG_SEVERITY_DEBUG, RCUTILS_LOG_CONDITION_EMPTY,
                           RCUTILS_LOG_CONDITION_EMPTY, kLogger,
                           "all messages take Baton's memory (domain %d%s); received arrays are %s (%s)",
                           participant_->domain(),
                           own_directory_.path.empty() ? "" : ", without other processes: the discovery range is OFF",
                           may_alias() ? "not copied" : "copied", containers::reason().c_str());
  });
}

}  // namespace baton::rmw
