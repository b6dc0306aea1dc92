// SPDX-License-Identifier: Apache-2.0
#include "endpoints.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>

#include "baton/message/print.hpp"
#include "baton/message/validate.hpp"
#include "baton/node/node.hpp"
#include "callback.hpp"
#include "core.hpp"
#include "endpoints_shared.hpp"
#include "news.hpp"
#include "subscription.hpp"

namespace baton::python {

using namespace nb::literals;

namespace {

struct PyTimer {
  std::shared_ptr<Callback> callback;
  Timer timer;
};

PublisherOptions pool_options(std::size_t memory_limit, std::size_t max_message, std::uint32_t slots,
                              const std::string& policy, std::uint32_t attempts, bool prefault) {
  PublisherOptions options;
  options.memory_limit_bytes = memory_limit;
  options.max_message_bytes = max_message;
  options.slot_count = slots;
  options.attempts = attempts;
  options.prefault = prefault;
  if (policy == "best_effort")
    options.policy = memory::Policy::kBestEffort;
  else if (policy == "medium_effort")
    options.policy = memory::Policy::kMediumEffort;
  else if (policy == "worst_effort")
    options.policy = memory::Policy::kWorstEffort;
  else if (policy == "none")
    options.policy = memory::Policy::kNone;
  else
    raise(PyExc_ValueError, "policy is 'best_effort', 'medium_effort', 'worst_effort' or 'none', not '" + policy + "'");
  return options;
}

const char* name_of(memory::Selection selection) {
  return selection == memory::Selection::kLow ? "low" : selection == memory::Selection::kHigh ? "high" : "in place";
}

/// The dataclass that Python has for a struct of numbers and texts. Its name is one of the package's, so that it can be
/// pickled.
template <class T>
struct Record {
  static inline PyObject* cls = nullptr;  // kept for ever: modules are not unloaded
  static inline std::function<nb::tuple(const T&)> values;
};

template <class T>
T shown(T number) {
  return number;
}
std::string shown(const std::string& text) { return in_python(text); }

template <class T, class... Values>
void add_record(nb::module_& m, const char* name, const char* doc, std::pair<const char*, Values T::*>... fields) {
  nb::list names;
  (names.append(nb::make_tuple(
       fields.first,
       nb::borrow(reinterpret_cast<PyObject*>(std::is_same_v<Values, std::string> ? &PyUnicode_Type : &PyLong_Type)))),
   ...);
  nb::object cls = nb::module_::import_("dataclasses")
                       .attr("make_dataclass")(name, names, nb::arg("frozen") = true, nb::arg("slots") = true);
  cls.attr("__doc__") = doc;
  cls.attr("__module__") = "baton";
  m.attr(name) = cls;
  Record<T>::cls = cls.release().ptr();
  Record<T>::values = [fields...](const T& record) { return nb::make_tuple(shown(record.*(fields.second))...); };
}

template <class T>
nb::object record(const T& values) {
  return nb::borrow(Record<T>::cls)(*Record<T>::values(values));
}

template <class T, class Value>
std::pair<const char*, Value T::*> field(const char* name, Value T::*member) {
  return {name, member};
}

void add_records(nb::module_& m) {
  using transport::Statuses;
  add_record<Statuses>(
      m, "Statuses", "What an endpoint has noticed: `_now` is the present state, `_total` counts since it was made.",
      field("matched_now", &Statuses::matched_now), field("matched_total", &Statuses::matched_total),
      field("incompatible_qos_total", &Statuses::incompatible_qos_total),
      field("incompatible_type_total", &Statuses::incompatible_type_total),
      field("last_incompatibility", &Statuses::last_incompatibility), field("refused_now", &Statuses::refused_now),
      field("last_refusal", &Statuses::last_refusal), field("deadline_missed_total", &Statuses::deadline_missed_total),
      field("liveliness_lost_total", &Statuses::liveliness_lost_total), field("alive_now", &Statuses::alive_now),
      field("not_alive_now", &Statuses::not_alive_now), field("lost_total", &Statuses::lost_total),
      field("copied_total", &Statuses::copied_total), field("held_limit_now", &Statuses::held_limit_now),
      field("held_limit_total", &Statuses::held_limit_total), field("dropped_total", &Statuses::dropped_total));
  using transport::Losses;
  add_record<Losses>(m, "Losses", "Messages that a subscription did not get, by reason.",
                     field("overflow", &Losses::overflow), field("held", &Losses::held), field("limit", &Losses::limit),
                     field("memory", &Losses::memory), field("malformed", &Losses::malformed),
                     field("interrupted", &Losses::interrupted), field("lifespan", &Losses::lifespan),
                     field("stamp", &Losses::stamp));
  add_record<PublisherCounters>(
      m, "PublisherCounters", "Messages since the publisher was made; the copied ones were built elsewhere.",
      field("published", &PublisherCounters::published), field("copied_messages", &PublisherCounters::copied_messages),
      field("copied_bytes", &PublisherCounters::copied_bytes));
  using PoolAccount = memory::Pool::Account;
  add_record<PoolAccount>(
      m, "PublisherMemory", "What a publisher's memory is used for now.",
      field("backed_bytes", &PoolAccount::backed_bytes), field("limit_bytes", &PoolAccount::limit_bytes),
      field("loaned_slots", &PoolAccount::loaned_slots), field("published_slots", &PoolAccount::published_slots));
  using MemoryAccount = transport::Participant::MemoryAccount;
  add_record<MemoryAccount>(m, "NodeMemory", "Message memory of this process and of its domain.",
                            field("process_backed_bytes", &MemoryAccount::process_backed_bytes),
                            field("process_limit_bytes", &MemoryAccount::process_limit_bytes),
                            field("domain_backed_bytes", &MemoryAccount::domain_backed_bytes),
                            field("domain_limit_bytes", &MemoryAccount::domain_limit_bytes));
}

void add_publisher(nb::module_& m) {
  nb::class_<PyPublisher>(m, "Publisher", nb::is_generic(), "Publishes messages of one type on a topic. Thread-safe.")
      .def("__init__", made_by<PyPublisher>("Publisher", "node.advertise('image', Image, 10)"))
      .def("loan", &PyPublisher::loan,
           "A new message in shared memory, with default values. Use it with 'with', or give it to publish().")
      .def(
          "publish", &PyPublisher::publish, "message"_a,
          "Publishes a loan without a copy; any other message, dict or object of the same fields with one. Returns the "
          "sequence number. A loan cannot be used afterwards.")
      .def(
          "on_event",
          [](const PyPublisher& p, nb::handle callback) {
            std::function<void(transport::Event)> function = event_callback(callback);
            const WithoutGil without;
            p.core->writer()->on_event(std::move(function));
          },
          "callback"_a.none(),
          "Calls `callback(event)` in a thread of its own: 'matched', 'incompatible_qos', 'incompatible_type', "
          "'deadline_missed' or 'liveliness_lost'; `statuses` counts them. None: no more.")
      .def_prop_ro("topic", [](const PyPublisher& p) { return p.core->topic(); })
      .def_prop_ro("message_type",
                   [](const PyPublisher& p) { return nb::borrow(reinterpret_cast<PyObject*>(p.record->cls)); })
      .def_prop_ro("matched", [](const PyPublisher& p) { return p.core->writer()->matched(); })
      .def_prop_ro("gid", [](const PyPublisher& p) { return gid_bytes(p.core->writer()->gid()); })
      .def("_publish_attached",
           [](const PyPublisher& p, nb::handle message, const nb::bytes& words) {
             transport::PublishInfo info;
             if (words.size() > info.attachment.size()) raise(PyExc_ValueError, "an attachment has at most 24 bytes");
             std::memcpy(info.attachment.data(), words.data(), words.size());
             return publish_object(p.record, p.core, message.ptr(), info);
           })
      .def("_readers_of", [](const PyPublisher& p,
                             std::uint64_t sequence) { return gid_list(p.core->writer()->readers_of(sequence)); })
      .def("_hand_newest_to",
           [](const PyPublisher& p, const nb::bytes& reader) {
             Gid gid{};
             if (reader.size() != gid.size()) raise(PyExc_ValueError, "a gid has 16 bytes");
             std::memcpy(gid.data(), reader.data(), gid.size());
             const WithoutGil without;
             return p.core->writer()->hand_newest_to(gid);
           })
      .def("_matched_readers", [](const PyPublisher& p) { return gid_list(p.core->writer()->matched_readers()); })
      .def_prop_ro("statuses", [](const PyPublisher& p) { return record(p.core->writer()->statuses()); })
      .def_prop_ro("counters", [](const PyPublisher& p) { return record(p.core->counters()); })
      .def_prop_ro("memory", [](const PyPublisher& p) { return record(p.core->writer()->memory_account()); })
      .def("assert_liveliness", [](const PyPublisher& p) { p.core->writer()->assert_liveliness(); })
      .def(
          "trim", [](const PyPublisher& p) { p.core->writer()->trim(); }, "Gives memory of past, larger messages back.")
      .def(
          "wait_for_all_acked",
          [](const PyPublisher& p, Seconds timeout) {
            const SteadyTime deadline = deadline_after(timeout);
            for (;;) {
              const Nanoseconds left = std::max(left_until(deadline), Nanoseconds::zero());
              {
                const WithoutGil without;
                if (p.core->writer()
                        ->wait_for_all_acked(std::min<Nanoseconds>(left, std::chrono::milliseconds(50)))
                        .ok())
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
                *p.participant, [&] { return p.core->writer()->matched() >= count; }, timeout);
          },
          "count"_a = 1, "timeout"_a = nb::none(), "False if fewer have matched by then.");
}

void add_subscription(nb::module_& m) {
  nb::class_<PySubscription>(m, "Subscription", nb::is_generic(), nb::type_slots(callback_slots<PySubscription>()),
                             "Receives messages of one type from a topic: by callback, take(), iteration or asyncio.")
      .def("__init__", made_by<PySubscription>("Subscription", "node.subscribe('image', Image, callback, 10)"))
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
      .def("_expel_changed",
           [](const PySubscription& s, nb::handle message) { return expel_changed(*s.reader, message); })
      .def(
          "on_event",
          [](const PySubscription& s, nb::handle callback) {
            std::function<void(transport::Event)> function = event_callback(callback);
            const WithoutGil without;
            s.reader->on_event(std::move(function));
          },
          "callback"_a.none(),
          "Calls `callback(event)` in a thread of its own: 'matched', 'incompatible_qos', 'incompatible_type', "
          "'deadline_missed', 'liveliness_changed' or 'message_lost'; `statuses` counts them. None: no more.")
      .def_prop_ro("topic", [](const PySubscription& s) { return s.topic; })
      .def_prop_ro("message_type",
                   [](const PySubscription& s) { return nb::borrow(reinterpret_cast<PyObject*>(s.record->cls)); })
      .def_prop_ro("matched", [](const PySubscription& s) { return s.reader->matched(); })
      .def_prop_ro("gid", [](const PySubscription& s) { return gid_bytes(s.reader->gid()); })
      .def_prop_ro("statuses", [](const PySubscription& s) { return record(s.reader->statuses()); })
      .def_prop_ro("losses", [](const PySubscription& s) { return record(s.reader->losses()); })
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
  nb::class_<SimulatedClock>(
      m, "SimulatedClock",
      "Time that stands still until set_ns() moves it, for `create_timer(..., clock=clock)`. Thread-safe.")
      .def(nb::init<>())
      .def(
          "set_ns", [](SimulatedClock& clock, std::int64_t now) { clock.set(std::chrono::nanoseconds(now)); },
          nb::call_guard<WithoutGil>(), "now_ns"_a,
          "Moves time to this number of nanoseconds. Timers on this clock whose periods have passed are called by "
          "their "
          "executors; if time goes back, they start a new period.")
      .def_prop_ro("now_ns", [](const SimulatedClock& clock) { return clock.now().count(); });
  nb::class_<PyTimer>(m, "Timer", nb::type_slots(callback_slots<PyTimer>()), "A running timer.")
      .def("__init__", made_by<PyTimer>("Timer", "node.create_timer(0.1, callback)"))
      .def(
          "cancel", [](PyTimer& t) { t.timer.cancel(); }, "The callback is not called any more, until reset().")
      .def(
          "reset", [](PyTimer& t) { t.timer.reset(); }, nb::call_guard<WithoutGil>(),
          "A new period begins now, also for a timer that was cancelled.")
      .def("is_canceled", [](const PyTimer& t) { return t.timer.is_canceled(); });
  nb::class_<Node> node_class(m, "Node", nb::is_weak_referenceable());
  node_class
      .def(
          "__init__",
          [](Node* self, std::string name, int domain, std::string runtime_directory, nb::handle on_diagnostic,
             std::string ns, std::vector<std::string> arguments, bool use_global_arguments, nb::handle overrides,
             bool enable_rosout) {
            NodeOptions options;
            options.ns = std::move(ns);
            options.arguments = std::move(arguments);
            options.use_global_arguments = use_global_arguments;
            options.enable_rosout = enable_rosout;
            options.parameter_overrides = parameters_of(overrides);
            options.on_diagnostic = diagnostic_callback(on_diagnostic);
            options.domain = domain;
            options.runtime_directory = std::move(runtime_directory);
            new (self) Node(std::move(name), std::move(options));
          },
          "name"_a, "domain"_a, "runtime_directory"_a, "on_diagnostic"_a.none(), "namespace"_a, "arguments"_a,
          "use_global_arguments"_a, "overrides"_a, "enable_rosout"_a)
      .def_prop_ro("name", [](const Node& n) { return n.name(); })
      .def_prop_ro("namespace", [](const Node& n) { return n.ns(); })
      .def_prop_ro("fully_qualified_name", [](const Node& n) { return n.fully_qualified_name(); })
      .def("resolve_topic_name", &Node::resolve_topic_name, "topic"_a,
           "The name that the domain knows: absolute, and renamed by the rules of the command line.")
      .def("resolve_service_name", &Node::resolve_service_name, "service"_a)
      .def_prop_ro("domain", &Node::domain)
      .def("_advertise",
           [](Node& node, const std::string& topic, nb::handle type, const QoS& qos, std::size_t memory_limit,
              std::size_t max_message, std::uint32_t slots, const std::string& policy, std::uint32_t attempts,
              bool prefault) {
             const ClassRecord* record = record_of_class(type.ptr());
             const PublisherOptions options =
                 pool_options(memory_limit, max_message, slots, policy, attempts, prefault);
             const WithoutGil without;
             return PyPublisher{node.make_publisher(topic, *record->type, qos, options), record, node.participant()};
           })
      .def(
          "_subscribe",
          [](Node& node, const std::string& topic, nb::handle type, const QoS& qos, nb::object callback,
             std::shared_ptr<CallbackGroup> group) {
            const ClassRecord* record = record_of_class(type.ptr());
            std::shared_ptr<transport::Reader> reader;
            std::string name;
            {
              const WithoutGil without;
              reader = node.make_reader(topic, *record->type, qos);
              name = node.resolve_topic_name(topic);
            }
            auto subscription = std::make_unique<PySubscription>(reader, record, std::move(name), node.participant());
            if (!callback.is_none()) {
              subscription->callback = std::make_shared<Callback>(std::move(callback));
              auto executable = std::make_shared<PythonSubscriptionExecutable>(group_or_default(node, std::move(group)),
                                                                               reader, record, subscription->callback);
              const WithoutGil without;
              subscription->registration = node.add(executable);
            }
            return subscription.release();
          },
          nb::rv_policy::take_ownership, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def(
          "_create_timer",
          [](Node& node, double period, nb::object callback, std::shared_ptr<SimulatedClock> clock,
             std::shared_ptr<CallbackGroup> group) {
            const Nanoseconds time = std::isnan(period) ? Nanoseconds::zero() : nanoseconds(period);
            if (time <= Nanoseconds::zero())
              throw Exception({Errc::invalid_argument, "timer of node '" + node.name() +
                                                           "': the period must be a nanosecond or more, not " +
                                                           nb::cast<std::string>(nb::repr(nb::float_(period))) + " s"});
            PyTimer timer;
            timer.callback = std::make_shared<Callback>(std::move(callback));
            auto run = [function = timer.callback] {
              const WithGil gil;
              run_callback([&] { (*function)(); });
            };
            const WithoutGil without;
            timer.timer = node.create_timer(time, run, std::move(clock), std::move(group));
            return timer;
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def("nodes", &Node::nodes, "Names and process ids of all nodes that are known now.")
      .def("topics", &Node::topics, "Topics that are known now, with the names of their types.")
      .def("_report",
           [](const Node& node, const Seconds& timeout) {
             const Nanoseconds time = nanoseconds(timeout);
             const transport::Report report = [&] {
               const WithoutGil without;
               return node.participant()->report(time).or_throw();
             }();
             nb::list out;
             for (const transport::Holding& holding : report.holdings) {
               nb::list chunks;
               for (const transport::Holding::HeldChunk& chunk : holding.chunks)
                 chunks.append(nb::make_tuple(chunk.sequence, chunk.size_bytes, memory::handle_segment(chunk.handle),
                                              memory::handle_offset(chunk.handle)));
               static constexpr const char* kStandings[] = {"connected", "left", "refused"};
               out.append(nb::make_tuple(
                   gid_bytes(holding.writer), gid_bytes(holding.reader), holding.unread, holding.held,
                   holding.held_bytes, chunks, kStandings[static_cast<std::size_t>(holding.standing)], holding.wished,
                   holding.granted, in_python(holding.reason), holding.slot_count, holding.shared, holding.promised));
             }
             nb::dict losses;
             for (const auto& [reader, lost] : report.losses) losses[gid_bytes(reader)] = record(lost);
             return nb::make_tuple(out, losses);
           })
      .def(
          "_endpoints",
          [](const Node& node, const std::optional<std::string>& topic) {
            nb::list list;
            for (const transport::EndpointInfo& e : topic ? node.participant()->endpoints_of(*topic) : node.endpoints())
              list.append(nb::make_tuple(gid_bytes(e.gid), e.is_writer, e.topic, e.type_name, e.node,
                                         nb::bytes(e.type_hash.data(), e.type_hash.size()), e.qos, e.pid));
            return list;
          },
          nb::arg("topic") = nb::none())
      .def("_graph_version", [](const Node& node) { return node.participant()->graph_version(); })
      .def("_unmet", [](const Node& node) { return node.participant()->unmet_count(); })
      .def("_unmet_pids", [](const Node& node) { return node.participant()->unmet_pids(); })
      .def_prop_ro("memory", [](const Node& node) { return record(node.memory_account()); })
      .def(
          "wait_for",
          [](const Node& node, nb::callable condition, Seconds timeout) {
            return wait_matched(
                *node.participant(), [&] { return nb::cast<bool>(nb::bool_(condition())); }, timeout);
          },
          "condition"_a, "timeout"_a = nb::none(),
          "Waits until `condition()` is true, looking again after changes of the graph; False on timeout.");
  add_services(m, node_class);
  add_parameters(m, node_class);
  add_logging(m, node_class);
}

}  // namespace

void add_endpoints(nb::module_& m) {
  add_heaps(m);
  add_links(m);
  add_relay(m);
  add_serialized(m);
  m.def(
      "size_bytes",
      [](nb::handle message) {
        if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
        const OwnedChunk* chunk = reinterpret_cast<MessageView*>(message.ptr())->chunk;
        if (chunk->kind != OwnedChunk::Kind::kSample) raise(PyExc_ValueError, "only received messages have a size");
        return chunk->size;
      },
      "message"_a, "Bytes of a received message: skeleton and contents.");
  m.def(
      "format_message",
      [](nb::handle message, std::size_t max_elements, std::size_t max_string, bool flow_arrays, bool hide_header_seq) {
        if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
        const auto* view = reinterpret_cast<MessageView*>(message.ptr());
        if (view->chunk->kind != OwnedChunk::Kind::kSample || view->address != view->chunk->message)
          raise(PyExc_ValueError, "only whole received messages can be formatted; str() takes any");
        message::PrintOptions options;
        options.max_elements = max_elements;
        options.max_string_bytes = max_string;
        options.flow_arrays = flow_arrays;
        options.hide_header_seq = hide_header_seq;
        return std::move(message::print(*view->record->type, {view->address, view->chunk->size}, options)).or_throw();
      },
      "message"_a, "max_elements"_a = 128, "max_string"_a = 128, "flow_arrays"_a = true, "hide_header_seq"_a = false,
      "A received message as YAML; 0 elements or bytes: all. hide_header_seq: as in ROS 2.");
  m.def("incompatibility", &incompatibility, "offered"_a, "requested"_a,
        "Empty, or which policies of a publisher and a subscription do not fit.");
  nb::class_<MessageInfo>(m, "MessageInfo", "What is known of a received message.")
      .def_ro("sequence", &MessageInfo::sequence)
      .def_ro("source_time_ns", &MessageInfo::source_time_ns)
      .def_ro("source_monotonic_ns", &MessageInfo::source_monotonic_ns)
      .def_ro("reception_time_ns", &MessageInfo::reception_time_ns)
      .def_prop_ro("publisher", [](const MessageInfo& i) { return gid_bytes(i.publisher); })
      .def_prop_ro("selection", [](const MessageInfo& i) { return name_of(i.selection); })
      .def("__repr__", [](const MessageInfo& i) {
        return "<MessageInfo: number " + std::to_string(i.sequence) + ", published at " +
               std::to_string(i.source_time_ns) + " ns, received " +
               std::to_string(i.reception_time_ns - i.source_time_ns) + " ns later, " + name_of(i.selection) + ">";
      });
  m.def(
      "info",
      [](nb::handle message) {
        if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
        const auto* view = reinterpret_cast<MessageView*>(message.ptr());
        if (view->chunk->kind != OwnedChunk::Kind::kSample)
          raise(PyExc_ValueError, "only received messages have metadata");
        MessageInfo info = baton::detail::message_info(view->chunk->sample);
        info.reception_time_ns = view->chunk->reception_time_ns;
        return info;
      },
      "message"_a, "Sequence number, times and publisher of a received message.");
  m.def("_attachment", [](nb::handle message) {
    if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
    const auto* view = reinterpret_cast<MessageView*>(message.ptr());
    if (view->chunk->kind != OwnedChunk::Kind::kSample) raise(PyExc_ValueError, "only received messages have metadata");
    const memory::ChunkHeader& header = view->chunk->sample.header();
    return nb::bytes(reinterpret_cast<const char*>(header.attachment), sizeof header.attachment);
  });
  add_qos(m);
  add_records(m);
  m.def("_whose", [] { return nb::steal(whose_errors()); });
  add_publisher(m);
  add_subscription(m);
  add_node(m);
  add_executor(m);
  add_news(m);
}

}  // namespace baton::python
