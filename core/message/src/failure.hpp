// SPDX-License-Identifier: Apache-2.0
// Error reports of walkers over a message. The place of the failure sets code and text; each caller on the way back
// adds its part of the path, so success costs nothing. Thread rules: one walk, one Failure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "baton/os/result.hpp"

namespace baton::message {

class Failure {
 public:
  /// Always false, so that a walker can write `return failure.set(...)`. The first error stays.
  bool set(Errc code, std::string text) {
    if (failed_) return false;
    failed_ = true;
    code_ = code;
    text_ = std::move(text);
    return false;
  }
  bool malformed(std::string text) { return set(Errc::malformed_message, std::move(text)); }
  bool set(const Error& error) { return set(error.code, error.message); }

  /// Adds the field in which the failure lies; called on the way back.
  bool in(const std::string& name) {
    if (path_.empty() || path_[0] == '[' || name.empty()) {
      path_ = name + path_;
    } else {
      path_ = name + "." + path_;
    }
    return false;
  }
  bool in(const std::string& name, std::size_t index) {
    const std::string step = name + "[" + std::to_string(index) + "]";
    return in(step);
  }

  bool failed() const noexcept { return failed_; }

  /// "<what> <type>: <path>: <text>".
  Error error(const char* what, const char* type_name) const {
    std::string text = std::string(what) + " " + type_name + ": ";
    if (!path_.empty()) text += "field '" + path_ + "': ";
    return {code_, text + text_};
  }

 private:
  bool failed_ = false;
  Errc code_ = Errc::malformed_message;
  std::string text_;
  std::string path_;
};

}  // namespace baton::message
