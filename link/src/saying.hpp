// SPDX-License-Identifier: Apache-2.0
// The link's diagnostics, with a limited rate: a message of one kind at most once in kPause, with the number of those left out.
// Names in them come from other hosts and other DDS: what could steer a terminal or forge a line of a log becomes '?'.
// Thread rules: any thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "baton/transport/diagnostic.hpp"

namespace baton::link {

class Saying {
 public:
  using Level = transport::Diagnostic::Level;
  explicit Saying(std::function<void(const transport::Diagnostic&)> call) : call_(std::move(call)) {}
  void say(Level level, Errc code, std::string text) {
    if (!call_) return;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      const bool is_c1 = i > 0 && text[i - 1] == '\xC2' && byte >= 0x80 && byte <= 0x9F;  // U+0080 to U+009F in UTF-8
      if (byte < 0x20 || byte == 0x7F || is_c1) text[i] = '?';
    }
    call_({level, code, std::move(text)});
  }
  /// `kind` bounds the rate; few kinds.
  void say_rarely(const std::string& kind, Level level, Errc code, std::string text) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Kind& known = kinds_[kind];
      const auto now = std::chrono::steady_clock::now();
      if (known.said && now - known.last < kPause) {
        ++known.left_out;
        return;
      }
      known.said = true;
      known.last = now;
      if (known.left_out != 0)
        text += " (and " + std::to_string(std::exchange(known.left_out, 0)) + " more like it before)";
      if (kinds_.size() > kMostKinds) kinds_.clear();
    }
    say(level, code, std::move(text));
  }

 private:
  struct Kind {
    bool said = false;
    std::chrono::steady_clock::time_point last{};
    std::size_t left_out = 0;
  };
  static constexpr std::chrono::seconds kPause{5};
  static constexpr std::size_t kMostKinds = 1000;
  const std::function<void(const transport::Diagnostic&)> call_;
  std::mutex mutex_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace baton::link
