// SPDX-License-Identifier: Apache-2.0
// Locks of single bytes of a file that belong to an open file description (F_OFD_SETLK, fcntl(2), Linux 3.15). The
// kernel drops such a lock when the last descriptor of the description is closed, however the process ends. Every
// process that has any description of the file can query the lock, in whatever namespaces the process lives.
// Thread rules: no state. Descriptors of one description (dup(), fork(), SCM_RIGHTS) share its locks; reopen() makes
// another.
#pragma once

#include <cstdint>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// A new open file description of the same file, readable and writable, close-on-exec (through /proc/self/fd). Errors:
/// system, out_of_descriptors.
Result<UniqueFd> reopen(int fd);

/// True if this description now owns the byte exclusively, or owned the byte before. False if another description owns
/// the byte.
bool try_lock_byte(int fd, std::uint64_t byte) noexcept;
void unlock_byte(int fd, std::uint64_t byte) noexcept;
/// True if *another* description owns the byte.
bool byte_locked_by_other(int fd, std::uint64_t byte) noexcept;

/// The PID namespace of this process (the inode of /proc/self/ns/pid); 0 if the system does not say.
std::uint64_t pid_namespace();

}  // namespace baton::os
