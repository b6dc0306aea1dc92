// SPDX-License-Identifier: Apache-2.0
// Locks of single bytes of a file that belong to an open file description (F_OFD_SETLK, fcntl(2), Linux 3.15): the kernel drops
// them when the last descriptor of that description is closed, however its process ends, and everybody with any description of
// the file can ask for them, whatever namespaces he lives in.
// Thread rules: no state. Descriptors of one description (dup(), fork(), SCM_RIGHTS) share its locks; reopen() makes another.
#pragma once

#include <cstdint>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// A new open file description of the same file, readable and writable, close-on-exec (through /proc/self/fd). Errors: system,
/// out_of_descriptors.
Result<UniqueFd> reopen(int fd);

/// True if this description now owns the byte exclusively; false if another one does. Owning it already is fine.
bool try_lock_byte(int fd, std::uint64_t byte) noexcept;
void unlock_byte(int fd, std::uint64_t byte) noexcept;
/// True if *another* description owns the byte.
bool byte_locked_by_other(int fd, std::uint64_t byte) noexcept;

/// Which PID namespace this process lives in (the inode of /proc/self/ns/pid); 0 if the system does not say.
std::uint64_t pid_namespace();

}  // namespace baton::os
