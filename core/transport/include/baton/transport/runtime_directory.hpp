// SPDX-License-Identifier: Apache-2.0
// The directory in which processes meet: <runtime directory>/<domain>. Chooses, makes and checks both parts. The rules
// and their reasons: docs/format/handshake.md, "The directory".
// Thread rules: no state; reads the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "baton/os/directory.hpp"
#include "baton/os/result.hpp"

namespace baton::transport {

inline constexpr int kMaxDomain = 9999;

struct DirectoryOptions {
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the first usable default
  /// Tests replace these: the defaults, the environment, and the kernel's description of a directory.
  std::vector<std::string> defaults;
  std::function<const char*(const char*)> environment;
  std::function<os::OpenedDirectory(int, const std::string&)> open = os::open_directory;
};

/// `wanted`, or if it is -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0. Error: invalid_argument, naming the variable and
/// its value.
Result<int> resolve_domain(int wanted, const DirectoryOptions& options = {});

struct DomainDirectory {
  os::UniqueFd runtime;  ///< held open so that cleaners see that it is in use
  os::UniqueFd fd;
  std::string path;
  std::uint32_t socket_mode = 0600;
  std::uint32_t gid = ~0U;  ///< the group that shares the directory; ~0: none
  std::string remark;       ///< what the user has to know although all went well; empty: nothing
};

/// Errors: no_runtime_directory, foreign_runtime_directory, out_of_descriptors.
Result<DomainDirectory> open_domain_directory(int domain, const DirectoryOptions& options = {});

/// Removes the directories `<prefix>...` in a runtime directory that belong to this user and in which no process is any more: each process holds
/// a lock on its runtime directory until it dies. A directory that has changed in the last two seconds stays, since its process may be
/// about to lock it. Best effort.
void remove_dead_directories(const std::string& runtime_directory, const std::string& prefix);

}  // namespace baton::transport
