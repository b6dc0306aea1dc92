// SPDX-License-Identifier: Apache-2.0
// The GIL, for threads that may outlive the interpreter.
//
// Thread rules: any thread. Invariant: a thread that Python ends, because it requests the GIL while the interpreter is
// being finalized, stops at that place until the process is gone. Python before 3.14 ends such threads (daemons,
// executors' workers) by pthread_exit(), which unwinds their stacks. The unwinding passes noexcept functions and catch
// (...), which then end the whole process, and destructors that need the GIL. So endable() makes every wait for the GIL
// and every call of Python code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>

#include <chrono>
#include <thread>
#include <utility>

namespace baton::python {

[[noreturn]] inline void stop_for_ever() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(24));
}

/// Calls `body`, which may request the GIL or run Python code. Does not return if Python ends the thread in it.
/// no_sanitize: a forced unwind has no exception object, so the reference is null; no code uses it.
template <class F>
[[gnu::no_sanitize("null")]] auto endable(F&& body) -> decltype(body()) {
  try {
    return std::forward<F>(body)();
  } catch (const abi::__forced_unwind&) {
    stop_for_ever();
  }
}

/// Releases the GIL for a scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    endable([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Has the GIL for a scope, in a thread that Python may not know.
class WithGil {
 public:
  WithGil() {
    // A thread state may not be possible any more.
    if (Py_IsInitialized() == 0 && PyGILState_GetThisThreadState() == nullptr) stop_for_ever();
    state_ = endable([] { return PyGILState_Ensure(); });
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_{};
};

}  // namespace baton::python
