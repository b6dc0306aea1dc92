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
#include "baton/node/clock.hpp"
#include "baton/node/executor.hpp"
#include "baton/node/publisher.hpp"
#include "baton/node/service.hpp"
#include "baton/node/subscription.hpp"
#include "baton/node/time.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

struct NodeOptions {
  int domain = -1;                ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the per-user default
  /// Receives events that no call can return (a peer's broken message, a refused type). Empty: one line on stderr for
  /// warnings and errors, unless BATON_LOG=off. Called on the background thread while the node lives; must not block or
  /// throw.
  std::function<void(const transport::Diagnostic&)> on_diagnostic;
};

/// How a publisher's memory is made, and its policy when memory is short.
using PublisherOptions = memory::PoolOptions;

// Words of the transport that programs use.
using transport::Diagnostic;
using transport::Event;
using transport::Gid;
using transport::Statuses;
/// What a publisher's memory is used for now.
using Account = memory::Pool::Account;

namespace detail {

/// What a Timer's owner can do with it. Thread-safe.
class TimerControl {
 public:
  virtual ~TimerControl() = default;
  virtual void cancel() = 0;
  virtual void reset() = 0;
  virtual bool is_canceled() const = 0;
};

/// A queue length, or a whole QoS.
template <class Depth>
QoS qos_of(const Depth& depth) {
  if constexpr (std::is_integral_v<Depth>) {
    static_assert(!std::is_same_v<Depth, bool>, "the second argument is a queue length or a QoS");
    return QoS(static_cast<std::uint32_t>(depth));
  } else {
    return depth;
  }
}

/// A member function of `object` as a callable with exactly its parameters.
template <class C, class Object, class R, class... Args>
auto bound(R (C::*member)(Args...), Object* object) {
  return [member, object](Args... args) { (object->*member)(std::forward<Args>(args)...); };
}
template <class C, class Object, class R, class... Args>
auto bound(R (C::*member)(Args...) const, Object* object) {
  return [member, object](Args... args) { (object->*member)(std::forward<Args>(args)...); };
}

}  // namespace detail

/// A running timer. It ends when the last copy is destroyed. An empty Timer throws invalid_argument.
class Timer {
 public:
  Timer() = default;
  Timer(std::shared_ptr<detail::Executable> executable, std::shared_ptr<detail::TimerControl> control)
      : executable_(std::move(executable)), control_(std::move(control)) {}
  explicit operator bool() const noexcept { return control_ != nullptr; }

  /// The callback is not called any more, until reset().
  void cancel() { detail::not_empty(control_, "timer").cancel(); }
  /// A new period begins now, also for a timer that was cancelled.
  void reset() { detail::not_empty(control_, "timer").reset(); }
  /// True after cancel(), until reset().
  bool is_canceled() const { return detail::not_empty(control_, "timer").is_canceled(); }

 private:
  std::shared_ptr<detail::Executable> executable_;
  std::shared_ptr<detail::TimerControl> control_;
};

class Node {
 public:
  /// Joins the domain. Throws no_runtime_directory, foreign_runtime_directory, out_of_descriptors, invalid_argument
  /// (empty name, bad BATON_DOMAIN).
  explicit Node(std::string name, NodeOptions options = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const noexcept;
  int domain() const;
  /// baton::now(), as ROS 2's fingers write it.
  Time now() const { return baton::now(); }

  /// A publisher of T. Topic names are made absolute ("image" -> "/image"); segments hold letters, digits, '_' and '~'.
  template <class T>
  [[nodiscard]] Publisher<T> advertise(const std::string& topic, const QoS& qos = {},
                                       const PublisherOptions& options = {}) {
    return Publisher<T>(make_publisher(topic, message::type_of<T>(), qos, options));
  }
  /// With a queue length, as in ROS 1. Only integers, because `{}` is a default QoS.
  template <class T, class Queue, class = std::enable_if_t<std::is_integral_v<Queue>>>
  [[nodiscard]] Publisher<T> advertise(const std::string& topic, Queue queue) {
    return advertise<T>(topic, QoS(static_cast<std::uint32_t>(queue)));
  }
  /// TZC Fig. 6: queue length and the total size of the publisher's shared memory.
  template <class T, class Queue, class Bytes,
            class = std::enable_if_t<std::is_integral_v<Queue> && std::is_integral_v<Bytes>>>
  [[nodiscard]] Publisher<T> advertise(const std::string& topic, Queue queue, Bytes mem_size_bytes) {
    static_assert(!std::is_same_v<Bytes, bool>,
                  "the third argument is a size in bytes; what is 'latched' in ROS 1 is QoS(n).transient_local() here");
    PublisherOptions options;
    options.memory_limit_bytes = static_cast<std::size_t>(mem_size_bytes);
    return advertise<T>(topic, QoS(static_cast<std::uint32_t>(queue)), options);
  }

  /// A subscription for polling (take, wait sets, pollable_fd).
  template <class T>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, const QoS& qos = {}) {
    return Subscription<T>(make_reader(topic, message::type_of<T>(), qos), nullptr, absolute(topic));
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
                                          std::shared_ptr<CallbackGroup> group = nullptr) {
    auto reader = make_reader(topic, message::type_of<T>(), qos);
    auto executable = std::make_shared<detail::SubscriptionExecutable<T, F>>(group ? std::move(group) : default_group(),
                                                                             reader, std::move(callback));
    return Subscription<T>(std::move(reader), add(executable), absolute(topic));
  }
  /// The same with a queue length, as in ROS 1 and TZC Fig. 6. Only integers, because `{}` is a default QoS.
  template <class T, class Queue, class F, class = std::enable_if_t<std::is_integral_v<Queue>>>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, Queue queue, F callback) {
    return subscribe<T>(topic, QoS(static_cast<std::uint32_t>(queue)), std::move(callback));
  }

  /// A member function as the callback, as in ROS 1: subscribe<T>("image", 4, &Viewer::on_image, this). `object` must
  /// outlive the Subscription.
  template <class T, class Depth, class Member, class Object,
            class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
  [[nodiscard]] Subscription<T> subscribe(const std::string& topic, const Depth& depth, Member member, Object* object) {
    return subscribe<T>(topic, detail::qos_of(depth), detail::bound(member, object));
  }

  /// A service S (S::Request, S::Response). The handler is `void(const Request&, Response&)` or `void(const Request&,
  /// Response&, const MessageInfo&)`. The response is built in shared memory, which `options` bound. The clients share
  /// its `slots`; each client may hold 8 responses (docs/format/qos.md says how many clients find a place).
  template <class S, class F>
  [[nodiscard]] Service<S> serve(const std::string& name, F handler, std::shared_ptr<CallbackGroup> group = nullptr,
                                 const PublisherOptions& options = {});
  /// A client whose call() blocks the calling thread; needs no executor.
  template <class S>
  Client<S> client(const std::string& name);
  /// A client for send(); an executor hands each response to `callback(const Sample<Response>&)`.
  template <class S, class F>
  Client<S> client(const std::string& name, F callback, std::shared_ptr<CallbackGroup> group = nullptr);

  /// Calls `callback()` every `period` (> 0) of `clock`. A period that was missed because callbacks took too long is
  /// skipped. The timer runs as long as a copy of the Timer lives.
  [[nodiscard]] Timer create_timer(std::chrono::nanoseconds period, std::function<void()> callback,
                                   std::shared_ptr<Clock> clock = nullptr,
                                   std::shared_ptr<CallbackGroup> group = nullptr);

  /// The same with a member function: create_timer(20ms, &Camera::on_timer, this).
  template <class Member, class Object, class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
  [[nodiscard]] Timer create_timer(std::chrono::nanoseconds period, Member member, Object* object) {
    return create_timer(period, detail::bound(member, object));
  }

  // The known part of the graph now.
  std::vector<transport::EndpointInfo> endpoints() const;
  std::vector<std::pair<std::string, std::int32_t>> nodes() const;
  std::map<std::string, std::vector<std::string>> topics() const;  ///< topic -> type names
  std::size_t count_publishers(const std::string& topic) const;
  std::size_t count_subscriptions(const std::string& topic) const;
  /// Waits until `condition()` is true; checks it again after every change of the graph. False on timeout,
  /// and when the process is asked to end meanwhile (ok()); after that it waits a second at most.
  bool wait_for(const std::function<bool()>& condition, std::chrono::nanoseconds timeout) const;
  transport::Participant::MemoryAccount memory_account() const;

  const std::shared_ptr<CallbackGroup>& default_group() const noexcept;
  /// The untyped participant under this API.
  const std::shared_ptr<transport::Participant>& participant() const noexcept;

  // For types known only at run time: other languages, bridges. `type` must outlive every endpoint and sample of it.
  std::shared_ptr<detail::PublisherCore> make_publisher(const std::string& topic, const message::Type& type,
                                                        const QoS& qos, const PublisherOptions& options);
  std::shared_ptr<transport::Reader> make_reader(const std::string& topic, const message::Type& type, const QoS& qos);
  std::shared_ptr<detail::ClientCore> make_client(const std::string& service, const message::Type& request,
                                                  const message::Type& response);
  /// Registers with the executor. Destroying the last copy of the returned handle removes the executable.
  std::shared_ptr<detail::Executable> add(const std::shared_ptr<detail::Executable>& executable);
  /// "image" -> "/image". Throws invalid_argument if `topic` is no topic name.
  static std::string absolute(const std::string& topic);

 private:
  friend class Executor;
  std::shared_ptr<detail::NodeCore> core_;
};

/// Runs the callbacks of this node, one at a time, until the process is asked to end (ok()). As rclcpp::spin. The node
/// must not belong to an executor.
void spin(Node& node);
/// Runs the callbacks of this node that are ready now, and returns their number. For a loop of the program's own; a
/// lasting Executor costs less than this function.
std::size_t spin_some(Node& node);

template <class S, class F>
Service<S> Node::serve(const std::string& name, F handler, std::shared_ptr<CallbackGroup> group,
                       const PublisherOptions& options) {
  using Executable = detail::ServiceExecutable<S, F>;
  auto requests =
      make_reader(detail::request_topic(name), message::type_of<typename S::Request>(), detail::request_qos());
  Publisher<typename S::Response> responses(make_publisher(
      detail::response_topic(name), message::type_of<typename S::Response>(), detail::response_qos(), options));
  auto executable = std::make_shared<Executable>(group ? std::move(group) : default_group(), std::move(requests),
                                                 std::move(responses), std::move(handler));
  return Service<S>(add(executable), absolute(name));
}

template <class S>
Client<S> Node::client(const std::string& name) {
  return Client<S>(make_client(name, message::type_of<typename S::Request>(), message::type_of<typename S::Response>()),
                   nullptr);
}

template <class S, class F>
Client<S> Node::client(const std::string& name, F callback, std::shared_ptr<CallbackGroup> group) {
  Client<S> client = this->client<S>(name);
  auto executable = std::make_shared<detail::ClientExecutable<S, F>>(group ? std::move(group) : default_group(),
                                                                     client.core(), std::move(callback));
  return Client<S>(client.core(), add(executable));
}

}  // namespace baton
