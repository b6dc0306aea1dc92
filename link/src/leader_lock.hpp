// SPDX-License-Identifier: Apache-2.0
// Elects the leader: of all processes of a domain that have a link, one works. It holds a lock in the domain's directory, which
// the kernel releases when the process ends, however it ends; the next process takes over. Beside the lock lies the file link.state.
// Thread rules: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "baton/os/parent_only_fd.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::link {

inline constexpr const char* kLockFile = "link.lock";
inline constexpr const char* kStateFile = "link.state";  // docs/format/link-state.md
inline constexpr const char* kSecuredFile = "link.secured";

class LeaderLock {
 public:
  /// Errors: those of transport::open_domain_directory(), and system.
  static Result<LeaderLock> open(int domain, const std::string& runtime_directory);
  /// True if this process is the leader now. Never blocks.
  bool try_take() noexcept;
  /// True if another process is the leader.
  bool taken_by_other() const noexcept;
  const std::string& directory() const noexcept { return path_; }
  /// Records that the domain's link is secured. An unsecured link on standby does not take over while the mark exists. The mark stays until
  /// the file link.secured is removed.
  Result<void> mark_secured() const;
  bool is_marked_secured() const;
  /// Replaces the file link.state. REQUIRES: this process is the leader.
  Result<void> write_state(const std::string& text) const;
  /// REQUIRES: this process is the leader.
  void remove_state() const noexcept;

 private:
  std::unique_ptr<os::ParentOnlyFd> file_;  // a forked child would keep the lock
  os::UniqueFd directory_;
  std::string path_;
  std::uint32_t mode_ = 0600, gid_ = ~0U;
};

}  // namespace baton::link
