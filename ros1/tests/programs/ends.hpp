// SPDX-License-Identifier: Apache-2.0
// What the ends of a topic of images have in common, whatever makes them: ends.cpp, api_ends.cpp, image_ends.cpp and pointer_ends.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "pattern.hpp"
#include "tcp_bytes.hpp"

namespace ends {

/// A whole line, also beside those of other threads.
inline void say(const std::string& line) { std::cout << line + "\n" << std::flush; }

template <class Image>
void fill(Image& image, std::uint32_t number, std::size_t bytes) {
  image.header.frame_id = "camera";
  image.width = number;
  image.height = 1;
  image.encoding = "mono8";
  image.data.resize(bytes);
  pattern::fill(image.data, number);
}

/// What a talker answers to a line of its own.
enum class Answer { kDone, kSaid, kUnknown };

/// Obeys a talker's input, and answers each line with "done LINE": "subscribers N" waits for so many, "publish BYTES COUNT PERIOD_MS" calls
/// `publish(bytes)` so often. Another line is for `other(word, rest of the line)`. Returns the program's status.
template <class Count, class Publish, class Other>
int talk(const Count& count, const Publish& publish, const Other& other) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {
      unsigned wanted = 0;
      words >> wanted;
      while (count() != wanted) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (word == "publish") {
      std::size_t bytes = 0, times = 0, period_ms = 0;
      words >> bytes >> times >> period_ms;
      for (; times > 0; --times) {
        publish(bytes);
        if (period_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
      }
    } else {
      const Answer answer = other(word, words);
      if (answer == Answer::kUnknown) return 3;
      if (answer == Answer::kSaid) continue;
    }
    say("done " + line);
  }
  return 0;
}

/// A listener's images: says "NUMBER SEQ BYTES good|bad" of each, and keeps the first ones for ever.
template <class Pointer>
class Images {
 public:
  Images(const char* keep, const char* pause_ms) : keep_(std::stoul(keep)), pause_(std::stoul(pause_ms)) {}

  void take(const Pointer& image) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool good = image->header.frame_id == "camera" && pattern::matches(image->data, image->width);
    std::ostringstream line;
    line << image->width << ' ' << image->header.seq << ' ' << image->data.size() << (good ? " good" : " bad");
    say(line.str());
    if (kept_.size() < keep_) kept_.push_back(image);
    std::this_thread::sleep_for(pause_);
    while (holds_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// A line of the input: "tcp" says what this process's TCP connections have received. From "hold" on, take() returns only after "release".
  void obey(const std::string& line) {
    if (line == "hold") holds_ = true;
    if (line == "release") holds_ = false;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (line == "hold") say("done hold");
    if (line == "tcp") say("tcp " + std::to_string(tcp_bytes()));
  }

  /// The program's status: 4 if an image that was kept has changed.
  int end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& image : kept_) {
      if (!pattern::matches(image->data, image->width)) return 4;
    }
    return 0;
  }

 private:
  const std::size_t keep_;
  const std::chrono::milliseconds pause_;
  std::mutex mutex_;
  std::vector<Pointer> kept_;
  std::atomic<bool> holds_{false};  // alone: nothing is read because of it
};

}  // namespace ends
