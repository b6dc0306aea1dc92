// SPDX-License-Identifier: Apache-2.0
// What the hosts say of themselves to each other: this host's words on their way to another one, and the other hosts with theirs.
// Thread rules: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "saying.hpp"
#include "words.hpp"

namespace baton::link {

/// This host's words, as a chunk.
struct WordsChunk final : OutgoingChunk {
  WordsChunk(const Gid& host, std::uint64_t sequence, const std::vector<std::byte>& words);
  const std::unique_ptr<std::byte[]> memory;
};

/// Gives the newest words.
class WordsSource final : public ChunkSource {
 public:
  void set(std::shared_ptr<const OutgoingChunk> words) {
    const std::lock_guard<std::mutex> lock(mutex_);
    words_ = std::move(words);
  }
  Next next(std::shared_ptr<const OutgoingChunk>& chunk) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!words_) return Next::kNothing;
    chunk = std::move(words_);
    return Next::kChunk;
  }
  bool empty() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !words_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const OutgoingChunk> words_;
};

/// The other hosts, and what they say. `changed` is called by any thread.
class Hosts final : public HostListener, public ChunkReceiver {
 public:
  Hosts(std::string own_name, std::shared_ptr<Saying> saying, std::function<void()> changed)
      : own_name_(std::move(own_name)), saying_(std::move(saying)), changed_(std::move(changed)) {}

  /// This link ends: the other hosts have not.
  void end() { ends_.store(true, std::memory_order_relaxed); }  // a hint for words: orders nothing

  void joined(const Gid& host) override;
  void connected(const Gid& host, bool connected) override;
  void gone(const Gid& host) override;
  std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader& header, std::size_t message_bytes,
                                       std::size_t come_bytes) override;
  bool deliver(const Gid& host, ArrivingChunk& arriving) override;

  std::set<Gid> all() const;
  std::vector<Words> words() const;

 private:
  void no_words();
  const std::string own_name_;
  const std::shared_ptr<Saying> saying_;
  const std::function<void()> changed_;
  std::atomic<bool> ends_{false};
  mutable std::mutex mutex_;
  std::map<Gid, std::optional<Words>> hosts_;
  std::set<Gid> lost_;  // was said to be not reached
};

}  // namespace baton::link
