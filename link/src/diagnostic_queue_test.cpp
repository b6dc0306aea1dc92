// SPDX-License-Identifier: Apache-2.0
#include "diagnostic_queue.hpp"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace baton::link {
namespace {

transport::Diagnostic of(const std::string& text) { return {transport::Diagnostic::Level::kInfo, Errc{}, text}; }

TEST(DiagnosticQueue, WhatIsPushedUnderALockIsSaidInOrderByACallbackThatTakesTheLock) {
  std::mutex lock;
  std::vector<std::string> said;
  DiagnosticQueue queue([&](const transport::Diagnostic& diagnostic) {
    const std::lock_guard<std::mutex> own(lock);
    said.push_back(diagnostic.text);
  });
  ASSERT_TRUE(queue.start());
  std::vector<std::string> pushed;
  for (int i = 0; i < 100; ++i) {
    const std::lock_guard<std::mutex> own(lock);
    pushed.push_back(std::to_string(i));
    queue.push(of(pushed.back()));
  }
  queue.end();
  EXPECT_EQ(said, pushed);
}

TEST(DiagnosticQueue, ACallbackMayPushAndAfterTheEndNothingIsSaid) {
  std::vector<std::string> said;
  DiagnosticQueue* self = nullptr;
  std::promise<void> twice;
  DiagnosticQueue queue([&](const transport::Diagnostic& diagnostic) {
    said.push_back(diagnostic.text);
    if (said.size() == 1) self->push(of("again"));
    if (said.size() == 2) twice.set_value();
  });
  self = &queue;
  queue.push(of("first"));
  ASSERT_TRUE(queue.start());
  twice.get_future().wait();
  queue.end();
  queue.push(of("late"));
  queue.end();
  EXPECT_EQ(said, (std::vector<std::string>{"first", "again"}));
}

TEST(DiagnosticQueue, WhatACallbackDoesNotKeepUpWithIsCounted) {
  std::mutex held;
  held.lock();
  std::vector<std::string> said;
  DiagnosticQueue queue([&](const transport::Diagnostic& diagnostic) {
    const std::lock_guard<std::mutex> wait(held);
    said.push_back(diagnostic.text);
  });
  for (std::size_t i = 0; i < DiagnosticQueue::kMost + 7; ++i) queue.push(of(std::to_string(i)));
  ASSERT_TRUE(queue.start());
  held.unlock();
  queue.end();
  ASSERT_EQ(said.size(), DiagnosticQueue::kMost + 1);
  EXPECT_EQ(said[DiagnosticQueue::kMost - 1], std::to_string(DiagnosticQueue::kMost - 1));
  EXPECT_EQ(said.back(), "7 diagnostics were left out, because on_diagnostic takes too long");
}

}  // namespace
}  // namespace baton::link
