// SPDX-License-Identifier: Apache-2.0
#include "role.hpp"

#include "baton/os/directory.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/transport/runtime_directory.hpp"

namespace baton::link {

Result<Role> Role::open(int domain, const std::string& runtime_directory) {
  transport::DirectoryOptions where;
  where.runtime_directory = runtime_directory;
  Result<transport::DomainDirectory> directory = transport::open_domain_directory(domain, where);
  if (!directory) return directory.error();
  Result<os::UniqueFd> file =
      os::open_file_at(directory->fd.get(), "link.lock", directory->socket_mode, directory->gid);
  if (!file) return file.error();
  Role role;
  role.file_ = std::move(*file);
  role.directory_ = directory->path;
  return role;
}

bool Role::try_take() noexcept { return os::try_lock_byte(file_.get(), 0); }
bool Role::taken_by_other() const noexcept { return os::byte_locked_by_other(file_.get(), 0); }

}  // namespace baton::link
