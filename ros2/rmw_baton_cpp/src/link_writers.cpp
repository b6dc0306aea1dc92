// SPDX-License-Identifier: Apache-2.0
#include "link_writers.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "baton/link/link.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/hexadecimal.hpp"
#include "context_announcement.hpp"

namespace baton::rmw {
namespace {

/// The number of the link's process in its own PID namespace (docs/format/link-state.md); 0: no process has the role.
std::int32_t link_process(int domain) {
  const Result<link::SavedState> saved = link::read_state(domain);
  if (!saved || !saved->alive || !saved->text) return 0;
  const std::string& text = *saved->text;
  const std::size_t line = text.find("\nlink\t");
  if (line == std::string::npos) return 0;
  const std::size_t pid = text.find("\tpid=", line), end = text.find('\n', line + 1);
  return pid < end ? static_cast<std::int32_t>(std::strtol(text.c_str() + pid + 5, nullptr, 10)) : 0;
}

/// Whether the endpoint is one of the process that has this number in its own PID namespace. The kernel says which
/// process announced the endpoint, if that process is visible here.
bool belongs_to(const transport::EndpointInfo& end, std::int32_t process) {
  if (process == 0) return false;
  return process == (end.local_pid == 0 ? end.pid : os::pid_in_own_namespace(end.local_pid));
}

}  // namespace

bool LinkWriters::repeats(transport::Participant& participant, const transport::Gid& publisher) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t version = participant.graph_version();
  if (version_ != version || (!all_believed_ && os::monotonic_ns() >= look_again_ns_)) look(participant, version);
  return writers_.count(publisher) != 0;
}

void LinkWriters::look(transport::Participant& participant, std::uint64_t version) {
  writers_.clear();
  all_believed_ = true;
  version_ = version;
  const std::vector<transport::EndpointInfo> endpoints = participant.endpoints();
  const auto announces = [](const auto& end) { return end.is_writer && end.topic == kLinkWriterTopic; };
  if (std::none_of(endpoints.begin(), endpoints.end(), announces)) return;
  const std::int32_t process = link_process(participant.domain());
  std::set<std::string> publishers;
  for (const transport::EndpointInfo& end : endpoints) {
    if (end.is_writer && end.topic != kLinkWriterTopic) publishers.insert(os::hexadecimal(end.gid));
  }
  for (const transport::EndpointInfo& end : endpoints) {
    if (!announces(end)) continue;
    if (!belongs_to(end, process))
      all_believed_ = false;
    else if (publishers.count(end.node) != 0)
      writers_.insert(end.gid);
  }
  look_again_ns_ = os::monotonic_ns() + kLookAgainNs;
}

}  // namespace baton::rmw
