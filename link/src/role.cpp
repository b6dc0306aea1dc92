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
  Result<os::UniqueFd> file = os::open_file_at(directory->fd.get(), kLockFile, directory->socket_mode, directory->gid);
  if (!file) return file.error();
  Role role;
  role.file_ = std::make_unique<os::ParentOnlyFd>(std::move(*file));
  role.directory_ = std::move(directory->fd);
  role.path_ = directory->path;
  role.mode_ = directory->socket_mode;
  role.gid_ = directory->gid;
  return role;
}

bool Role::try_take() noexcept { return os::try_lock_byte(file_->get(), 0); }
bool Role::taken_by_other() const noexcept { return os::byte_locked_by_other(file_->get(), 0); }

Result<void> Role::mark_secured() const {
  const Result<os::UniqueFd> file = os::open_file_at(directory_.get(), kSecuredFile, mode_, gid_);
  return file ? Result<void>() : Result<void>(file.error());
}
bool Role::is_marked_secured() const {
  const Result<std::optional<std::string>> mark = os::read_file_at(directory_.get(), kSecuredFile, 1);
  return !mark || mark->has_value();  // what cannot be read is taken for one
}

Result<void> Role::write_state(const std::string& text) const {
  return os::replace_file_at(directory_.get(), kStateFile, text, mode_, gid_);
}
void Role::remove_state() const noexcept { (void)os::remove_name(directory_.get(), kStateFile); }

}  // namespace baton::link
