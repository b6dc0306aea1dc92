// SPDX-License-Identifier: Apache-2.0
// The entry to Baton: a named participant of a domain that makes publishers, subscriptions, timers, services and
// clients.
// Thread rules: all functions are thread-safe. A forked child makes a new Node; the parent's nodes throw forked in the
// child.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "baton/message/type.hpp"
#include "baton/node/arguments.hpp"
#include "baton/node/call_forms.hpp"
#include "baton/node/clock.hpp"
#include "baton/node/executor.hpp"
#include "baton/node/init.hpp"
#include "baton/node/logging.hpp"
#include "baton/node/parameter.hpp"
#include "baton/node/publisher.hpp"
#include "baton/node/service.hpp"
#include "baton/node/subscription.hpp"
#include "baton/node/time.hpp"
#include "baton/node/timer.hpp"
#include "baton/node/wait_set.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

struct NodeOptions {
  int domain = -1;                ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the per-user default
  /// Receives events that no call can return (a peer's broken message, a refused type). Empty: one line of the logger
  /// "baton" on stderr. Called on the background thread while the node lives; must not block or throw. Its log lines go
  /// to stderr, and not to /rosout.
  std::function<void(const transport::Diagnostic&)> on_diagnostic;
  std::string ns = {};  ///< the namespace, e.g. "/left" or "left"; empty: the root namespace
  /// Rules and parameters of this node alone, written as on a command line: {"--ros-args", "-r", "image:=left/image"}.
  /// They stand before those of init(). Other arguments are ignored.
  std::vector<std::string> arguments = {};
  std::vector<Parameter> parameter_overrides = {};  ///< stand above those of both command lines
  bool use_global_arguments = true;                 ///< false: what init() read does not apply to this node
  bool enable_rosout = true;                        ///< false: the node's lines do not go to /rosout
};

/// How a publisher's memory is made, and its policy when memory is short.
using PublisherOptions = memory::PoolOptions;

// Words of the transport that programs use.
using transport::Diagnostic;
using transport::Event;
using transport::Gid;
using transport::Statuses;
/// The use of a publisher's memory now.
using Account = memory::Pool::Account;

/// A named participant of a domain.
class Node {
 public:
  using SharedPtr = std::shared_ptr<Node>;
  using ConstSharedPtr = std::shared_ptr<const Node>;
  /// A new node behind a pointer, as in rclcpp.
  template <class... Arguments>
  static SharedPtr make_shared(Arguments&&... arguments) {
    return std::make_shared<Node>(std::forward<Arguments>(arguments)...);
  }

  /// Joins the domain. Throws no_runtime_directory, foreign_runtime_directory, out_of_descriptors, invalid_argument
  /// (bad BATON_DOMAIN; a name that is not of letters, digits and '_'). `-r __node:=` and `-r __ns:=` of init() replace
  /// name and namespace.
  explicit Node(std::string name, NodeOptions options = {});
  /// With a namespace, as in ROS 2. Only strings, because `{}` is NodeOptions.
  template <class Namespace, class = std::enable_if_t<std::is_convertible_v<const Namespace&, std::string>>>
  Node(std::string name, const Namespace& ns, NodeOptions options = {})
      : Node(std::move(name), in_namespace(std::move(options), ns)) {}
  ~Node();
  Node(const Node&) = delete;  // a node is one object: pass baton::Node&, or std::shared_ptr<baton::Node>
  Node& operator=(const Node&) = delete;

  const std::string& name() const noexcept;                  ///< "camera"
  const std::string& ns() const noexcept;                    ///< "/left", or "/"
  const std::string& fully_qualified_name() const noexcept;  ///< "/left/camera"
  int domain() const;
  /// The logger of the node's name: "left.camera" for /left/camera. Its lines, and those of its children, go to stderr
  /// and to the topic /rosout while the node lives. The first line makes the publisher; later ones do not allocate more
  /// than their text.
  const Logger& get_logger() const noexcept;
  /// baton::now().
  Time now() const { return baton::now(); }

  /// A publisher of T. Names of topics and services are made absolute ("image" -> "/left/image", "~/image" ->
  /// "/left/camera/image"), and renamed by the rules of the command line (docs/guides/names.md).
  template <class T>
  [[nodiscard]] Publisher<T> advertise(const std::string& topic, const QoS& qos = {},
                                       const PublisherOptions& options = {}) {
    return Publisher<T>(make_publisher(topic, message::type_of<T>(), qos, options));
  }
  /// With a queue length, as in ROS 1. Only integers, because `{}` is a default QoS.
  template <class T, class Queue, class = std::enable_if_t<std::is_integral_v<Queue>>>
  [[nodiscard]] Publisher<T> advertise(const std::string& topic, Queue queue, const PublisherOptions& options = {}) {
    return advertise<T>(topic, QoS(static_cast<std::uint32_t>(queue)), options);
  }
  /// TZC Fig. 6: queue length and the total size of the publisher's shared memory.
  template <class T, class Queue, class Bytes,
            class = std::enable_if_t<std::is_integral_v<Queue> && std::is_integral_v<Bytes>>>
  [[nodiscard]] Publisher<T> advertise(const std::string& topic, Queue queue, Bytes mem_size_bytes);

  /// A subscription for polling (take, wait sets, pollable_fd).
  template <class T>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, const QoS& qos = {}) {
    return Subscription<T>(make_reader(topic, message::type_of<T>(), qos), nullptr, resolve_topic_name(topic));
  }
  /// The same with a queue length.
  template <class T, class Queue, class = std::enable_if_t<std::is_integral_v<Queue>>>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, Queue queue) {
    return subscribe<T>(topic, QoS(static_cast<std::uint32_t>(queue)));
  }
  /// A subscription whose callback an executor runs. The callback takes a Sample<T>, const Sample<T>&, const T&, (const
  /// T&, const MessageInfo&), (Sample<T>, const MessageInfo&) or std::shared_ptr<const T>. It is called as long as a
  /// copy of the Subscription lives.
  template <class T, class F>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, const QoS& qos, F callback,
                                          std::shared_ptr<CallbackGroup> group = nullptr);
  /// The same with a queue length, as in ROS 1 and TZC Fig. 6. Only integers, because `{}` is a default QoS.
  template <class T, class Queue, class F, class = std::enable_if_t<std::is_integral_v<Queue>>>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, Queue queue, F callback,
                                          std::shared_ptr<CallbackGroup> group = nullptr) {
    return subscribe<T>(topic, QoS(static_cast<std::uint32_t>(queue)), std::move(callback), std::move(group));
  }

  /// The same without the type, which the callback's argument says: subscribe("image", 4, on_image).
  template <class Depth, class F, class = std::enable_if_t<detail::kIsDepth<Depth>>>
  [[nodiscard]] auto subscribe(const std::string& topic, const Depth& depth, F callback,
                               std::shared_ptr<CallbackGroup> group = nullptr);
  template <class Depth, class Member, class Object,
            class = std::enable_if_t<detail::kIsDepth<Depth> && std::is_member_function_pointer_v<Member>>>
  [[nodiscard]] auto subscribe(const std::string& topic, const Depth& depth, Member member, Object* object) {
    return subscribe(topic, depth, detail::bound(member, object));
  }

  /// A member function as the callback, as in ROS 1: subscribe<T>("image", 4, &Viewer::on_image, this). `object` must
  /// outlive the Subscription.
  template <class T, class Depth, class Member, class Object,
            class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, const Depth& depth, Member member, Object* object) {
    return subscribe<T>(topic, detail::qos_of(depth), detail::bound(member, object));
  }

  /// A service S (S::Request, S::Response). The handler is `void(const Request&, Response&)` or `void(const Request&,
  /// Response&, const MessageInfo&)`; rclcpp's `void(std::shared_ptr<Request>, std::shared_ptr<Response>)` costs a copy
  /// of both. An exception of the handler leaves spin(), and its client gets no response. The response is built in
  /// shared memory, which `options` bound. The clients share its `slot_count`; each client may keep kHeldResponses of its
  /// responses, or fewer where slots are short (docs/format/qos.md has the number of clients that find a place). If there
  /// is no memory for a response (limit_reached, out_of_memory, message_too_large, also thrown by the handler), its request
  /// gets none, the logger "baton" logs a line, and spin() goes on: another process can be the reason.
  template <class S, class F>
  [[nodiscard]] Service<S> serve(const std::string& name, F handler, std::shared_ptr<CallbackGroup> group = nullptr,
                                 const PublisherOptions& options = {});
  /// A member function as the handler: serve<SetBool>("switch", &Camera::on_switch, this). `object` must outlive the
  /// Service.
  template <class S, class Member, class Object, class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
  [[nodiscard]] Service<S> serve(const std::string& name, Member member, Object* object) {
    return serve<S>(name, detail::bound(member, object));
  }
  /// serve(), in rclcpp's words.
  template <class S, class... Handler>
  [[nodiscard]] Service<S> create_service(const std::string& name, Handler... handler) {
    return serve<S>(name, std::move(handler)...);
  }
  /// A client whose call() blocks the calling thread; needs no executor. `options` are for the memory of its requests. The
  /// program may keep `held` responses at the same time (1 to 65536); another take then fails with held_limit.
  template <class S>
  Client<S> client(const std::string& name, const PublisherOptions& options = {}, std::uint32_t held = kHeldResponses);
  /// A client for send(); an executor hands each response to `callback`, which takes what a subscription's callback takes
  /// (of Response).
  template <class S, class F>
  Client<S> client(const std::string& name, F callback, std::shared_ptr<CallbackGroup> group = nullptr,
                   const PublisherOptions& options = {}, std::uint32_t held = kHeldResponses);

  /// Calls `callback()` every `period` of `clock`, by default the steady clock. A period of 0 or less throws
  /// invalid_argument; one of Nanoseconds::max() never calls. A period that was missed because callbacks took too long is
  /// skipped. The timer runs as long as a copy of the Timer lives.
  [[nodiscard]] Timer create_timer(os::Nanoseconds period, std::function<void()> callback,
                                   std::shared_ptr<Clock> clock = nullptr,
                                   std::shared_ptr<CallbackGroup> group = nullptr);

  /// The same with every duration of std::chrono, e.g. std::chrono::duration<double>(0.1).
  template <class Period, class F>
  [[nodiscard]] Timer create_timer(const Period& period, F callback, std::shared_ptr<Clock> clock = nullptr,
                                   std::shared_ptr<CallbackGroup> group = nullptr);
  /// The same with a member function: create_timer(20ms, &Camera::on_timer, this).
  template <class Period, class Member, class Object,
            class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
  [[nodiscard]] Timer create_timer(const Period& period, Member member, Object* object) {
    return create_timer(period, detail::bound(member, object));
  }
  /// The same with a group, and the steady clock.
  template <class Period, class F, class Group,
            class = std::enable_if_t<std::is_same_v<Group, std::shared_ptr<CallbackGroup>>>>
  [[nodiscard]] Timer create_timer(const Period& period, F callback, const Group& group) {
    return create_timer(period, std::move(callback), std::shared_ptr<Clock>(), group);
  }

  // Parameters: docs/guides/parameters.md. A node with parameters serves them to other processes while an
  // executor runs its callbacks; the first declaration makes the services.

  /// Declares a parameter and returns its value: the one of the command line (-p, --params-file) if there is one, else
  /// `value`. T: bool, an integer, a floating-point number, a string, or a std::vector of them; std::vector<std::uint8_t>
  /// is a byte array. Throws already_exists; type_mismatch, invalid_argument (the value of the command line is of
  /// another type, out of its range, or refused by a callback; the text names file and line).
  template <class T>
  auto declare_parameter(const std::string& name, const T& value, const ParameterDescriptor& descriptor = {}) {
    using Stored = std::conditional_t<std::is_convertible_v<T, std::string_view>, std::string, T>;
    return declare(name, ParameterValue(value), ParameterType::kNotSet, descriptor).template get<Stored>();
  }
  /// A parameter without a default: throws invalid_argument if the command line gives none.
  template <class T>
  T declare_parameter(const std::string& name) {
    return declare(name, {}, ParameterValue(T{}).type(), {}).template get<T>();
  }
  /// The same with a type that is known at run time. A `value` that is not set gives none, as above; `type` is then the
  /// parameter's type.
  ParameterValue declare(const std::string& name, const ParameterValue& value, ParameterType type,
                         const ParameterDescriptor& descriptor);
  /// The next set of this name is refused. Throws not_found, invalid_argument (read-only).
  void undeclare_parameter(const std::string& name);
  bool has_parameter(const std::string& name) const;
  /// Throws not_found if it is not declared.
  Parameter get_parameter(const std::string& name) const;
  /// False if it is not declared; `value` is then unchanged. Throws type_mismatch if it is of another type.
  template <class T>
  bool get_parameter(const std::string& name, T& value) const;
  /// The same, with a value for `value` if it is not declared.
  template <class T>
  bool get_parameter_or(const std::string& name, T& value, const detail::AsElsewhere<T>& alternative) const;
  template <class T>
  T get_parameter_or(const std::string& name, const T& alternative) const;
  /// As ROS 1's NodeHandle::param(): declares the parameter with `fallback` unless it is declared, and reads it. The type
  /// is that of `value`, or of `fallback`: param("device", device, "/dev/video0"), param<double>("gain", 1).
  /// False if nobody gave a value: not the command line, and the parameter was not declared before.
  template <class T>
  bool param(const std::string& name, T& value, const detail::AsElsewhere<T>& fallback);
  template <class T>
  T param(const std::string& name, const T& fallback);
  std::string param(const std::string& name, const char* fallback) { return param(name, std::string(fallback)); }
  /// True if the command line, a file or NodeOptions::parameter_overrides give a value, which a declaration then takes.
  bool has_parameter_override(const std::string& name) const;
  /// Not set if it is not declared.
  ParameterValue find_parameter(const std::string& name) const;
  /// Throws not_found if one of them is not declared.
  std::vector<Parameter> get_parameters(const std::vector<std::string>& names) const {
    std::vector<Parameter> found;
    for (const std::string& name : names) found.push_back(get_parameter(name));
    return found;
  }
  /// The parameters below `prefix` ("gains" has gains.x and gains.y.z), under the rest of their names; an empty prefix has
  /// all. False if there are none; `values` is then unchanged. Throws type_mismatch if one of them is of another type.
  template <class T>
  bool get_parameters(const std::string& prefix, std::map<std::string, T>& values) const;
  /// Declares each under the name "prefix.name", or its own if the prefix is empty; returns their values in the order of
  /// the map. Throws as declare_parameter().
  template <class T>
  std::vector<T> declare_parameters(const std::string& prefix, const std::map<std::string, T>& defaults);
  /// Sets one parameter. Nothing is thrown for a refusal: the result says why.
  SetParametersResult set_parameter(const Parameter& parameter);
  /// Sets each by itself.
  std::vector<SetParametersResult> set_parameters(const std::vector<Parameter>& parameters);
  /// Sets all, or none.
  SetParametersResult set_parameters_atomically(const std::vector<Parameter>& parameters);
  /// Throws not_found.
  ParameterDescriptor describe_parameter(const std::string& name) const;
  /// All names, or those below one of `prefixes`, at most `depth` parts deep (0: any depth). Parts are separated by dots.
  ListParametersResult list_parameters(const std::vector<std::string>& prefixes = {}, std::uint64_t depth = 0) const;
  using OnSetParametersCallbackHandle = node_interfaces::OnSetParametersCallbackHandle;
  using PostSetParametersCallbackHandle = node_interfaces::PostSetParametersCallbackHandle;
  /// `callback(parameters)` is called before a declaration and before a set, and may refuse them: {false, "reason"}. It
  /// may read parameters, and must not set them (invalid_argument). It is called as long as the returned handle lives.
  [[nodiscard]] std::shared_ptr<void> add_on_set_parameters_callback(
      std::function<SetParametersResult(const std::vector<Parameter>&)> callback);
  /// `callback(parameters)` is called after each declaration and set, in the thread that set them. It may set parameters.
  [[nodiscard]] std::shared_ptr<void> add_post_set_parameters_callback(
      std::function<void(const std::vector<Parameter>&)> callback);

  // The known part of the graph now.
  std::vector<transport::EndpointInfo> endpoints() const;
  std::vector<std::pair<std::string, std::int32_t>> nodes() const;
  std::map<std::string, std::vector<std::string>> topics() const;  ///< topic -> type names
  std::size_t count_publishers(const std::string& topic) const;
  std::size_t count_subscriptions(const std::string& topic) const;
  /// Waits until `condition()` is true; checks it again after every change of the graph. False on timeout,
  /// and when the process is asked to end meanwhile (ok()); after that it waits a second at most.
  bool wait_for(const std::function<bool()>& condition, os::Nanoseconds timeout) const;
  transport::Participant::MemoryAccount memory_account() const;

  const std::shared_ptr<CallbackGroup>& default_group() const noexcept;
  /// The untyped participant under this API.
  const std::shared_ptr<transport::Participant>& participant() const noexcept;

  // For types known only at run time: other languages, bridges. `type` must outlive every endpoint and sample of it.
  std::shared_ptr<detail::PublisherCore> make_publisher(const std::string& topic, const message::Type& type,
                                                        const QoS& qos, const PublisherOptions& options);
  std::shared_ptr<transport::Reader> make_reader(const std::string& topic, const message::Type& type, const QoS& qos);
  /// The endpoints of a client; `options` are for its requests, `held` for its responses.
  std::shared_ptr<detail::ClientCore> make_client(const std::string& service, const message::Type& request,
                                                  const message::Type& response, const PublisherOptions& options,
                                                  std::uint32_t held = kHeldResponses);
  /// The endpoints of a server; `options` are for its responses.
  detail::ServerCore make_server(const std::string& service, const message::Type& request,
                                 const message::Type& response, const PublisherOptions& options);
  /// Registers with the executor. Destroying the last copy of the returned handle removes the executable.
  std::shared_ptr<detail::Executable> add(const std::shared_ptr<detail::Executable>& executable);
  /// The name that the domain knows. Throws invalid_argument if the argument is no name of a topic or service.
  std::string resolve_topic_name(const std::string& topic) const;
  std::string resolve_service_name(const std::string& service) const;

 private:
  friend class Executor;
  static NodeOptions in_namespace(NodeOptions options, std::string ns) {
    options.ns = std::move(ns);
    return options;
  }
  std::shared_ptr<detail::PublisherCore> publisher_at(const std::string& name, const message::Type& type,
                                                      const QoS& qos, const PublisherOptions& options,
                                                      detail::PublisherUse use,
                                                      std::shared_ptr<detail::ServiceEvents> events);
  std::shared_ptr<detail::ServiceEvents> events_of(const std::string& service, const message::Type& request,
                                                   const message::Type& response, bool is_server) const;
  std::shared_ptr<transport::Reader> reader_at(const std::string& name, const message::Type& type, const QoS& qos);
  std::shared_ptr<detail::NodeCore> core_;
};

/// Runs the callbacks of this node, one at a time, until the process is asked to end (ok()). As rclcpp::spin. The node
/// must not belong to an executor.
void spin(Node& node);
/// The same, as rclcpp's programs write it. Throws invalid_argument if the pointer is null.
inline void spin(const std::shared_ptr<Node>& node) { spin(detail::not_empty(node, "node pointer")); }
/// Runs the callbacks of this node that are ready now, and returns their number. For a loop of the program's own; a
/// lasting Executor costs less than this function.
std::size_t spin_some(Node& node);
inline std::size_t spin_some(const std::shared_ptr<Node>& node) {
  return spin_some(detail::not_empty(node, "node pointer"));
}

// The definitions of templates above.

template <class T, class Queue, class Bytes, class>
Publisher<T> Node::advertise(const std::string& topic, Queue queue, Bytes mem_size_bytes) {
  static_assert(!std::is_same_v<Bytes, bool>,
                "the third argument is a size in bytes; what is 'latched' in ROS 1 is QoS(n).transient_local() here");
  PublisherOptions options;
  options.memory_limit_bytes = static_cast<std::size_t>(mem_size_bytes);
  return advertise<T>(topic, QoS(static_cast<std::uint32_t>(queue)), options);
}

template <class T, class F>
Subscription<T> Node::subscribe(const std::string& topic, const QoS& qos, F callback,
                                std::shared_ptr<CallbackGroup> group) {
  auto reader = make_reader(topic, message::type_of<T>(), qos);
  auto executable = os::make_hot_shared<detail::SubscriptionExecutable<T, F>>(
      group ? std::move(group) : default_group(), reader, std::move(callback));
  return Subscription<T>(std::move(reader), add(executable), resolve_topic_name(topic));
}

template <class Depth, class F, class>
auto Node::subscribe(const std::string& topic, const Depth& depth, F callback, std::shared_ptr<CallbackGroup> group) {
  using T = typename detail::MessageOf<F>::type;
  static_assert(!std::is_void_v<T>,
                "write subscribe<T>(topic, queue, callback): this callback does not say which message it takes");
  if constexpr (!std::is_void_v<T>)
    return subscribe<T>(topic, detail::qos_of(depth), std::move(callback), std::move(group));
  else
    return 0;
}

template <class Period, class F>
Timer Node::create_timer(const Period& period, F callback, std::shared_ptr<Clock> clock,
                         std::shared_ptr<CallbackGroup> group) {
  constexpr bool kDuration = std::is_convertible_v<const Period&, os::Nanoseconds>;
  constexpr bool kPlain = std::is_invocable_v<F&>;
  static_assert(kDuration,
                "a period has a unit: write create_timer(100ms, callback), with using namespace "
                "std::chrono_literals, or std::chrono::duration<double>(0.1) for seconds");
  static_assert(
      kPlain,
      "a timer's callback takes no argument: write void f(), and baton::now() in it for the times of roscpp's "
      "TimerEvent");
  if constexpr (kDuration && kPlain) {
    return create_timer(os::Nanoseconds(period), std::function<void()>(std::move(callback)), std::move(clock),
                        std::move(group));
  } else {
    return Timer();
  }
}

template <class T>
bool Node::get_parameter(const std::string& name, T& value) const {
  const Parameter found(name, find_parameter(name));
  if (found.value().is_set()) value = found.get_value<T>();
  return found.value().is_set();
}

template <class T>
bool Node::get_parameter_or(const std::string& name, T& value, const detail::AsElsewhere<T>& alternative) const {
  if (get_parameter(name, value)) return true;
  value = alternative;
  return false;
}

template <class T>
T Node::get_parameter_or(const std::string& name, const T& alternative) const {
  T value{};
  get_parameter_or(name, value, alternative);
  return value;
}

template <class T>
bool Node::param(const std::string& name, T& value, const detail::AsElsewhere<T>& fallback) {
  const bool declared = has_parameter(name);
  if (!declared) declare_parameter(name, fallback);
  get_parameter(name, value);
  return declared || has_parameter_override(name);
}

template <class T>
T Node::param(const std::string& name, const T& fallback) {
  T value = fallback;
  param(name, value, fallback);
  return value;
}

template <class T>
bool Node::get_parameters(const std::string& prefix, std::map<std::string, T>& values) const {
  const std::vector<std::string> names =
      list_parameters(prefix.empty() ? std::vector<std::string>() : std::vector{prefix}).names;
  std::map<std::string, T> found;
  for (const std::string& name : names)
    if (prefix.empty() || name.size() > prefix.size())
      found[prefix.empty() ? name : name.substr(prefix.size() + 1)] = get_parameter(name).get_value<T>();
  for (auto& [name, value] : found) values[name] = std::move(value);
  return !found.empty();
}

template <class T>
std::vector<T> Node::declare_parameters(const std::string& prefix, const std::map<std::string, T>& defaults) {
  std::vector<T> values;
  for (const auto& [name, value] : defaults)
    values.push_back(declare_parameter<T>(prefix.empty() ? name : prefix + "." + name, value));
  return values;
}

template <class S, class F>
Service<S> Node::serve(const std::string& name, F handler, std::shared_ptr<CallbackGroup> group,
                       const PublisherOptions& options) {
  using Executable = detail::ServiceExecutable<S, F>;
  detail::ServerCore core =
      make_server(name, message::type_of<typename S::Request>(), message::type_of<typename S::Response>(), options);
  auto executable = std::make_shared<Executable>(group ? std::move(group) : default_group(), std::move(core.requests),
                                                 core.responses, std::move(handler));
  return Service<S>(add(executable), std::move(core.name), core.responses->events());
}

template <class S>
Client<S> Node::client(const std::string& name, const PublisherOptions& options, std::uint32_t held) {
  return Client<S>(make_client(name, message::type_of<typename S::Request>(), message::type_of<typename S::Response>(),
                               options, held),
                   nullptr);
}

template <class S, class F>
Client<S> Node::client(const std::string& name, F callback, std::shared_ptr<CallbackGroup> group,
                       const PublisherOptions& options, std::uint32_t held) {
  Client<S> client = this->client<S>(name, options, held);
  auto executable = std::make_shared<detail::ClientExecutable<S, F>>(group ? std::move(group) : default_group(),
                                                                     client.core(), std::move(callback));
  return Client<S>(client.core(), add(executable));
}

}  // namespace baton

#include "baton/node/ros_names.hpp"
