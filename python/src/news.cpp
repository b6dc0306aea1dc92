// SPDX-License-Identifier: Apache-2.0
#include "news.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "baton/os/lock.hpp"
#include "core.hpp"
#include "endpoints_shared.hpp"

namespace baton::python {
namespace {

using transport::Diagnostic;
using transport::Event;

struct News {
  long key;
  std::string_view what;  // a literal; empty: the key is no longer used
  std::string_view code;  // diagnostics
  std::string text;
};

struct Queue {
  os::Mutex mutex;
  std::condition_variable changed;
  std::deque<News> waiting BATON_GUARDED_BY(mutex);
  bool ended BATON_GUARDED_BY(mutex) = false;
};

/// Events of one kind that wait for a callback are one call: `statuses` has their number. Other processes cause them, and a
/// callback may take any time.
bool waits_already(const Queue& queue, const News& news) BATON_REQUIRES(queue.mutex) {
  if (news.what.empty() || !news.code.empty()) return false;
  return std::any_of(queue.waiting.begin(), queue.waiting.end(),
                     [&](const News& each) { return each.key == news.key && each.what == news.what; });
}

// Never destroyed: the background thread may push at any time. A forked child makes a new one, because it has no such
// thread.
Queue* g_queue = new Queue;  // written at fork in the only thread there is

void push(News news) {
  Queue& queue = *g_queue;
  {
    const os::Lock lock(queue.mutex);
    if (queue.ended || waits_already(queue, news)) return;
    queue.waiting.push_back(std::move(news));
  }
  queue.changed.notify_one();
}

std::string_view name_of(Event event) noexcept {
  switch (event) {
    case Event::kMatched:
      return "matched";
    case Event::kIncompatibleQos:
      return "incompatible_qos";
    case Event::kIncompatibleType:
      return "incompatible_type";
    case Event::kDeadlineMissed:
      return "deadline_missed";
    case Event::kLivelinessLost:
      return "liveliness_lost";
    case Event::kLivelinessChanged:
      return "liveliness_changed";
    case Event::kMessageLost:
      return "message_lost";
    case Event::kMessageDropped:
      return "message_dropped";
  }
  return "unknown";
}

std::string_view name_of(Diagnostic::Level level) noexcept {
  return level == Diagnostic::Level::kInfo ? "info" : level == Diagnostic::Level::kWarning ? "warning" : "error";
}

std::shared_ptr<NewsKey> registered(nb::handle callback) {
  if (PyCallable_Check(callback.ptr()) == 0) raise(PyExc_TypeError, "a callback must be callable");
  return std::make_shared<NewsKey>(nb::cast<long>(nb::module_::import_("baton._news").attr("register")(callback)));
}

nb::object next_news() {
  std::optional<News> news;
  {
    const WithoutGil without;
    Queue& queue = *g_queue;
    os::UniqueLock lock(queue.mutex);
    queue.changed.wait(lock.standard(),
                       [&]() BATON_REQUIRES(queue.mutex) { return queue.ended || !queue.waiting.empty(); });
    if (!queue.ended) {
      news = std::move(queue.waiting.front());
      queue.waiting.pop_front();
    }
  }
  if (!news) return nb::none();
  const auto text = [](std::string_view s) { return nb::str(s.data(), s.size()); };
  return nb::make_tuple(news->key, text(news->what), text(news->code), text(news->text));
}

}  // namespace

NewsKey::~NewsKey() {
  try {
    push({key_, {}, {}, {}});
  } catch (...) {  // without memory the callback is only kept longer
  }
}

std::function<void(Event)> event_callback(nb::handle callback) {
  if (callback.is_none()) return {};
  return [key = registered(callback)](Event event) { push({key->key(), name_of(event), {}, {}}); };
}

std::function<void(const Diagnostic&)> diagnostic_callback(nb::handle callback) {
  if (callback.is_none()) return {};
  return [key = registered(callback)](const Diagnostic& diagnostic) {
    push({key->key(), name_of(diagnostic.level), errc_name(diagnostic.code), in_python(diagnostic.text)});
  };
}

void add_news(nb::module_& m) {
  m.def("_next_news", &next_news);
  m.def("_end_news", [] {
    {
      const os::Lock lock(g_queue->mutex);
      g_queue->ended = true;
    }
    g_queue->changed.notify_all();
  });
  m.def("_forget_news", [] { g_queue = new Queue; });
}

}  // namespace baton::python
