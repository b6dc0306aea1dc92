// SPDX-License-Identifier: Apache-2.0
// News from the background thread (quality-of-service events, diagnostics) on their way to Python callbacks. The background thread
// only puts them into a queue; a thread of Python's (baton/_news.py) takes them out, so nobody ever waits there for the GIL.
//
// Thread rules: push() from any thread, without the GIL too; the rest with the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>

#include "baton/transport/transport.hpp"

namespace baton::python {

/// What a callback is known by in Python; its end is told to Python, which then forgets the callback.
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
