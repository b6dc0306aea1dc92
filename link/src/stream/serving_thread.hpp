// SPDX-License-Identifier: Apache-2.0
// A thread that makes or reads one connection and then ends by itself.
// Thread rules: of the thread that has started it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "baton/os/process.hpp"
#include "baton/os/result.hpp"

namespace baton::link::stream {

/// Of every thread of the network.
inline constexpr std::size_t kNetworkStackBytes = std::size_t{256} << 10;

class ServingThread {
 public:
  static Result<ServingThread> start(const char* name, std::function<void()> body) {
    auto done = std::make_shared<std::atomic<bool>>(false);
    Result<pthread_t> thread = os::start_thread(name, kNetworkStackBytes, [body = std::move(body), done] {
      body();
      done->store(true, std::memory_order_release);  // pairs with done()
    });
    if (!thread) return thread.error();
    return ServingThread(*thread, std::move(done));
  }
  /// The thread touches nothing any more.
  bool done() const { return done_->load(std::memory_order_acquire); }  // pairs with the thread's release
  void join() { pthread_join(thread_, nullptr); }

 private:
  ServingThread(pthread_t thread, std::shared_ptr<std::atomic<bool>> done) : thread_(thread), done_(std::move(done)) {}
  pthread_t thread_;
  std::shared_ptr<std::atomic<bool>> done_;
};

}  // namespace baton::link::stream
