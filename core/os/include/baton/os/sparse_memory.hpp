// SPDX-License-Identifier: Apache-2.0
// Large sparse shared memory: address reservations, sealed memfds that are backed page by page, and the limits of the
// machine.
// Thread rules: free functions without state; callable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/os/memory_file.hpp"
#include "baton/os/page.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// Checks that this process may make a file of `bytes`. limit_reached under a smaller RLIMIT_FSIZE, which counts memfds
/// too: ftruncate(2) would kill the process by SIGXFSZ.
Result<void> check_file_size_limit(std::size_t bytes);

/// Reserves address space without memory (PROT_NONE, MAP_NORESERVE), aligned to `alignment` (a power of two of whole
/// pages); null if the kernel refuses.
std::byte* reserve_addresses(std::size_t bytes, std::size_t alignment) noexcept;
/// Gives a reservation back to the kernel.
void release_addresses(std::byte* base, std::size_t bytes) noexcept;
/// Turns a mapped part of a reservation into a bare reservation again. Without a memory area (vm.max_map_count) the mapping stays until
/// the part is used again: map_sparse(), use_reservation() and the segments of this process replace whatever is mapped.
void unmap_to_reservation(std::byte* base, std::size_t bytes) noexcept;

/// Private zero bytes that take memory only where they are touched, also under MCL_FUTURE; null if the kernel refuses.
/// Release them by release_addresses().
std::byte* map_lazily(std::size_t bytes) noexcept;

/// Bytes of address space this process may still map by RLIMIT_AS; SIZE_MAX if unlimited.
std::size_t address_space_left() noexcept;
/// True if new mappings are populated and locked as a whole (mlockall(2), MCL_FUTURE). Probed by mapping one page.
bool future_mappings_are_locked() noexcept;

/// Makes a sparse memfd of `bytes` and maps it writable at `at` (inside a reservation). Then seals the memfd against
/// shrinking, growing, further writable mappings and further seals (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE |
/// F_SEAL_SEAL). Backs nothing, also under MCL_FUTURE. Errors: out_of_descriptors, out_of_memory, unsupported (kernel
/// before 5.1), system.
Result<UniqueFd> create_sparse(const char* name, std::size_t bytes, std::byte* at);

/// Checks that a foreign descriptor is ordinary memory (memory_file.hpp) of exactly `bytes` with the seals of
/// create_sparse. Errors: protocol_violation.
Result<MemoryFile> check_sparse(int fd, std::size_t bytes);
/// Maps a descriptor that passed check_sparse() read-only at `at`, excluded from core dumps. Populates nothing; but
/// after lock_memory() (real_time.hpp) the pages that are backed by then are mapped and locked. Errors: out_of_memory,
/// system.
Result<void> map_sparse(int fd, std::size_t bytes, std::byte* at);
/// Copies bytes from a file. Errors: protocol_violation (a range beyond the file's end), system.
Result<void> copy_out(int fd, std::uint64_t offset, void* to, std::size_t bytes);
/// Makes whole pages of a reservation ordinary memory of this process, zero, until unmap_to_reservation(). Errors:
/// out_of_memory, limit_reached (memory areas), system.
Result<void> use_reservation(std::byte* at, std::size_t bytes);

/// A sparse memfd of `bytes` that every process with the descriptor may write. It is sealed against shrinking, growing
/// and further seals. Backs nothing. Errors: out_of_descriptors, out_of_memory, system.
Result<UniqueFd> create_common_sparse(const char* name, std::size_t bytes);
/// Size of a memfd of create_common_sparse(). Errors: protocol_violation (not such a memfd).
Result<std::size_t> common_sparse_bytes(int fd);
/// Maps such a memfd writable at `at` (inside a reservation). Populates nothing; excluded from core dumps; not in
/// forked children.
/// Errors: out_of_memory, system.
Result<void> map_common_sparse(int fd, std::size_t bytes, std::byte* at);
/// Private zero bytes at `at` (inside a reservation) that take memory only where they are touched, and are zero again
/// in a forked child. Errors: out_of_memory, system.
Result<void> map_private_sparse(std::size_t bytes, std::byte* at);

/// Maps the backed range [at, at + bytes) into this process, so that touching it does not fault. In a process whose
/// memory is locked, locks the range, too.
void populate(std::byte* at, std::size_t bytes) noexcept;

/// Backs [offset, offset + bytes) of the memfd, so that writing there cannot raise SIGBUS and readers find no hole.
/// Maps the range at `at`, so that touching it does not fault; locks it after lock_memory(). Errors: out_of_memory
/// (machine, cgroup, or RLIMIT_MEMLOCK).
Result<void> back_sparse(int fd, std::size_t offset, std::size_t bytes, std::byte* at);

}  // namespace baton::os
