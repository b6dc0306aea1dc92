// SPDX-License-Identifier: Apache-2.0
// Code that the files of the endpoints share: times, waits that signals end, and the publisher. Thread rules:
// endpoints.hpp.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "baton/node/node.hpp"
#include "baton/os/clock.hpp"
#include "core.hpp"
#include "signal_wake.hpp"

namespace baton::python {

namespace nb = nanobind;

using Nanoseconds = std::chrono::nanoseconds;
using SteadyTime = std::chrono::steady_clock::time_point;
using Seconds = std::optional<double>;

/// REQUIRES the GIL. Code that may also run without it throws Exception, which becomes a Python error later.
[[noreturn]] inline void raise(PyObject* type, const std::string& text) {
  assert(PyGILState_Check() != 0);
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

/// The constructor of a class whose objects a node makes: a TypeError that says how.
template <class T>
auto made_by(const char* class_name, const char* way) {
  return [class_name, way](T*, const nb::args&, const nb::kwargs&) {
    raise(PyExc_TypeError,
          std::string("a ") + class_name + " is made by a node: write " + way + " (docs/guides/from-ros.md)");
  };
}

/// With or without the GIL.
inline Nanoseconds nanoseconds(const Seconds& seconds) {
  if (!seconds) return kInfinite;
  if (std::isnan(*seconds)) throw Exception({Errc::invalid_argument, "a time must be a number of seconds, not nan"});
  if (*seconds >= 9e9) return kInfinite;
  return Nanoseconds(static_cast<std::int64_t>(std::max(*seconds, 0.0) * 1e9));
}
inline Seconds seconds(Nanoseconds time) {
  if (time == kInfinite) return std::nullopt;
  return static_cast<double>(time.count()) * 1e-9;
}

inline SteadyTime deadline_after(const Seconds& timeout) { return baton::detail::deadline_after(nanoseconds(timeout)); }
inline Nanoseconds left_until(SteadyTime deadline) {
  return deadline == SteadyTime::max() ? kInfinite : deadline - std::chrono::steady_clock::now();
}

/// Raises if a wait must end: after a signal whose handler raises, and, outside the main thread, at the interpreter's
/// end.
inline void check_signals() {
  if (has_ended()) {
    PyErr_SetNone(PyExc_SystemExit);
    throw nb::python_error();
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Waits once without the GIL. Also returns after a signal whose Python handler did not raise.
inline void wait_once(transport::WaitSet& wait_set, Nanoseconds timeout) {
  {
    const SignalWatch watch([&wait_set] { wait_set.wake(); });
    check_signals();  // signals that came before the watch wake no thread
    const Result<bool> result = [&] {
      const WithoutGil without;
      return wait_set.wait(timeout);
    }();
    if (!result.ok()) throw Exception(result.error());
  }
  check_signals();
}

inline std::shared_ptr<CallbackGroup> group_or_default(const Node& node, std::shared_ptr<CallbackGroup> group) {
  return group ? std::move(group) : node.default_group();
}

inline nb::bytes gid_bytes(const transport::Gid& gid) { return nb::bytes(gid.data(), gid.size()); }

inline nb::list gid_list(const std::vector<transport::Gid>& gids) {
  nb::list list;
  for (const transport::Gid& each : gids) list.append(gid_bytes(each));
  return list;
}

/// A message, an error or none, and the time of the take.
struct Taken {
  explicit Taken(Result<transport::TakenSample>&& taken)
      : sample(std::move(taken)), reception_time_ns(sample.ok() && *sample ? os::realtime_ns() : 0) {}
  Result<transport::TakenSample> sample;
  std::int64_t reception_time_ns;
};

/// The next message, or none. Without the GIL: the reader's mutex is shared with the background thread. The time is read before the
/// GIL, which another thread may keep for long.
inline Taken take_from(transport::Reader& reader) {
  const WithoutGil without;
  return Taken(reader.take_next());
}

inline nb::object to_message(const ClassRecord* record, Taken&& taken) {
  if (!taken.sample.ok()) throw Exception(taken.sample.error());
  if (!*taken.sample) return nb::none();
  return nb::steal(new_root(new_sample(record, std::move(*taken.sample), taken.reception_time_ns)));
}

/// Ends the connection to the publisher of a message that has changed since it was checked, as if the message had been malformed when it was
/// taken. False: it has not.
inline bool expel_changed(transport::Reader& reader, nb::handle message) {
  if (!is_message(message.ptr())) return false;
  const OwnedChunk* chunk = reinterpret_cast<const MessageView*>(message.ptr())->chunk;
  if (!chunk->changed) return false;
  const transport::Gid publisher = chunk->sample.publisher();
  const WithoutGil without;
  reader.expel(publisher, "it changed a message after it was checked");
  return true;
}

/// Runs the callback of a message that `reader` delivered. A publisher that changes the message under the callback loses
/// its connection; it does not end the executor.
template <class F>
void call_with(transport::Reader& reader, const nb::object& message, F&& callback) {
  try {
    callback();
  } catch (nb::python_error& error) {
    if (!error.matches(exception_of(Errc::malformed_message)) || !expel_changed(reader, message)) throw;
  }
}

/// Runs a callback for an executor. Baton's own shortage of memory leaves it as the exception that an executor counts.
template <class F>
void run_callback(F&& callback) {
  try {
    callback();
  } catch (nb::python_error& error) {
    if (!of_shortage(error.value().ptr())) throw;
    throw Shortage({Errc::limit_reached, error.what()});
  }
}

struct PyPublisher {
  std::shared_ptr<baton::detail::PublisherCore> core;
  const ClassRecord* record;
  std::shared_ptr<transport::Participant> participant;

  nb::object loan() const { return nb::steal(new_root(make_loan(record, core))); }
  std::uint64_t publish(nb::handle message) const { return publish_object(record, core, message.ptr(), {}); }
};

inline bool wait_matched(transport::Participant& participant, const std::function<bool()>& condition,
                         const Seconds& timeout) {
  const SteadyTime deadline = deadline_after(timeout);
  for (;;) {
    const std::uint64_t seen = participant.graph_version();
    if (endable(condition)) return true;
    const Nanoseconds left = left_until(deadline);
    if (left <= Nanoseconds::zero()) return false;
    {
      // Attaching finishes a little after the graph shows the endpoint, and signals must be noticed: check again soon.
      const WithoutGil without;
      (void)participant.wait_graph_change(seen, std::min<Nanoseconds>(left, std::chrono::milliseconds(10)));
    }
    check_signals();
  }
}

void add_qos(nb::module_& module);
std::vector<Parameter> parameters_of(nb::handle pairs);
void add_parameters(nb::module_& module, nb::class_<Node>& node_class);
void add_logging(nb::module_& module, nb::class_<Node>& node_class);
void add_services(nb::module_& module, nb::class_<Node>& node_class);
void add_executor(nb::module_& module);
void add_heaps(nb::module_& module);
void add_links(nb::module_& module);
void add_relay(nb::module_& module);
void add_serialized(nb::module_& module);

}  // namespace baton::python
