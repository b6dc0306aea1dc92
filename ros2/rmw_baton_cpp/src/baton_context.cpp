// SPDX-License-Identifier: Apache-2.0
#include "baton_context.hpp"

#include <string>

#include "baton/containers/heap.hpp"
#include "baton/os/environment.hpp"
#include "peer_faults.hpp"
#include "rcutils/logging_macros.h"
#include "underlying.hpp"

namespace baton::rmw {
namespace {

/// The reason why Baton stays out, or an empty text.
std::string reason_to_stay_out(const rmw_context_t& context, const std::string& paths) {
  if (paths == "underlying") return "BATON_RMW_PATHS=underlying";
  if (context.options.security_options.enforce_security == RMW_SECURITY_ENFORCEMENT_ENFORCE) {
    return "security is enforced, and Baton does not encrypt";
  }
  if (context.options.discovery_options.automatic_discovery_range == RMW_AUTOMATIC_DISCOVERY_RANGE_OFF) {
    return "ROS_AUTOMATIC_DISCOVERY_RANGE=OFF";
  }
  if (!underlying()->rmw_feature_supported(RMW_FEATURE_MESSAGE_INFO_PUBLICATION_SEQUENCE_NUMBER)) {
    return std::string(underlying()->identifier) + " does not number its messages";
  }
  return "";
}

/// Events that ROS 2 itself reports to the application, such as incompatible policies, are not reported twice.
void log(const transport::Diagnostic& diagnostic) {
  if (diagnostic.level == transport::Diagnostic::Level::kError) {
    warn_of_peer(diagnostic.code, errc_name(diagnostic.code) + (": " + diagnostic.text));
  } else {
    RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s: %s", errc_name(diagnostic.code), diagnostic.text.c_str());
  }
}

}  // namespace

std::shared_ptr<BatonContext> BatonContext::join(const rmw_context_t& context) {
  const char* underlying_name = underlying()->identifier;
  choose_array_memory();
  const char* wanted = os::environment("BATON_RMW_PATHS");
  const std::string paths = wanted != nullptr && *wanted != '\0' ? wanted : "auto";
  if (paths != "auto" && paths != "both" && paths != "underlying") {
    RCUTILS_LOG_WARN_NAMED(kLogger, "BATON_RMW_PATHS=%s is none of auto, both, underlying: taken as auto",
                           paths.c_str());
  }
  std::string reason = reason_to_stay_out(context, paths);
  auto baton_context = std::make_shared<BatonContext>();
  if (reason.empty()) {
    transport::ParticipantOptions options;
    const char* domain = os::harmless_environment("BATON_DOMAIN");
    if (domain == nullptr || *domain == '\0') options.domain = static_cast<int>(context.actual_domain_id);
    options.on_diagnostic = log;
    options.diagnostic_owner = baton_context;
    Result<std::shared_ptr<transport::Participant>> joined = transport::Participant::join(options);
    if (joined) {
      baton_context->participant_ = std::move(*joined);
      baton_context->both_ = paths == "both";
    } else {
      reason = joined.error().message;
    }
  }
  if (!reason.empty()) {
    RCUTILS_LOG_INFO_NAMED(kLogger, "Baton's memory is not used (%s): every message takes %s", reason.c_str(),
                           underlying_name);
    return nullptr;
  }
  // The first call decides: arrays of segments that were mapped before it are always copied.
  const bool alias = may_alias();
  RCUTILS_LOG_INFO_NAMED(kLogger,
                         "topics between processes of this machine take Baton's memory (domain %d)%s, received arrays "
                         "are %s (%s), all else %s",
                         baton_context->participant_->domain(), baton_context->both_ ? " and both paths" : "",
                         alias ? "not copied" : "copied", containers::reason().c_str(), underlying_name);
  baton_context->announcement_ = std::make_unique<ContextAnnouncement>("\"rmw\": " + quoted(underlying_name) +
                                                                       ", \"aliases\": " + (alias ? "true" : "false") +
                                                                       ", \"reason\": " + quoted(containers::reason()));
  for (const std::string& stranger : containers::strangers())
    RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s frees in its own way; arrays are detached before they may be freed there",
                            stranger.c_str());
  return baton_context;
}

}  // namespace baton::rmw
