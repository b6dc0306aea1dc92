// SPDX-License-Identifier: Apache-2.0
// The link is a role: of all processes of a domain that would be the link, one is. It holds a lock in the domain's directory, which
// the kernel gives up at its death, whatever the death; the next one takes over.
// Thread rules: one thread.
#pragma once

#include <string>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::link {

class Role {
 public:
  /// Errors: those of transport::open_domain_directory(), and system.
  static Result<Role> open(int domain, const std::string& runtime_directory);
  /// True if this process has the role now. Never blocks.
  bool try_take() noexcept;
  /// True if another process has it.
  bool taken_by_other() const noexcept;
  const std::string& directory() const noexcept { return directory_; }

 private:
  os::UniqueFd file_;
  std::string directory_;
};

}  // namespace baton::link
