// SPDX-License-Identifier: Apache-2.0
// A new file that grows at its end, by pieces of memory that lie in several places.
// Thread rules: externally synchronised.
// Invariants: (1) no existing file is changed; (2) after an error the file is as long as before the call; if the kernel refused that, too, the
// error says so, and nothing is appended before the rest is taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// Bytes to be written.
struct FilePiece {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

class OutputFile {
 public:
  /// Direct I/O: whole pages of a piece go from its memory to the disk, and no copy of them stays in the page cache (open(2), O_DIRECT). This is done for
  /// pieces of so many bytes whose address and place in the file are the same within a page.
  static constexpr std::size_t kPageBytes = 4096, kLeastDirectBytes = std::size_t{1} << 20;

  /// Errors: already_exists; system; out_of_descriptors; with `direct` also unsupported, if the file system has no direct I/O.
  static Result<OutputFile> create(const std::string& path, bool direct = false);

  /// Adds the pieces, in one writev(2) where the kernel takes them all (1024 pieces) and none is written directly. Errors: limit_reached (the disk, the quota or the
  /// limit of a file's size is reached), system (also where somebody has removed the file). What was written of the pieces is taken back.
  Result<void> append(const std::vector<FilePiece>& pieces);
  /// Makes the file shorter. Error: system.
  Result<void> cut(std::uint64_t bytes);
  /// Gives the descriptor back; afterwards only size() and path() may be called. Errors: limit_reached, system: the file may lack bytes that
  /// append() took. NFS, and quotas, may refuse them as late as this (close(2), "Dealing with error returns"). The destructor ignores them.
  Result<void> close();
  std::uint64_t size() const noexcept { return size_; }
  /// Whether append() writes directly where it can.
  bool is_direct() const noexcept { return static_cast<bool>(direct_); }
  /// Bytes that were written directly; cut() does not subtract.
  std::uint64_t direct_bytes() const noexcept { return direct_bytes_; }
  const std::string& path() const noexcept { return path_; }

 private:
  OutputFile(UniqueFd fd, UniqueFd direct, std::string path)
      : fd_(std::move(fd)), direct_(std::move(direct)), path_(std::move(path)) {}
  Error take_back(std::uint64_t end, int error_number);
  UniqueFd fd_;
  UniqueFd direct_;  // the same file with O_DIRECT, or empty
  std::string path_;
  std::pair<std::uint64_t, std::uint64_t> made_;  // device and inode of the file that create() made
  std::uint64_t size_ = 0, direct_bytes_ = 0;
  bool has_rest_ = false;  // behind size_: of an append() that failed and could not be taken back
};

/// Bytes that an ordinary user may still write to the file system of `path`. Error: system.
Result<std::uint64_t> free_bytes_at(const std::string& path);

}  // namespace baton::os
