// SPDX-License-Identifier: Apache-2.0
#include "graph_watch.hpp"

#include "baton/os/process.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/error_handling.h"

namespace baton::rmw {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;  // the underlying RMW's wait runs on it

}  // namespace

std::unique_ptr<GraphWatch> GraphWatch::start(rmw_context_t* inner_context, const rmw_guard_condition_t* guard,
                                              std::function<void()> on_change) {
  std::unique_ptr<GraphWatch> watch(new GraphWatch);
  watch->on_change_ = std::move(on_change);
  watch->stop_guard_ = underlying()->rmw_create_guard_condition(inner_context);
  if (watch->stop_guard_ == nullptr) return nullptr;
  watch->wait_set_ = underlying()->rmw_create_wait_set(inner_context, 2);
  if (watch->wait_set_ == nullptr) return nullptr;
  Result<pthread_t> thread =
      os::start_thread("rmw-baton-graph", kStackBytes, [self = watch.get(), guard] { self->run(guard); });
  if (!thread) {
    RMW_SET_ERROR_MSG(thread.error().message.c_str());
    return nullptr;
  }
  watch->thread_ = *thread;
  return watch;
}

GraphWatch::~GraphWatch() {
  if (thread_) {
    stop_.store(true, std::memory_order_release);  // pairs with the acquire in run()
    if (underlying()->rmw_trigger_guard_condition(stop_guard_) != RMW_RET_OK) rcutils_reset_error();
    ::pthread_join(*thread_, nullptr);
  }
  if (wait_set_ != nullptr && underlying()->rmw_destroy_wait_set(wait_set_) != RMW_RET_OK) rcutils_reset_error();
  if (stop_guard_ != nullptr && underlying()->rmw_destroy_guard_condition(stop_guard_) != RMW_RET_OK)
    rcutils_reset_error();
}

void GraphWatch::add(const std::shared_ptr<transport::GuardCondition>& guard) {
  const std::lock_guard<std::mutex> lock(mutex_);
  guards_.insert(guard);
}

void GraphWatch::remove(const std::shared_ptr<transport::GuardCondition>& guard) {
  const std::lock_guard<std::mutex> lock(mutex_);
  guards_.erase(guard);
}

void GraphWatch::run(const rmw_guard_condition_t* graph) {
  while (!stop_.load(std::memory_order_acquire)) {  // pairs with the release in the destructor
    void* entries[] = {graph->data, stop_guard_->data};
    rmw_guard_conditions_t guards{2, entries};
    const rmw_ret_t result = underlying()->rmw_wait(nullptr, &guards, nullptr, nullptr, nullptr, wait_set_, nullptr);
    if (result != RMW_RET_OK && result != RMW_RET_TIMEOUT) {
      RCUTILS_LOG_WARN_NAMED("rmw_baton_cpp", "changes of the graph wake no wait set any more: %s",
                             rcutils_get_error_string().str);
      rcutils_reset_error();
      return;
    }
    if (entries[0] == nullptr) continue;
    on_change_();
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& guard : guards_) guard->trigger();
  }
}

}  // namespace baton::rmw
