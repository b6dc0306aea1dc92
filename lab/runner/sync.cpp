// SPDX-License-Identifier: Apache-2.0
#include "sync.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace baton::perf {

SyncPage& map_sync_page(const std::string& directory) {
  const std::string path = directory + "/sync";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
  // Every process gives the file the same size; a new file is zero.
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, sizeof(SyncPage)) == 0)
    memory = ::mmap(nullptr, sizeof(SyncPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (memory == MAP_FAILED) throw std::system_error(error, std::generic_category(), path);
  return *static_cast<SyncPage*>(memory);
}

}  // namespace baton::perf
