// SPDX-License-Identifier: Apache-2.0
#include "signal_wake.hpp"

#include <Python.h>

#include <climits>
#include <cstdint>
#include <thread>

#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/wake_socket.hpp"

namespace baton::python {

/// One per process that ever waited in its main thread; never ends.
struct SignalThread {
  os::WakeSocket socket;
  std::uint32_t generation = os::fork_generation();
  os::Mutex mutex;
  SignalWatch* current BATON_GUARDED_BY(mutex) = nullptr;

  void run() {
    for (;;) {
      if (!os::wait_readable(socket.wait_end.get(), INT64_MAX)) continue;
      os::drain(socket.wait_end.get());
      const os::Lock lock(mutex);
      for (SignalWatch* watch = current; watch != nullptr; watch = watch->outer_) {
        watch->signalled_.store(true, std::memory_order_relaxed);
        watch->wake_();
      }
    }
  }
};

namespace {

std::atomic<unsigned long> g_main_thread{
    0};                            // relaxed: written before the first wait, or by the only thread of a new child
SignalThread* g_thread = nullptr;  // GIL

PyObject* g_set_wakeup_fd = nullptr;  // signal.set_wakeup_fd; its C function is not exported by every Python

/// Returns the former descriptor, or -1; an error (not the main interpreter) changes nothing.
int set_wakeup_fd(int fd, bool* ok) noexcept {
  if (g_set_wakeup_fd == nullptr) {
    PyObject* module = PyImport_ImportModule("signal");
    if (module != nullptr) g_set_wakeup_fd = PyObject_GetAttrString(module, "set_wakeup_fd");
    Py_XDECREF(module);
  }
  PyObject* previous = g_set_wakeup_fd != nullptr ? PyObject_CallFunction(g_set_wakeup_fd, "i", fd) : nullptr;
  const long number = previous != nullptr ? PyLong_AsLong(previous) : -1;
  *ok = previous != nullptr;
  Py_XDECREF(previous);
  if (!*ok) PyErr_Clear();
  return static_cast<int>(number);
}

SignalThread* thread() {
  if (g_thread != nullptr && g_thread->generation == os::fork_generation()) return g_thread;
  Result<os::WakeSocket> socket = os::WakeSocket::create();
  if (!socket.ok()) return nullptr;
  auto* made = new SignalThread;  // the parent's object stays the parent's
  made->socket = std::move(*socket);
  try {
    std::thread([made] { made->run(); }).detach();
  } catch (...) {
    delete made;
    return nullptr;
  }
  g_thread = made;
  return made;
}

}  // namespace

namespace {

// Both with the GIL.
SignalWatch* g_waiting = nullptr;  // the list of waits of threads other than the main one
bool g_ended = false;

bool in_main_thread() noexcept { return PyThread_get_thread_ident() == g_main_thread.load(std::memory_order_relaxed); }

/// Before threading joins threads, it calls registered functions in the reverse order of their registration.
/// concurrent.futures joins its workers in such a function. So ours is registered once more when a thread waits after
/// that module was imported.
void register_behind_futures() {
  static bool registered = false;
  if (registered) return;
  PyObject* const modules = PyImport_GetModuleDict();
  if (modules == nullptr || PyDict_GetItemString(modules, "concurrent.futures.thread") == nullptr) return;
  registered = true;
  PyObject* const package = PyDict_GetItemString(modules, "baton");
  PyObject* const done = package != nullptr ? PyObject_CallMethod(package, "_register_end", nullptr) : nullptr;
  if (done == nullptr) PyErr_Clear();  // the package is being imported, or was removed from sys.modules
  Py_XDECREF(done);
}

}  // namespace

void end_waits() {
  g_ended = true;
  for (SignalWatch* watch = g_waiting; watch != nullptr; watch = watch->after_) {
    watch->signalled_.store(true, std::memory_order_relaxed);
    watch->wake_();
  }
}

bool has_ended() noexcept { return g_ended && !in_main_thread(); }

void forget_waits() noexcept {
  g_waiting = nullptr;  // they lie on the stacks of threads that the child does not have
  g_ended = false;
}

void set_main_thread(unsigned long ident) noexcept { g_main_thread.store(ident, std::memory_order_relaxed); }

SignalWatch::SignalWatch(std::function<void()> wake) : wake_(std::move(wake)), generation_(os::fork_generation()) {
  if (in_main_thread())
    watch_signals();
  else
    watch_end();
}

void SignalWatch::watch_end() {
  register_behind_futures();
  after_ = g_waiting;
  if (after_ != nullptr) after_->before_ = this;
  g_waiting = this;
  listed_ = true;
}

void SignalWatch::watch_signals() {
  SignalThread* watcher = thread();
  if (watcher == nullptr) return;  // no descriptor is free: signals take effect at the end of the sleep
  {
    const os::Lock lock(watcher->mutex);
    outer_ = watcher->current;
    watcher->current = this;
  }
  bool watched;
  previous_fd_ = set_wakeup_fd(watcher->socket.notify_end.get(), &watched);
  active_ = true;
}

SignalWatch::~SignalWatch() {
  if (listed_) {
    if (generation_ != os::fork_generation()) return;
    (before_ != nullptr ? before_->after_ : g_waiting) = after_;
    if (after_ != nullptr) after_->before_ = before_;
    return;
  }
  if (!active_) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool restored;
  set_wakeup_fd(previous_fd_, &restored);
  PyErr_Restore(type, value, trace);
  if (generation_ != os::fork_generation()) return;
  const os::Lock lock(g_thread->mutex);
  g_thread->current = outer_;
}

}  // namespace baton::python
