// SPDX-License-Identifier: Apache-2.0
// News: quality-of-service events and diagnostics on their way from the background thread to Python callbacks. The
// background thread only puts them into a queue. A Python thread (baton/_news.py) takes them out, so the background
// thread never waits for the GIL.
//
// Thread rules: push() from any thread, without the GIL too; the rest with the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>

#include "baton/transport/transport.hpp"

namespace baton::python {

/// The name of a callback in Python. Its end is reported to Python, which then drops the callback.
class NewsKey {
 public:
  explicit NewsKey(long key) noexcept : key_(key) {}
  NewsKey(const NewsKey&) = delete;
  NewsKey& operator=(const NewsKey&) = delete;
  ~NewsKey();
  long key() const noexcept { return key_; }

 private:
  const long key_;
};

/// Registers a Python callable. Empty for None.
std::function<void(transport::Event)> event_callback(nanobind::handle callback);
std::function<void(const transport::Diagnostic&)> diagnostic_callback(nanobind::handle callback);

void add_news(nanobind::module_& module);

}  // namespace baton::python
