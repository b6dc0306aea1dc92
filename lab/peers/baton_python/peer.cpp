// SPDX-License-Identifier: Apache-2.0
// Baton's Python package in this process: an embedded interpreter runs baton_ends.py.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "embedded.hpp"

namespace baton::perf {
namespace {

/// The module of baton_ends.py.
PyObject* ends() {
  static std::once_flag once;
  static PyObject* module = nullptr;
  std::call_once(once, [] {
    ::setenv("PYTHONPATH", BATON_PERF_PYTHON_PATH, 1);
    module = python::start(BATON_PYTHON_PROGRAM, "baton_ends", false);
  });
  return module;
}

/// In the order of the arguments of the module's classes.
PyObject* make(const RunPlan& plan, unsigned index, Receiver* receiver) {
  PyObject* module = ends();
  const python::Lock lock;
  const char* const reliability = plan.reliable ? "reliable" : "best_effort";
  const char* const history = plan.depth == 0 ? "keep_all" : "keep_last";
  const char* const durability = plan.transient ? "transient_local" : "volatile";
  PyObject* qos = Py_BuildValue("{s:I,s:s,s:s,s:s}", "depth", std::max(1U, plan.depth), "reliability", reliability,
                                "history", history, "durability", durability);
  const std::string name = (receiver != nullptr ? "perf_subscriber_" : "perf_publisher_") + std::to_string(index);
  const std::string directory = plan.live ? std::string() : plan.directory;
  if (receiver == nullptr) {
    return PyObject_CallMethod(module, "Publisher", "ssisN", plan.topic.c_str(), name.c_str(), plan.domain,
                               directory.c_str(), qos);
  }
  return PyObject_CallMethod(module, "Subscriber", "NssisNi", python::deliver_to(*receiver), plan.topic.c_str(),
                             name.c_str(), plan.domain, directory.c_str(), qos, plan.variant == "executor" ? 1 : 0);
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"Baton, Python",
                BATON_VERSION_STRING,
                "the package baton with sensor_msgs/Image in loans; take(), executor: a callback, by spin_once()",
                {"take", "executor"}};
  info.has_qos = true;
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<python::Publisher>(plan, make(plan, index, nullptr));
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<python::Subscriber>(make(plan, index, &receiver));
}

}  // namespace baton::perf
