// SPDX-License-Identifier: Apache-2.0
// Peers in Python: an interpreter in this process runs a module whose ends do the same as a program of the peer. The clocks are
// the runner's: a message counts as received when the callback has the whole object.
//
// The module has Publisher(...) with wait_for(subscribers), begin(size) -> a writable buffer, publish() and close(), and
// Subscriber(deliver, ...) with receive(timeout_s) and close(); deliver(data) takes a buffer.
#pragma once

#include <Python.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>

#include "peer.hpp"

namespace baton::perf::python {

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
[[noreturn]] inline void rethrow(const char* what) {
  PyErr_Print();
  throw std::runtime_error(std::string(what) + ": Python raised what is printed above");
}
inline PyObject* check(PyObject* object, const char* what) {
  if (object == nullptr) rethrow(what);
  return object;
}
inline void check(PyStatus status) {
  if (PyStatus_Exception(status))
    throw std::runtime_error(status.err_msg != nullptr ? status.err_msg : "Python did not start");
}

/// Starts the interpreter that `program` is, and imports a module. It lives as long as the process.
inline PyObject* start(const char* program, const char* name, bool accelerated) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  check(PyConfig_SetBytesString(&config, &config.program_name, program));
  check(Py_InitializeFromConfig(&config));
  PyConfig_Clear(&config);
  // As `python` does: a write to a peer that has ended is an error then, not this process's end.
  std::signal(SIGPIPE, SIG_IGN);
  PyObject* module = check(PyImport_ImportModule(name), name);
  if (accelerated) Py_DECREF(check(PyObject_CallMethod(module, "accelerate", nullptr), "accelerate()"));
  PyEval_SaveThread();
  return module;
}

using Function = std::function<void()>;
// By value, as at_the_end() of the peers of ROS 2.
inline void at_once(Function function) { function(); }  // NOLINT(performance-unnecessary-value-param)

/// A Python object that is closed and released with this one, or when `closing` runs what it is given.
class EmbeddedEnd {
 public:
  /// `made`: made under the lock. If it is null, throws the error that Python has raised.
  EmbeddedEnd(PyObject* made, void (*closing)(Function)) : object_(check(made, "an end")), closing_(closing) {}
  ~EmbeddedEnd() {
    closing_([object = object_] {
      const Lock lock;
      Py_XDECREF(PyObject_CallMethod(object, "close", nullptr));
      if (PyErr_Occurred() != nullptr) PyErr_Print();  // at the end of a run the error has no other use
      Py_DECREF(object);
    });
  }
  EmbeddedEnd(const EmbeddedEnd&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
  void (*closing_)(Function);
};

class Publisher : public PublisherEnd {
 public:
  Publisher(const RunPlan& plan, PyObject* made, void (*closing)(Function) = at_once)
      : subscribers_(plan.live ? 0 : plan.subscribers), end_(made, closing) {}

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
  unsigned subscribers_;  // the subscribers still to wait for
  EmbeddedEnd end_;
};

/// deliver(data) for a Subscriber of the module: the runner reads the payload in Python's memory. Under the lock; owned.
inline PyObject* deliver_to(Receiver& receiver) {
  static PyMethodDef definition{"deliver",
                                [](PyObject* self, PyObject* data) -> PyObject* {
                                  Py_buffer view;
                                  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) return nullptr;
                                  static_cast<Receiver*>(PyCapsule_GetPointer(self, nullptr))
                                      ->message(static_cast<const std::byte*>(view.buf),
                                                static_cast<std::size_t>(view.len));
                                  PyBuffer_Release(&view);
                                  Py_RETURN_NONE;
                                },
                                METH_O, nullptr};
  PyObject* self = check(PyCapsule_New(&receiver, nullptr, nullptr), "capsule");
  PyObject* callback = check(PyCFunction_New(&definition, self), "deliver");
  Py_DECREF(self);
  return callback;
}

class Subscriber : public SubscriberEnd {
 public:
  explicit Subscriber(PyObject* made, void (*closing)(Function) = at_once) : end_(made, closing) {}

  void receive(std::chrono::nanoseconds timeout) override {
    const Lock lock;
    Py_DECREF(check(PyObject_CallMethod(end_.get(), "receive", "d", std::chrono::duration<double>(timeout).count()),
                    "receive"));
  }

 private:
  EmbeddedEnd end_;
};

}  // namespace baton::perf::python
