// SPDX-License-Identifier: Apache-2.0
// Quality of service as Python sees it: names for enumerations, seconds for times.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <initializer_list>
#include <string>
#include <tuple>

#include "endpoints_shared.hpp"

namespace baton::python {

using namespace nb::literals;

namespace {

constexpr std::int64_t kMostMessages = 65536;  // docs/format/qos.md

const char* name_of(Reliability r) { return r == Reliability::kReliable ? "reliable" : "best_effort"; }
const char* name_of(History h) { return h == History::kKeepLast ? "keep_last" : "keep_all"; }
const char* name_of(Durability d) { return d == Durability::kVolatile ? "volatile" : "transient_local"; }
const char* name_of(Liveliness l) { return l == Liveliness::kAutomatic ? "automatic" : "manual_by_topic"; }

template <class E>
E parse(const char* policy, const std::string& text, std::initializer_list<E> values) {
  std::string known;
  for (const E value : values) {
    if (text == name_of(value)) return value;
    known += std::string(known.empty() ? "'" : " or '") + name_of(value) + "'";
  }
  raise(PyExc_ValueError, std::string(policy) + " is " + known + ", not '" + text + "'");
}

Nanoseconds duration(const char* policy, const Seconds& given) {
  if (given && !(*given >= 0))
    raise(PyExc_ValueError, std::string(policy) + " is a number of seconds, or None for ever, not " +
                                nb::cast<std::string>(nb::repr(nb::float_(*given))));
  return nanoseconds(given);
}

std::uint32_t number(const char* policy, std::int64_t given, const char* hint = "") {
  if (given < 1 || given > kMostMessages)
    throw Exception({Errc::invalid_argument, std::string("QoS ") + policy + " must be 1 to " +
                                                 std::to_string(kMostMessages) + ", not " + std::to_string(given) +
                                                 hint});
  return static_cast<std::uint32_t>(given);
}

/// nanobind's own error lists all arguments, and does not say which one is wrong.
void refuse_unknown(const nb::kwargs& unknown) {
  for (const auto& [name, value] : unknown) {
    const nb::list known(nb::cast(std::array{"depth", "reliability", "history", "durability", "deadline", "lifespan",
                                             "liveliness", "lease", "held"}));
    const nb::list near(nb::module_::import_("difflib").attr("get_close_matches")(name, known, 1));
    raise(PyExc_TypeError, "QoS() has no argument '" + nb::cast<std::string>(name) + "'" +
                               (near.size() > 0 ? "; did you mean " + nb::cast<std::string>(near[0]) + "?" : ""));
  }
}

void init_qos(QoS* self, std::int64_t depth, const std::string& reliability, const std::string& history,
              const std::string& durability, const Seconds& deadline, const Seconds& lifespan,
              const std::string& liveliness, const Seconds& lease, std::int64_t held, const nb::kwargs& unknown) {
  refuse_unknown(unknown);
  QoS qos;
  qos.depth =
      number("depth", depth,
             ". What is 0 in ROS 1, a queue without a bound, is a long one here, e.g. 1000, or history=\"keep_all\"");
  qos.reliability = parse("reliability", reliability, {Reliability::kReliable, Reliability::kBestEffort});
  qos.history = parse("history", history, {History::kKeepLast, History::kKeepAll});
  qos.durability = parse("durability", durability, {Durability::kVolatile, Durability::kTransientLocal});
  qos.deadline = duration("deadline", deadline);
  qos.lifespan = duration("lifespan", lifespan);
  qos.liveliness = parse("liveliness", liveliness, {Liveliness::kAutomatic, Liveliness::kManualByTopic});
  qos.lease = duration("lease", lease);
  qos.held = number("held", held);
  new (self) QoS(qos);
}

using Policies = std::tuple<std::uint32_t, std::uint32_t, std::string, std::string, std::string, std::string,
                            std::int64_t, std::int64_t, std::int64_t>;

/// All policies, times in nanoseconds, for equality, hashes and pickles.
Policies policies(const QoS& q) {
  // Every policy by name: the compiler refuses this line when QoS has one more.
  const auto& [reliability, history, depth, durability, deadline, lifespan, liveliness, lease, held] = q;
  return {depth,
          held,
          name_of(reliability),
          name_of(history),
          name_of(durability),
          name_of(liveliness),
          deadline.count(),
          lifespan.count(),
          lease.count()};
}

void set_policies(QoS& self, const Policies& state) {
  const auto& [depth, held, reliability, history, durability, liveliness, deadline, lifespan, lease] = state;
  init_qos(&self, depth, reliability, history, durability, {}, {}, liveliness, {}, held, {});
  self.deadline = Nanoseconds(deadline);
  self.lifespan = Nanoseconds(lifespan);
  self.lease = Nanoseconds(lease);
}

}  // namespace

void add_qos(nb::module_& m) {
  nb::class_<QoS>(m, "QoS", "Quality of service in ROS 2's terms. Times are seconds; None is for ever.")
      .def("__init__", init_qos, "depth"_a = 10, nb::kw_only(), "reliability"_a = "reliable", "history"_a = "keep_last",
           "durability"_a = "volatile", "deadline"_a = nb::none(), "lifespan"_a = nb::none(),
           "liveliness"_a = "automatic", "lease"_a = nb::none(), "held"_a = 8, "unknown"_a)
      .def_ro("depth", &QoS::depth)
      .def_ro("held", &QoS::held)
      .def_prop_ro("reliability", [](const QoS& q) { return name_of(q.reliability); })
      .def_prop_ro("history", [](const QoS& q) { return name_of(q.history); })
      .def_prop_ro("durability", [](const QoS& q) { return name_of(q.durability); })
      .def_prop_ro("liveliness", [](const QoS& q) { return name_of(q.liveliness); })
      .def_prop_ro("deadline", [](const QoS& q) { return seconds(q.deadline); })
      .def_prop_ro("lifespan", [](const QoS& q) { return seconds(q.lifespan); })
      .def_prop_ro("lease", [](const QoS& q) { return seconds(q.lease); })
      .def(
          "__eq__", [](const QoS& a, const QoS& b) { return policies(a) == policies(b); }, nb::is_operator())
      .def("__hash__", [](const QoS& q) { return nb::hash(nb::cast(policies(q))); })
      .def("__getstate__", policies)
      .def("__setstate__", set_policies)
      .def("__repr__", [](const QoS& q) {
        return "QoS(" + std::to_string(q.depth) + ", reliability='" + name_of(q.reliability) + "', history='" +
               name_of(q.history) + "', durability='" + name_of(q.durability) + "', held=" + std::to_string(q.held) +
               ")";
      });
}

}  // namespace baton::python
