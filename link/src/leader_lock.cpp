// SPDX-License-Identifier: Apache-2.0
#include "leader_lock.hpp"

#include "baton/os/directory.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/transport/runtime_directory.hpp"

namespace baton::link {

Result<LeaderLock> LeaderLock::open(int domain, const std::string& runtime_directory) {
  transport::DirectoryOptions where;
  where.runtime_directory = runtime_directory;
  Result<transport::DomainDirectory> directory = transport::open_domain_directory(domain, where);
  if (!directory) return directory.error();
  Result<os::UniqueFd> file = os::open_file_at(directory->fd.get(), kLockFile, directory->socket_mode, directory->gid);
  if (!file) return file.error();
  LeaderLock leader_lock;
  leader_lock.file_ = std::make_unique<os::ParentOnlyFd>(std::move(*file));
  leader_lock.directory_ = std::move(directory->fd);
  leader_lock.path_ = directory->path;
  leader_lock.mode_ = directory->socket_mode;
  leader_lock.gid_ = directory->gid;
  return leader_lock;
}

bool LeaderLock::try_take() noexcept { return os::try_lock_byte(file_->get(), 0); }
bool LeaderLock::taken_by_other() const noexcept { return os::byte_locked_by_other(file_->get(), 0); }

Result<void> LeaderLock::mark_secured() const {
  const Result<os::UniqueFd> file = os::open_file_at(directory_.get(), kSecuredFile, mode_, gid_);
  return file ? Result<void>() : Result<void>(file.error());
}
bool LeaderLock::is_marked_secured() const {
  const Result<std::optional<std::string>> mark = os::read_file_at(directory_.get(), kSecuredFile, 1);
  return !mark || mark->has_value();  // a mark that cannot be read counts as one
}

Result<void> LeaderLock::write_state(const std::string& text) const {
  return os::replace_file_at(directory_.get(), kStateFile, text, mode_, gid_);
}
void LeaderLock::remove_state() const noexcept { (void)os::remove_name(directory_.get(), kStateFile); }

}  // namespace baton::link
