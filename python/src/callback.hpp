// SPDX-License-Identifier: Apache-2.0
// A Python function that C++ owns: an executor may be its last owner, on a thread without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "interpreter_end.hpp"

namespace baton::python {

class Callback {
 public:
  explicit Callback(nanobind::object function) : function_(function.release().ptr()) {}
  ~Callback() {
    if (function_ == nullptr || !nanobind::is_alive()) return;
    const WithGil gil;
    Py_CLEAR(function_);
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  /// REQUIRES the GIL. Throws nanobind::python_error. After clear() it does nothing.
  template <class... Args>
  void operator()(Args&&... args) const {
    if (function_ == nullptr) return;
    const nanobind::callable function = nanobind::borrow<nanobind::callable>(function_);
    endable([&] { return function(std::forward<Args>(args)...); });
  }

  /// The same with its result; None after clear().
  template <class... Args>
  nanobind::object result(Args&&... args) const {
    if (function_ == nullptr) return nanobind::none();
    const nanobind::callable function = nanobind::borrow<nanobind::callable>(function_);
    return endable([&] { return nanobind::object(function(std::forward<Args>(args)...)); });
  }

  // For the garbage collector: a callback often refers to the node that owns it.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(function_);
    return 0;
  }
  void clear() { Py_CLEAR(function_); }

 private:
  PyObject* function_;
};

/// Slots of a class whose C++ object has `std::shared_ptr<Callback> callback`.
template <class T>
int traverse_callback(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nanobind::inst_ready(self)) return 0;
  const T* object = nanobind::inst_ptr<T>(self);
  return object->callback ? object->callback->traverse(visit, arg) : 0;
}
template <class T>
int clear_callback(PyObject* self) {
  T* object = nanobind::inst_ptr<T>(self);
  if (object->callback) object->callback->clear();
  return 0;
}
template <class T>
PyType_Slot* callback_slots() {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_callback<T>)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_callback<T>)},
                                {0, nullptr}};
  return slots;
}

}  // namespace baton::python
