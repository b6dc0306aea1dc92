// SPDX-License-Identifier: Apache-2.0
#include "endpoints.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>

#include "baton/message/print.hpp"
#include "baton/message/validate.hpp"
#include "baton/node/node.hpp"
#include "callback.hpp"
#include "core.hpp"
#include "signal_wake.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace baton::python {
namespace {

using Nanoseconds = std::chrono::nanoseconds;
using SteadyTime = std::chrono::steady_clock::time_point;
using Seconds = std::optional<double>;

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

Nanoseconds nanoseconds(const Seconds& seconds) {
  if (!seconds) return kInfinite;
  if (std::isnan(*seconds)) raise(PyExc_ValueError, "a time must be a number of seconds");
  if (*seconds >= 9e9) return kInfinite;
  return Nanoseconds(static_cast<std::int64_t>(std::max(*seconds, 0.0) * 1e9));
}
Seconds seconds(Nanoseconds time) {
  if (time == kInfinite) return std::nullopt;
  return static_cast<double>(time.count()) * 1e-9;
}

SteadyTime deadline_after(const Seconds& timeout) { return baton::detail::deadline_after(nanoseconds(timeout)); }
Nanoseconds left_until(SteadyTime deadline) {
  return deadline == SteadyTime::max() ? kInfinite : deadline - std::chrono::steady_clock::now();
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Waits once without the GIL. Also returns after a signal whose Python handler did not raise.
void wait_once(transport::WaitSet& wait_set, Nanoseconds timeout) {
  {
    const SignalWatch watch([&wait_set] { wait_set.wake(); });
    const Result<bool> result = [&] {
      const WithoutGil without;
      return wait_set.wait(timeout);
    }();
    if (!result.ok()) throw Exception(result.error());
  }
  check_signals();
}

std::shared_ptr<CallbackGroup> group_or_default(const Node& node, std::shared_ptr<CallbackGroup> group) {
  return group ? std::move(group) : node.default_group();
}

nb::bytes gid_bytes(const transport::Gid& gid) { return nb::bytes(gid.data(), gid.size()); }

/// The next message, or none. Without the GIL: the reader's mutex is shared with the background thread.
Result<transport::TakenSample> take_from(transport::Reader& reader) {
  const WithoutGil without;
  return reader.take();
}

nb::object to_message(const TypeRecord* record, Result<transport::TakenSample> taken) {
  if (!taken.ok()) throw Exception(taken.error());
  if (!*taken) return nb::none();
  return nb::steal(new_root(new_sample(record, std::move(*taken))));
}

struct PyPublisher {
  std::shared_ptr<baton::detail::PublisherCore> core;
  const TypeRecord* record;
  std::shared_ptr<transport::Participant> participant;

  nb::object loan() const { return nb::steal(new_root(make_loan(record, core))); }
  std::uint64_t publish(nb::handle message) const { return publish_object(record, core, message.ptr(), {}); }
};

class PySubscription {
 public:
  PySubscription(std::shared_ptr<transport::Reader> reader_, const TypeRecord* record_, std::string topic_,
                 std::shared_ptr<transport::Participant> participant_)
      : reader(std::move(reader_)), record(record_), topic(std::move(topic_)), participant(std::move(participant_)) {}

  nb::object take(const Seconds& timeout) {
    Result<transport::TakenSample> taken = take_from(*reader);
    if (!taken.ok() || *taken || (timeout && *timeout <= 0)) return to_message(record, std::move(taken));
    const SteadyTime deadline = deadline_after(timeout);
    transport::WaitSet& set = waits();
    for (;;) {
      const Nanoseconds left = left_until(deadline);
      if (left <= Nanoseconds::zero()) return nb::none();
      wait_once(set, left);
      taken = take_from(*reader);
      if (!taken.ok() || *taken) return to_message(record, std::move(taken));
    }
  }
  nb::object next() { return take(std::nullopt); }

  int fileno() { return std::move(reader->pollable_fd()).or_throw(); }

  std::shared_ptr<transport::Reader> reader;
  const TypeRecord* record;
  std::string topic;
  std::shared_ptr<transport::Participant> participant;
  std::shared_ptr<Callback> callback;
  std::shared_ptr<baton::detail::Executable> registration;

 private:
  transport::WaitSet& waits() {
    if (registration)
      raise(PyExc_TypeError,
            "'" + topic + "' has a callback, which an executor runs; take(0) polls it, nobody else may wait");
    if (!wait_set_) {
      auto made = std::make_unique<transport::WaitSet>();
      made->add(reader).or_throw();
      wait_set_ = std::move(made);
    }
    return *wait_set_;
  }
  std::unique_ptr<transport::WaitSet> wait_set_;
};

class SubscriptionExecutable final : public baton::detail::Executable {
 public:
  SubscriptionExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> reader,
                         const TypeRecord* record, std::shared_ptr<Callback> callback)
      : Executable(std::move(group)), reader_(std::move(reader)), record_(record), callback_(std::move(callback)) {}
  const std::shared_ptr<transport::Reader>& reader() const noexcept override { return reader_; }
  bool ready() const override { return reader_->has_data(); }
  void execute() override {
    Result<transport::TakenSample> taken = reader_->take();
    if (!taken.ok()) {
      // As in the C++ API: a malformed message was reported and its publisher dropped; held_limit is the user's to see.
      if (taken.error().code == Errc::malformed_message || taken.error().code == Errc::protocol_violation) return;
      throw Exception(taken.error());
    }
    if (!*taken) return;
    const nb::gil_scoped_acquire gil;
    (*callback_)(to_message(record_, std::move(taken)));
  }

 private:
  std::shared_ptr<transport::Reader> reader_;
  const TypeRecord* record_;
  std::shared_ptr<Callback> callback_;
};

struct PyTimer {
  std::shared_ptr<Callback> callback;
  Timer timer;
};

struct PyService {
  std::shared_ptr<Callback> callback;
  std::shared_ptr<baton::detail::Executable> registration;
  std::string name;
};

class ServiceExecutable final : public baton::detail::Executable {
 public:
  ServiceExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> requests,
                    const TypeRecord* request, std::shared_ptr<baton::detail::PublisherCore> responses,
                    const TypeRecord* response, std::shared_ptr<Callback> handler)
      : Executable(std::move(group)),
        requests_(std::move(requests)),
        request_(request),
        responses_(std::move(responses)),
        response_(response),
        handler_(std::move(handler)) {}
  const std::shared_ptr<transport::Reader>& reader() const noexcept override { return requests_; }
  bool ready() const override { return requests_->has_data(); }
  void execute() override {
    Result<transport::TakenSample> taken = requests_->take();
    if (!taken.ok()) {
      if (taken.error().code == Errc::malformed_message || taken.error().code == Errc::protocol_violation) return;
      throw Exception(taken.error());
    }
    if (!*taken) return;
    const MessageInfo info = baton::detail::message_info(*taken);
    const nb::gil_scoped_acquire gil;
    nb::object request = to_message(request_, std::move(taken));
    Chunk* loan = make_loan(response_, responses_);
    nb::object response = nb::steal(new_root(loan));
    (*handler_)(request, response);
    transport::PublishInfo correlation;
    correlation.correlation_client = info.correlation_client;
    correlation.correlation_sequence = info.correlation_sequence;
    correlation.only_client = true;
    publish_loan(loan, correlation);
  }

 private:
  std::shared_ptr<transport::Reader> requests_;
  const TypeRecord* request_;
  std::shared_ptr<baton::detail::PublisherCore> responses_;
  const TypeRecord* response_;
  std::shared_ptr<Callback> handler_;
};

class PyClient {
 public:
  PyClient(PyPublisher requests, std::shared_ptr<transport::Reader> responses, const TypeRecord* response,
           std::string name)
      : requests_(std::move(requests)), responses_(std::move(responses)), response_(response), name_(std::move(name)) {
    wait_set_.add(responses_).or_throw();
  }
  const std::string& name() const noexcept { return name_; }
  bool available() const { return requests_.core->writer->matched() > 0 && responses_->matched() > 0; }
  nb::object loan() const { return requests_.loan(); }
  /// The response to this request, or none after the timeout. One call at a time.
  nb::object call(nb::handle request, const Seconds& timeout) {
    if (calling_) raise(PyExc_RuntimeError, "client '" + name_ + "' is waiting for a response in another thread");
    struct Reset {
      bool& flag;
      ~Reset() { flag = false; }
    } reset{calling_};
    calling_ = true;
    const SteadyTime deadline = deadline_after(timeout);
    transport::PublishInfo info;
    info.correlation_client = responses_->gid();
    info.correlation_sequence = ++sequence_;
    publish_object(requests_.record, requests_.core, request.ptr(), info);
    for (;;) {
      for (;;) {
        Result<transport::TakenSample> taken = take_from(*responses_);
        if (!taken.ok()) throw Exception(taken.error());
        if (!*taken) break;
        const MessageInfo got = baton::detail::message_info(*taken);
        if (got.correlation_client == info.correlation_client && got.correlation_sequence == info.correlation_sequence)
          return to_message(response_, std::move(taken));
      }
      const Nanoseconds left = left_until(deadline);
      if (left <= Nanoseconds::zero()) return nb::none();
      wait_once(wait_set_, left);
    }
  }
  const std::shared_ptr<transport::Participant>& participant() const noexcept { return requests_.participant; }

 private:
  PyPublisher requests_;
  std::shared_ptr<transport::Reader> responses_;
  const TypeRecord* response_;
  std::string name_;
  transport::WaitSet wait_set_;
  std::uint64_t sequence_ = 0;
  bool calling_ = false;  // GIL
};

/// Threads in an executor's spin*(). They must be out before the interpreter ends, since they would ask it for the GIL.
std::atomic<int> g_spinning{0};  // changed with the GIL; read without, as a hint

struct Spinning {
  Spinning() { g_spinning.fetch_add(1, std::memory_order_relaxed); }
  ~Spinning() { g_spinning.fetch_sub(1, std::memory_order_relaxed); }
};

/// At exit: ends every spin, and waits for it (not for ever: a callback may hang).
void end_executors() {
  shutdown();
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
    interruptible([&] { ran = executor_.spin_once(nanoseconds(timeout)); });
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
      {
        const nb::gil_scoped_release without;
        body();
      }
      signalled = watch.signalled();
    }
    check_signals();
    return signalled;
  }
  Executor executor_;
  std::atomic<bool> cancelled_{false};
};

bool wait_matched(transport::Participant& participant, const std::function<bool()>& condition, const Seconds& timeout) {
  const SteadyTime deadline = deadline_after(timeout);
  for (;;) {
    const std::uint64_t seen = participant.graph_version();
    if (condition()) return true;
    const Nanoseconds left = left_until(deadline);
    if (left <= Nanoseconds::zero()) return false;
    {
      // Attaching ends a little after the graph shows the endpoint, and signals are to be seen: look again soon.
      const WithoutGil without;
      (void)participant.wait_graph_change(seen, std::min<Nanoseconds>(left, std::chrono::milliseconds(10)));
    }
    check_signals();
  }
}

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

void init_qos(QoS* self, std::uint32_t depth, const std::string& reliability, const std::string& history,
              const std::string& durability, const Seconds& deadline, const Seconds& lifespan,
              const std::string& liveliness, const Seconds& lease, std::uint32_t held) {
  QoS qos;
  qos.depth = depth;
  qos.reliability = parse("reliability", reliability, {Reliability::kReliable, Reliability::kBestEffort});
  qos.history = parse("history", history, {History::kKeepLast, History::kKeepAll});
  qos.durability = parse("durability", durability, {Durability::kVolatile, Durability::kTransientLocal});
  qos.deadline = nanoseconds(deadline);
  qos.lifespan = nanoseconds(lifespan);
  qos.liveliness = parse("liveliness", liveliness, {Liveliness::kAutomatic, Liveliness::kManualByTopic});
  qos.lease = nanoseconds(lease);
  qos.held = held;
  new (self) QoS(qos);
}

PublisherOptions pool_options(std::size_t memory_limit, std::size_t max_message, std::uint32_t slots,
                              const std::string& policy, std::uint32_t attempts, bool prefault) {
  PublisherOptions options;
  options.memory_limit_bytes = memory_limit;
  options.max_message_bytes = max_message;
  options.slots = slots;
  options.attempts = attempts;
  options.prefault = prefault;
  if (policy == "best_effort")
    options.policy = memory::Policy::kBestEffort;
  else if (policy == "medium_effort")
    options.policy = memory::Policy::kMediumEffort;
  else if (policy == "worst_effort")
    options.policy = memory::Policy::kWorstEffort;
  else
    raise(PyExc_ValueError, "policy is 'best_effort', 'medium_effort' or 'worst_effort', not '" + policy + "'");
  return options;
}

nb::dict statuses(const transport::Statuses& s) {
  nb::dict d;
  d["matched_now"] = s.matched_now;
  d["matched_total"] = s.matched_total;
  d["incompatible_qos_total"] = s.incompatible_qos_total;
  d["incompatible_type_total"] = s.incompatible_type_total;
  d["last_incompatibility"] = s.last_incompatibility;
  d["deadline_missed_total"] = s.deadline_missed_total;
  d["liveliness_lost_total"] = s.liveliness_lost_total;
  d["alive_now"] = s.alive_now;
  d["not_alive_now"] = s.not_alive_now;
  d["lost_total"] = s.lost_total;
  return d;
}

void add_qos(nb::module_& m) {
  nb::class_<QoS>(m, "QoS", "Quality of service in ROS 2's terms. Times are seconds; None is for ever.")
      .def("__init__", init_qos, "depth"_a = 10, nb::kw_only(), "reliability"_a = "reliable", "history"_a = "keep_last",
           "durability"_a = "volatile", "deadline"_a = nb::none(), "lifespan"_a = nb::none(),
           "liveliness"_a = "automatic", "lease"_a = nb::none(), "held"_a = 8)
      .def_ro("depth", &QoS::depth)
      .def_ro("held", &QoS::held)
      .def_prop_ro("reliability", [](const QoS& q) { return name_of(q.reliability); })
      .def_prop_ro("history", [](const QoS& q) { return name_of(q.history); })
      .def_prop_ro("durability", [](const QoS& q) { return name_of(q.durability); })
      .def_prop_ro("liveliness", [](const QoS& q) { return name_of(q.liveliness); })
      .def_prop_ro("deadline", [](const QoS& q) { return seconds(q.deadline); })
      .def_prop_ro("lifespan", [](const QoS& q) { return seconds(q.lifespan); })
      .def_prop_ro("lease", [](const QoS& q) { return seconds(q.lease); })
      .def("__repr__", [](const QoS& q) {
        return "QoS(" + std::to_string(q.depth) + ", reliability='" + name_of(q.reliability) + "', history='" +
               name_of(q.history) + "', durability='" + name_of(q.durability) + "', held=" + std::to_string(q.held) +
               ")";
      });
}

void add_publisher(nb::module_& m) {
  nb::class_<PyPublisher>(m, "Publisher", nb::is_generic(), "Publishes messages of one type on a topic. Thread-safe.")
      .def("loan", &PyPublisher::loan,
           "A new message in shared memory, with default values. Use it with 'with', or give it to publish().")
      .def(
          "publish", &PyPublisher::publish, "message"_a,
          "Publishes a loan without a copy; any other message, dict or object of the same fields with one. Returns the "
          "sequence number. A loan cannot be used afterwards.")
      .def_prop_ro("topic", [](const PyPublisher& p) { return p.core->topic; })
      .def_prop_ro("message_type",
                   [](const PyPublisher& p) { return nb::borrow(reinterpret_cast<PyObject*>(p.record->cls)); })
      .def_prop_ro("matched", [](const PyPublisher& p) { return p.core->writer->matched(); })
      .def_prop_ro("gid", [](const PyPublisher& p) { return gid_bytes(p.core->writer->gid()); })
      .def_prop_ro("statuses", [](const PyPublisher& p) { return statuses(p.core->writer->statuses()); })
      .def_prop_ro("counters",
                   [](const PyPublisher& p) {
                     nb::dict d;
                     d["published"] = p.core->published.load(std::memory_order_relaxed);  // statistics
                     d["copied_messages"] = p.core->copied_messages.load(std::memory_order_relaxed);
                     return d;
                   })
      .def_prop_ro("memory",
                   [](const PyPublisher& p) {
                     const memory::Pool::Account a = p.core->writer->memory_account();
                     nb::dict d;
                     d["backed_bytes"] = a.backed_bytes;
                     d["limit_bytes"] = a.limit_bytes;
                     d["loaned"] = a.loaned_slots;
                     d["published"] = a.published_slots;
                     return d;
                   })
      .def("assert_liveliness", [](const PyPublisher& p) { p.core->writer->assert_liveliness(); })
      .def(
          "trim", [](const PyPublisher& p) { p.core->writer->trim(); }, "Gives memory of past, larger messages back.")
      .def(
          "wait_for_all_acked",
          [](const PyPublisher& p, Seconds timeout) {
            const SteadyTime deadline = deadline_after(timeout);
            for (;;) {
              const Nanoseconds left = std::max(left_until(deadline), Nanoseconds::zero());
              {
                const WithoutGil without;
                if (p.core->writer->wait_for_all_acked(std::min<Nanoseconds>(left, std::chrono::milliseconds(50))).ok())
                  return true;
              }
              check_signals();
              if (left <= Nanoseconds::zero()) return false;
            }
          },
          "timeout"_a = nb::none(), "True once every message was taken by, or lost to, every reliable subscription.")
      .def(
          "wait_for_subscriptions",
          [](const PyPublisher& p, std::uint32_t count, Seconds timeout) {
            return wait_matched(
                *p.participant, [&] { return p.core->writer->matched() >= count; }, timeout);
          },
          "count"_a = 1, "timeout"_a = nb::none(), "False if fewer have matched by then.");
}

void add_subscription(nb::module_& m) {
  nb::class_<PySubscription>(m, "Subscription", nb::is_generic(), nb::type_slots(callback_slots<PySubscription>()),
                             "Receives messages of one type from a topic: by callback, take(), iteration or asyncio.")
      .def("take", &PySubscription::take, "timeout"_a = 0.0,
           "The oldest unread message, or None after `timeout` seconds (0: at once, None: never). Raises HeldLimit "
           "when as "
           "many messages as QoS.held allows are still in use.")
      .def(
          "__iter__", [](nb::handle self) { return self; }, nb::sig("def __iter__(self) -> typing.Self"))
      .def("__next__", &PySubscription::next)
      .def("fileno", &PySubscription::fileno,
           "A descriptor that is readable while a message may be there, for select, poll and event loops. Not together "
           "with a "
           "callback or waiting.")
      .def("has_data", [](const PySubscription& s) { return s.reader->has_data(); })
      .def_prop_ro("topic", [](const PySubscription& s) { return s.topic; })
      .def_prop_ro("message_type",
                   [](const PySubscription& s) { return nb::borrow(reinterpret_cast<PyObject*>(s.record->cls)); })
      .def_prop_ro("matched", [](const PySubscription& s) { return s.reader->matched(); })
      .def_prop_ro("gid", [](const PySubscription& s) { return gid_bytes(s.reader->gid()); })
      .def_prop_ro("statuses", [](const PySubscription& s) { return statuses(s.reader->statuses()); })
      .def(
          "wait_for_publishers",
          [](const PySubscription& s, std::uint32_t count, Seconds timeout) {
            return wait_matched(
                *s.participant, [&] { return s.reader->matched() >= count; }, timeout);
          },
          "count"_a = 1, "timeout"_a = nb::none(), "False if fewer have matched by then.");
}

void add_node(nb::module_& m) {
  nb::class_<CallbackGroup>(m, "CallbackGroup", "Callbacks that exclude each other; reentrant ones do not.")
      .def(
          "__init__",
          [](CallbackGroup* self, bool reentrant) {
            new (self)
                CallbackGroup(reentrant ? CallbackGroup::Kind::kReentrant : CallbackGroup::Kind::kMutuallyExclusive);
          },
          nb::kw_only(), "reentrant"_a = false);
  nb::class_<PyTimer>(m, "Timer", nb::type_slots(callback_slots<PyTimer>()), "A running timer.");
  nb::class_<PyService>(m, "Service", nb::type_slots(callback_slots<PyService>()), "A running service.")
      .def_ro("name", &PyService::name);
  nb::class_<PyClient>(m, "Client", "Calls a service.")
      .def_prop_ro("name", &PyClient::name)
      .def("available", &PyClient::available)
      .def(
          "wait_for_service",
          [](const PyClient& c, Seconds timeout) {
            return wait_matched(
                *c.participant(), [&] { return c.available(); }, timeout);
          },
          "timeout"_a = nb::none())
      .def("loan", &PyClient::loan, "A request in shared memory, for call().")
      .def("call", &PyClient::call, "request"_a, "timeout"_a = nb::none(), "The response, or None after the timeout.");
  nb::class_<Node>(m, "Node", nb::is_weak_referenceable())
      .def(
          "__init__",
          [](Node* self, std::string name, int domain, std::string runtime_directory) {
            NodeOptions options;
            options.domain = domain;
            options.runtime_directory = std::move(runtime_directory);
            new (self) Node(std::move(name), std::move(options));
          },
          "name"_a, "domain"_a, "runtime_directory"_a)
      .def_prop_ro("name", [](const Node& n) { return n.name(); })
      .def_prop_ro("domain", &Node::domain)
      .def("_advertise",
           [](Node& node, const std::string& topic, nb::handle type, const QoS& qos, std::size_t memory_limit,
              std::size_t max_message, std::uint32_t slots, const std::string& policy, std::uint32_t attempts,
              bool prefault) {
             const TypeRecord* record = record_of_class(type.ptr());
             const PublisherOptions options =
                 pool_options(memory_limit, max_message, slots, policy, attempts, prefault);
             const WithoutGil without;
             return PyPublisher{node.make_publisher(topic, *record->type, qos, options), record, node.participant()};
           })
      .def(
          "_subscribe",
          [](Node& node, const std::string& topic, nb::handle type, const QoS& qos, nb::object callback,
             std::shared_ptr<CallbackGroup> group) {
            const TypeRecord* record = record_of_class(type.ptr());
            std::shared_ptr<transport::Reader> reader;
            {
              const WithoutGil without;
              reader = node.make_reader(topic, *record->type, qos);
            }
            auto subscription =
                std::make_unique<PySubscription>(reader, record, Node::absolute(topic), node.participant());
            if (!callback.is_none()) {
              subscription->callback = std::make_shared<Callback>(std::move(callback));
              auto executable = std::make_shared<SubscriptionExecutable>(group_or_default(node, std::move(group)),
                                                                         reader, record, subscription->callback);
              const WithoutGil without;
              subscription->registration = node.add(executable);
            }
            return subscription.release();
          },
          nb::rv_policy::take_ownership, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def(
          "_create_timer",
          [](Node& node, double period, nb::object callback, std::shared_ptr<CallbackGroup> group) {
            PyTimer timer;
            timer.callback = std::make_shared<Callback>(std::move(callback));
            auto run = [function = timer.callback] {
              const nb::gil_scoped_acquire gil;
              (*function)();
            };
            const WithoutGil without;
            timer.timer = node.create_timer(nanoseconds(period), run, nullptr, std::move(group));
            return timer;
          },
          nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "_serve",
          [](Node& node, const std::string& name, nb::handle request, nb::handle response, nb::object handler,
             std::shared_ptr<CallbackGroup> group) {
            const TypeRecord* requests = record_of_class(request.ptr());
            const TypeRecord* responses = record_of_class(response.ptr());
            PyService service;
            service.name = Node::absolute(name);
            service.callback = std::make_shared<Callback>(std::move(handler));
            const WithoutGil without;
            auto executable = std::make_shared<ServiceExecutable>(
                group_or_default(node, std::move(group)),
                node.make_reader(baton::detail::request_topic(name), *requests->type, baton::detail::request_qos()),
                requests,
                node.make_publisher(baton::detail::response_topic(name), *responses->type,
                                    baton::detail::response_qos(), {}),
                responses, service.callback);
            service.registration = node.add(executable);
            return service;
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "_client",
          [](Node& node, const std::string& name, nb::handle request, nb::handle response) {
            const TypeRecord* requests = record_of_class(request.ptr());
            const TypeRecord* responses = record_of_class(response.ptr());
            const WithoutGil without;
            auto reader =
                node.make_reader(baton::detail::response_topic(name), *responses->type, baton::detail::response_qos());
            PyPublisher publisher{node.make_publisher(baton::detail::request_topic(name), *requests->type,
                                                      baton::detail::request_qos(), {}),
                                  requests, node.participant()};
            return new PyClient(std::move(publisher), std::move(reader), responses, Node::absolute(name));
          },
          nb::rv_policy::take_ownership)
      .def("nodes", &Node::nodes, "Names and process ids of all nodes that are known now.")
      .def("topics", &Node::topics, "Topics that are known now, with the names of their types.")
      .def("_endpoints",
           [](const Node& node) {
             nb::list list;
             for (const transport::EndpointInfo& e : node.endpoints())
               list.append(nb::make_tuple(gid_bytes(e.gid), e.is_writer, e.topic, e.type_name, e.node,
                                          nb::bytes(e.type_hash.data(), e.type_hash.size()), e.qos, e.pid));
             return list;
           })
      .def_prop_ro("memory",
                   [](const Node& node) {
                     const transport::Participant::MemoryAccount a = node.memory_account();
                     nb::dict d;
                     d["process_backed_bytes"] = a.process_backed_bytes;
                     d["process_limit_bytes"] = a.process_limit_bytes;
                     d["domain_backed_bytes"] = a.domain_backed_bytes;
                     d["domain_limit_bytes"] = a.domain_limit_bytes;
                     return d;
                   })
      .def(
          "wait_for",
          [](const Node& node, nb::callable condition, Seconds timeout) {
            return wait_matched(
                *node.participant(), [&] { return nb::cast<bool>(nb::bool_(condition())); }, timeout);
          },
          "condition"_a, "timeout"_a = nb::none(),
          "Waits until `condition()` is true, looking again after changes of the graph; False on timeout.");
}

void add_executor(nb::module_& m) {
  nb::class_<PyExecutor>(m, "Executor", "Runs the callbacks of nodes.")
      .def(nb::init<unsigned>(), "threads"_a = 1)
      .def("_add", &PyExecutor::add)
      .def("_remove", &PyExecutor::remove)
      .def("spin", &PyExecutor::spin,
           "Runs callbacks until cancel() or Ctrl-C. An exception of a callback ends it and is raised here.")
      .def("spin_once", &PyExecutor::spin_once, "timeout"_a = nb::none(),
           "At most one callback; False if none became ready.")
      .def("spin_some", &PyExecutor::spin_some, "Runs what is ready now; the number of callbacks run.")
      .def("cancel", &PyExecutor::cancel, "Makes spin() return soon; from any thread or callback.")
      .def("set_spin", &PyExecutor::set_spin, "seconds"_a, "Busy-waits that long before sleeping.");
}

}  // namespace

void add_endpoints(nb::module_& m) {
  m.def(
      "size_bytes",
      [](nb::handle message) {
        if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
        const Chunk* chunk = reinterpret_cast<Message*>(message.ptr())->chunk;
        if (chunk->kind != Chunk::Kind::kSample) raise(PyExc_ValueError, "only received messages have a size");
        return chunk->size;
      },
      "message"_a, "Bytes of a received message: skeleton and contents.");
  m.def(
      "format_message",
      [](nb::handle message, std::size_t max_elements, std::size_t max_string, bool flow_arrays) {
        if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
        const auto* view = reinterpret_cast<Message*>(message.ptr());
        if (view->chunk->kind != Chunk::Kind::kSample || view->address != view->chunk->message)
          raise(PyExc_ValueError, "only whole received messages can be formatted; str() takes any");
        message::PrintOptions options;
        options.max_elements = max_elements;
        options.max_string_bytes = max_string;
        options.flow_arrays = flow_arrays;
        return std::move(message::print(*view->record->type, {view->address, view->chunk->size}, options)).or_throw();
      },
      "message"_a, "max_elements"_a = 128, "max_string"_a = 128, "flow_arrays"_a = true,
      "A received message as YAML; 0 elements or bytes: all.");
  m.def("incompatibility", &incompatibility, "offered"_a, "requested"_a,
        "Empty, or which policies of a publisher and a subscription do not fit.");
  m.def("_end_executors", end_executors);
  m.def("_forget_executors", [] { g_spinning.store(0, std::memory_order_relaxed); });  // in a forked child
  nb::class_<MessageInfo>(m, "MessageInfo", "What is known of a received message.")
      .def_ro("sequence", &MessageInfo::sequence)
      .def_ro("source_time_ns", &MessageInfo::source_time_ns)
      .def_ro("source_monotonic_ns", &MessageInfo::source_monotonic_ns)
      .def_ro("reception_time_ns", &MessageInfo::reception_time_ns)
      .def_prop_ro("publisher", [](const MessageInfo& i) { return gid_bytes(i.publisher); });
  m.def(
      "info",
      [](nb::handle message) {
        if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
        const auto* view = reinterpret_cast<Message*>(message.ptr());
        if (view->chunk->kind != Chunk::Kind::kSample) raise(PyExc_ValueError, "only received messages have metadata");
        return baton::detail::message_info(view->chunk->sample);
      },
      "message"_a, "Sequence number, times and publisher of a received message.");
  add_qos(m);
  add_publisher(m);
  add_subscription(m);
  add_node(m);
  add_executor(m);
}

}  // namespace baton::python
