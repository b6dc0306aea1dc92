// SPDX-License-Identifier: Apache-2.0
// A directory of one test, which is removed at its end. The test may use it as runtime directory.
// Thread rules: a value of the test's thread. A child that was forked has it, too, and leaves it there.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((std::filesystem::temp_directory_path() / "baton-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no directory for the test: " + path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (owner_ == ::getpid()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

  /// The names in the folder of the domain `domain`, if this is a runtime directory.
  std::vector<std::string> names(int domain = 0) const {
    std::vector<std::string> out;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path_ + "/" + std::to_string(domain), ignored)) {
      out.push_back(entry.path().filename().string());
    }
    return out;
  }

 private:
  std::string path_;
  pid_t owner_ = ::getpid();
};

}  // namespace baton::test
