// SPDX-License-Identifier: Apache-2.0
// Directories in which processes meet. They are made and opened without following a symbolic link at the last step.
// Their description lets the caller judge owner, permissions and file system.
// Thread rules: no state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

struct DirectoryInfo {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t mode = 0;         ///< permission bits, with set-group-id and sticky
  std::uint64_t file_system = 0;  ///< statfs f_type

  bool group_may_write() const noexcept { return (mode & 0020u) != 0; }
  bool everybody_may_write() const noexcept { return (mode & 0002u) != 0; }
};

/// Opens `name` relative to `parent` (-1: `name` is an absolute path). ENOENT, ENOTDIR, ELOOP (a symbolic link) and the
/// like come back as `error_number`.
struct OpenedDirectory {
  UniqueFd fd;
  DirectoryInfo info;
  int error_number = 0;
};
OpenedDirectory open_directory(int parent, const std::string& name);
/// Makes one directory; its mode is exactly `mode`, whatever the umask. Returns 0 or errno. After EEXIST the existing
/// name is unchanged.
int make_directory(int parent, const std::string& name, std::uint32_t mode, std::uint32_t gid = ~0U);

/// "NFS", "FUSE" and so on for a file system on which sockets do not work, or whose files several machines see although
/// a socket works on one machine only. Empty for local file systems.
std::string network_file_system(std::uint64_t file_system);

/// The names in the directory, in no order, without "." and "..".
Result<std::vector<std::string>> list_directory(int directory);
/// Seconds since the inode last changed; negative if the name is gone.
std::int64_t seconds_since_change(int directory, const std::string& name);
/// When the socket `name` last changed, for example got its name: wall-clock time in the kernel's ticks. 0 if the name is gone or no socket.
std::int64_t socket_changed_ns(int directory, const std::string& name);
/// Opens the ordinary file `name` for reading and writing, without following a symbolic link. Makes an empty file if
/// none exists. If this process owns the file, its mode and group are set as asked.
Result<UniqueFd> open_file_at(int directory, const std::string& name, std::uint32_t mode, std::uint32_t gid);
/// Writes a whole file in place of the file `name`: readers see the old text or the new one, never a part. Meanwhile the new text is
/// in `name` + ".new". Not for two writers at a time. Nothing is synced: after a crash of the machine either text, or none, is there.
/// Errors: system, out_of_descriptors.
Result<void> replace_file_at(int directory, const std::string& name, const std::string& text, std::uint32_t mode,
                             std::uint32_t gid);
/// The text of the ordinary file `name`, without following a symbolic link; nothing if there is no such file. Errors: limit_reached
/// (it has more than `most_bytes`), system, out_of_descriptors.
Result<std::optional<std::string>> read_file_at(int directory, const std::string& name, std::size_t most_bytes);
/// True if the name is the very file behind `fd`.
bool is_file_at(int directory, const std::string& name, int fd);
/// 0 or errno.
int remove_name(int directory, const std::string& name);
int rename_name(int directory, const std::string& from, const std::string& to);

/// Marks the directory as in use while the descriptor is open: systemd-tmpfiles cleans no directory that has a BSD lock
/// (tmpfiles.d(5), "Age"). Best effort.
void mark_in_use(int directory);
/// Whether no living process has marked the directory. From then on no other process is answered true, while the descriptor is open.
bool claim_unused(int directory);

}  // namespace baton::os
