// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <string>

#include "baton/containers/heap.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/process.hpp"
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

/// Says what became of settings that Baton alone does not have.
void say_what_is_replaced(const rmw_init_options_t& options) {
  for (const char* name : {"BATON_RMW", "BATON_RMW_PATHS"}) {
    if (os::environment(name) != nullptr)
      RCUTILS_LOG_WARN_NAMED(kLogger, "%s has no effect: no other RMW runs below, every message takes Baton's memory",
                             name);
  }
  if (options.security_options.enforce_security == RMW_SECURITY_ENFORCEMENT_PERMISSIVE &&
      options.security_options.security_root_path != nullptr)
    RCUTILS_LOG_WARN_NAMED(kLogger,
                           "SROS 2 does not apply: Baton neither encrypts nor reads permissions, and %s is not used",
                           options.security_options.security_root_path);
}

}  // namespace

Result<std::unique_ptr<Context>> Context::join(const rmw_init_options_t& options) {
  if (options.security_options.enforce_security == RMW_SECURITY_ENFORCEMENT_ENFORCE)
    return Error{Errc::unsupported, "security is enforced, and Baton does not encrypt: use another RMW"};
  if (options.discovery_options.automatic_discovery_range == RMW_AUTOMATIC_DISCOVERY_RANGE_OFF)
    return Error{Errc::unsupported,
                 "ROS_AUTOMATIC_DISCOVERY_RANGE=OFF is not supported yet: a node of Baton meets all of its domain"};
  say_what_is_replaced(options);
  choose_array_memory();
  // The first call decides: arrays of segments that were mapped before it are always copied.
  const bool alias = may_alias();
  Result<std::array<std::uint8_t, 16>> prefix = os::random_id();
  if (!prefix) return prefix.error();
  std::unique_ptr<Context> context(new Context());
  context->prefix_ = *prefix;
  context->callback_thread_->wait_set()->wake_once_for_each_message();
  transport::ParticipantOptions wanted;
  const char* domain = os::harmless_environment("BATON_DOMAIN");
  if (domain == nullptr || *domain == '\0')
    wanted.domain = options.domain_id == RMW_DEFAULT_DOMAIN_ID ? 0 : static_cast<int>(options.domain_id);
  wanted.on_diagnostic = log;
  wanted.diagnostic_owner = context->callback_thread_;
  Result<std::shared_ptr<transport::Participant>> joined = transport::Participant::join(wanted);
  if (!joined) return joined.error();
  context->participant_ = std::move(*joined);
  RCUTILS_LOG_DEBUG_NAMED(kLogger, "Baton alone, domain %d; received arrays are %s (%s)",
                          context->participant_->domain(), alias ? "not copied" : "copied",
                          containers::reason().c_str());
  return context;
}

transport::Gid Context::next_gid() noexcept {
  transport::Gid gid = prefix_;
  const std::uint32_t number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::memcpy(gid.data() + kPrefixBytes, &number, sizeof number);
  return gid;
}

}  // namespace baton::rmw
