// SPDX-License-Identifier: Apache-2.0
// Executors of Python: those of node/executor.hpp, but signals and the interpreter's end can end them.
#include <nanobind/stl/optional.h>

#include <atomic>
#include <thread>

#include "endpoints_shared.hpp"

namespace baton::python {

using namespace nb::literals;

namespace {

/// Threads in an executor's spin*(). They must leave before the interpreter ends, since they would request its GIL.
std::atomic<int> g_spinning{0};  // changed with the GIL; read without, as a hint

struct Spinning {
  Spinning() { g_spinning.fetch_add(1, std::memory_order_relaxed); }
  ~Spinning() { g_spinning.fetch_sub(1, std::memory_order_relaxed); }
};

/// Called before the interpreter joins the threads that are no daemons: ends every spin, and every wait of another
/// thread.
void begin_end() {
  shutdown();
  end_waits();
}

/// At exit: waits for the threads that still spin, which are daemons (not for ever: a callback may hang).
void end_executors() {
  begin_end();
  const WithoutGil without;
  for (int i = 0; i < 5000 && g_spinning.load(std::memory_order_relaxed) > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

class PyExecutor {
 public:
  explicit PyExecutor(unsigned threads) : executor_(threads) {}
  void add(Node& node) {
    const WithoutGil without;
    executor_.add(node);
  }
  void remove(Node& node) {
    const WithoutGil without;
    executor_.remove(node);
  }
  void set_spin(double budget) { executor_.set_spin(nanoseconds(budget)); }
  std::uint64_t shortages() const { return executor_.shortages(); }
  void cancel() {
    cancelled_ = true;
    executor_.cancel();
  }
  void spin() {
    cancelled_ = false;
    while (interruptible([this] { executor_.spin(); }) && !cancelled_ && ok()) {
    }
  }
  bool spin_once(const Seconds& timeout) {
    bool ran = false;
    const Nanoseconds time = nanoseconds(timeout);
    interruptible([&] { ran = executor_.spin_once(time); });
    return ran;
  }
  std::size_t spin_some() {
    std::size_t count = 0;
    interruptible([&] { count = executor_.spin_some(); });
    return count;
  }

 private:
  /// True if a signal ended `body`, and its handler did not raise.
  template <class F>
  bool interruptible(F&& body) {
    bool signalled;
    {
      const Spinning spinning;
      const SignalWatch watch([this] { executor_.cancel(); });
      check_signals();  // signals that came before the watch wake no thread
      {
        const WithoutGil without;
        body();
      }
      signalled = watch.signalled();
    }
    // A spin that the interpreter's end has ended returns, as after cancel(). The thread's next spin raises SystemExit.
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return signalled;
  }
  Executor executor_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

void add_executor(nb::module_& m) {
  m.def("_begin_end", begin_end);
  m.def("_end_executors", end_executors);
  m.def("_forget_executors", [] {  // in a forked child
    g_spinning.store(0, std::memory_order_relaxed);
    forget_waits();
  });
  nb::class_<PyExecutor>(m, "Executor", "Runs the callbacks of nodes.")
      .def(nb::init<unsigned>(), "threads"_a = 1)
      .def("_add", &PyExecutor::add)
      .def("_remove", &PyExecutor::remove)
      .def("spin", &PyExecutor::spin,
           "Runs callbacks until cancel() or Ctrl-C. An exception of a callback ends it and is raised here, but for "
           "one with `shortage`: see shortages.")
      .def("spin_once", &PyExecutor::spin_once, "timeout"_a = nb::none(),
           "At most one callback; False if none became ready.")
      .def("spin_some", &PyExecutor::spin_some, "Runs what is ready now; the number of callbacks run.")
      .def("cancel", &PyExecutor::cancel, "Makes spin() return soon; from any thread or callback.")
      .def_prop_ro("shortages", &PyExecutor::shortages,
                   "How often a callback ended because Baton had no memory for a message that it built.")
      .def("set_spin", &PyExecutor::set_spin, "seconds"_a, "Busy-waits that long before sleeping.");
}

}  // namespace baton::python
