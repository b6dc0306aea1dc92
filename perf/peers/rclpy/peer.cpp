// SPDX-License-Identifier: Apache-2.0
// rclpy in this process: an embedded interpreter runs rclpy_ends.py, which does the same as a program of rclpy. The
// clocks are the runner's: a message counts as received when the callback has the whole object.
#include <Python.h>

#include <mutex>
#include <stdexcept>

#include "keeper.hpp"
#include "middleware.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

/// Holds the interpreter's lock.
class Lock {
 public:
  Lock() : state_(PyGILState_Ensure()) {}
  ~Lock() { PyGILState_Release(state_); }
  Lock(const Lock&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Throws the error that Python has raised.
[[noreturn]] void rethrow(const char* what) {
  PyErr_Print();
  throw std::runtime_error(std::string(what) + ": Python raised what is printed above");
}
PyObject* check(PyObject* object, const char* what) {
  if (object == nullptr) rethrow(what);
  return object;
}
void check(PyStatus status) {
  if (PyStatus_Exception(status))
    throw std::runtime_error(status.err_msg != nullptr ? status.err_msg : "Python did not start");
}

const char* setting_of(const Plan& plan) { return plan.variant == "accelerated" ? "baton" : plan.variant.c_str(); }

/// The module of rclpy_ends.py. The interpreter lives as long as the process.
PyObject* ends(const Plan& plan) {
  use_middleware(plan,
                 {setting_of(plan),
                  {"_ROS_WHEELS_BOOTSTRAP_COMPLETE=1", "PYTHONPATH=" BATON_PERF_RCLPY_FOLDER ":" BATON_PYTHON_FOLDER}});
  static std::once_flag once;
  static PyObject* module = nullptr;
  std::call_once(once, [&] {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    check(PyConfig_SetBytesString(&config, &config.program_name, BATON_ROS2_PYTHON));
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
    module = check(PyImport_ImportModule("rclpy_ends"), "rclpy_ends.py");
    if (plan.variant == "accelerated" || plan.variant == "heap")
      Py_DECREF(check(PyObject_CallMethod(module, "accelerate", nullptr), "accelerate()"));
    PyEval_SaveThread();
  });
  return module;
}

/// A Python object that is closed and released when the process ends.
class End {
 public:
  /// `made`: made under the lock. If it is null, throws the error that Python has raised.
  explicit End(PyObject* made) : object_(check(made, "an end")) {}
  ~End() {
    at_the_end([object = object_] {
      const Lock lock;
      Py_XDECREF(PyObject_CallMethod(object, "close", nullptr));
      if (PyErr_Occurred() != nullptr) PyErr_Print();  // at the end of a run the error has no other use
      Py_DECREF(object);
    });
  }
  End(const End&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

void join(const Plan& plan) {
  KeeperTask task;
  task.leftovers = {"/dev/shm/fast*", "/dev/shm/sem.fast*"};
  join_keeper(plan, task);
}

class RclpyPublisher : public PublisherEnd {
 public:
  RclpyPublisher(const Plan& plan, unsigned index)
      : subscribers_(plan.live ? 0 : plan.subscribers), end_(make(plan, index)) {}

  std::byte* begin(std::size_t bytes) override {
    const Lock lock;
    if (subscribers_ != 0) Py_DECREF(check(PyObject_CallMethod(end_.get(), "wait_for", "I", subscribers_), "wait_for"));
    subscribers_ = 0;
    PyObject* data = check(PyObject_CallMethod(end_.get(), "begin", "n", static_cast<Py_ssize_t>(bytes)), "begin");
    Py_buffer view;
    const int got = PyObject_GetBuffer(data, &view, PyBUF_WRITABLE);
    Py_DECREF(data);  // the message owns it
    if (got != 0) rethrow("the payload");
    auto* at = static_cast<std::byte*>(view.buf);
    PyBuffer_Release(&view);
    return at;
  }
  void publish(std::size_t) override {
    const Lock lock;
    Py_DECREF(check(PyObject_CallMethod(end_.get(), "publish", nullptr), "publish"));
  }

 private:
  static PyObject* make(const Plan& plan, unsigned index) {
    PyObject* module = ends(plan);
    join(plan);
    const Lock lock;
    return check(PyObject_CallMethod(module, "Publisher", "sssIIi", plan.topic.c_str(),
                                     ("publisher_" + std::to_string(index)).c_str(), ros_namespace(plan).c_str(),
                                     ros_domain(plan), plan.depth, plan.reliable ? 1 : 0),
                 "Publisher");
  }
  unsigned subscribers_;  // the subscribers still to wait for
  End end_;
};

class RclpySubscriber : public SubscriberEnd {
 public:
  RclpySubscriber(const Plan& plan, unsigned index, Receiver& receiver) : end_(make(plan, index, receiver)) {}

  void receive(std::chrono::nanoseconds timeout) override {
    const Lock lock;
    Py_DECREF(check(PyObject_CallMethod(end_.get(), "receive", "d", std::chrono::duration<double>(timeout).count()),
                    "receive"));
  }

 private:
  /// deliver(data): the runner reads the payload in Python's memory.
  static PyObject* deliver(PyObject* receiver, PyObject* data) {
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) return nullptr;
    static_cast<Receiver*>(PyCapsule_GetPointer(receiver, nullptr))
        ->message(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
  }
  static PyObject* make(const Plan& plan, unsigned index, Receiver& receiver) {
    PyObject* module = ends(plan);
    join(plan);
    const Lock lock;
    static PyMethodDef definition{"deliver", &RclpySubscriber::deliver, METH_O, nullptr};
    PyObject* self = check(PyCapsule_New(&receiver, nullptr, nullptr), "capsule");
    PyObject* callback = check(PyCFunction_New(&definition, self), "deliver");
    Py_DECREF(self);
    PyObject* made = PyObject_CallMethod(module, "Subscriber", "OsssIIi", callback, plan.topic.c_str(),
                                         ("subscriber_" + std::to_string(index)).c_str(), ros_namespace(plan).c_str(),
                                         ros_domain(plan), plan.depth, plan.reliable ? 1 : 0);
    Py_DECREF(callback);
    return check(made, "Subscriber");
  }
  End end_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"ROS 2, Python",
                "rclpy " BATON_RCLPY_VERSION,
                "rclpy with sensor_msgs/Image and a SingleThreadedExecutor; settings of rmw_fastrtps_cpp and "
                "rmw_baton_cpp as of peer ros2; "
                "accelerated: rmw_baton_cpp and baton.rclpy.accelerate(); heap: with libbaton_heap.so, too",
                {"default", "tuned", "large_data"}};
  if (*BATON_RMW_LIBRARY != '\0') info.variants.insert(info.variants.end(), {"baton", "accelerated", "heap"});
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const Plan& plan, unsigned index) {
  return std::make_unique<RclpyPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const Plan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<RclpySubscriber>(plan, index, receiver);
}

}  // namespace baton::perf
