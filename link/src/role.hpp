// SPDX-License-Identifier: Apache-2.0
// The link is a role: of all processes of a domain that would be the link, one is. It holds a lock in the domain's directory, which
// the kernel gives up at its death, whatever the death; the next one takes over. Beside the lock lies what the link says of itself.
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

class Role {
 public:
  /// Errors: those of transport::open_domain_directory(), and system.
  static Result<Role> open(int domain, const std::string& runtime_directory);
  /// True if this process has the role now. Never blocks.
  bool try_take() noexcept;
  /// True if another process has it.
  bool taken_by_other() const noexcept;
  const std::string& directory() const noexcept { return path_; }
  /// A domain whose link was secured once must not get one that is not, because that one happened to wait for the role. The mark stays
  /// until the file link.secured is removed.
  Result<void> mark_secured() const;
  bool is_marked_secured() const;
  /// Replaces the file link.state. REQUIRES: this process has the role.
  Result<void> write_state(const std::string& text) const;
  /// REQUIRES: this process has the role.
  void remove_state() const noexcept;

 private:
  std::unique_ptr<os::ParentOnlyFd> file_;  // a forked child would keep the lock
  os::UniqueFd directory_;
  std::string path_;
  std::uint32_t mode_ = 0600, gid_ = ~0U;
};

}  // namespace baton::link
