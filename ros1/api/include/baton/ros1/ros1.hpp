// SPDX-License-Identifier: Apache-2.0
// TZC's usage pattern on stock roscpp (TZC Fig. 6): a program advertises and subscribes types of Baton, and changes
// little else. Messages between processes of one machine stay in the publisher's memory; stock nodes on the same topic
// get them as always. docs/guides/ros1.md.
//
// Thread rules: all functions are thread-safe; callbacks of one subscription never run at the same time.
#pragma once

#include <ros/node_handle.h>
#include <ros/serialization.h>
#include <ros/transport_hints.h>

#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/message/builder.hpp"
#include "baton/message/ros1_codec.hpp"
#include "baton/node/node.hpp"
#include "baton/os/lock.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/stock.hpp"

namespace boost::_bi {
template <class R, class F, class L>
class bind_t;  // <boost/bind/bind.hpp>, which the programs that use it include
}  // namespace boost::_bi

namespace baton::ros1 {
namespace detail {

/// Throws type_mismatch if the types differ where StockOf cannot see it: by a field that only the stock type has.
template <class T>
StockType stock_type() {
  using Stock = typename StockOf<T>::type;
  const message::Type& type = message::type_of<T>();
  alignas(8) const T empty{};  // as messages begin, also those of a type with a smaller alignment
  const auto own_bytes = message::Ros1Codec::compile(type).or_throw().encoded_size({&empty, sizeof(T)}).or_throw();
  if (own_bytes != ros::serialization::serializationLength(Stock())) {
    throw Exception(Error{Errc::type_mismatch, std::string(type.name) +
                                                   ": ROS 1's headers of this program have other fields; generate "
                                                   "Baton's headers from the same .msg files (SEARCH)"});
  }
  return {ros::message_traits::datatype<Stock>(), ros::message_traits::md5sum<Stock>(),
          ros::message_traits::definition<Stock>()};
}

/// ROS 1's queue size 0 means a queue without a bound; a queue of Baton has one.
inline constexpr std::uint32_t kLongestQueue = 1000;
/// Messages whose handles are still on their way to roscpp's queue.
inline constexpr std::uint32_t kHandlesOnTheWay = 64;
inline std::uint32_t depth_of(std::uint32_t queue_size, Mode mode = Mode::kLotros) {
  return (queue_size == 0 ? kLongestQueue : queue_size) + (mode == Mode::kTzc ? kHandlesOnTheWay : 0);
}

/// Turns messages of stock publishers into objects of T, which live in a memory of their own. Thread-safe: in mode tzc bytes
/// come from two of roscpp's queues.
template <class T>
class Decoder {
 public:
  Decoder(std::shared_ptr<baton::Node> node, std::string topic)
      : node_(std::move(node)),
        topic_(std::move(topic)),
        codec_(message::Ros1Codec::compile(message::type_of<T>()).or_throw()) {}

  std::shared_ptr<const T> operator()(message::Bytes wire) {
    auto loan = std::make_shared<Loan<T>>(memory().loan());
    message::LoanBuilder builder(loan->get());
    codec_.decode(wire, builder).or_throw();
    const T* message = loan->get();
    return std::shared_ptr<const T>(std::move(loan), message);
  }

 private:
  /// Made at the first message: most subscriptions have no stock publisher.
  baton::Publisher<T> memory() {
    const os::Lock lock(mutex_);
    if (!memory_) {
      memory_ =
          baton::Publisher<T>(make_publisher_for_ros(*node_, topic_ + "/_received", message::type_of<T>(), QoS(1)));
    }
    return memory_;
  }

  const std::shared_ptr<baton::Node> node_;
  const std::string topic_;
  const message::Ros1Codec codec_;
  os::Mutex mutex_;
  baton::Publisher<T> memory_ BATON_GUARDED_BY(mutex_);
};

/// What boost::bind makes. Its call operator takes anything, and says no when it is compiled; so the argument becomes whatever the
/// bound function takes.
template <class F>
inline constexpr bool kIsBoostBind = false;
template <class R, class F, class L>
inline constexpr bool kIsBoostBind<boost::_bi::bind_t<R, F, L>> = true;

template <class T>
class AnySignature {
 public:
  explicit AnySignature(const std::shared_ptr<const T>& message)
      : message_(message), boosted_(message.get(), [message](const T*) {}) {}
  operator const std::shared_ptr<const T>&() const { return message_; }    // NOLINT: implicit
  operator const boost::shared_ptr<const T>&() const { return boosted_; }  // NOLINT
  operator const T&() const { return *message_; }                          // NOLINT

 private:
  const std::shared_ptr<const T>& message_;
  const boost::shared_ptr<const T> boosted_;
};

/// Calls `callback` with the supported signature that it has.
template <class T, class F>
void call_with(F& callback, const std::shared_ptr<const T>& message) {
  if constexpr (kIsBoostBind<F>) {
    const AnySignature<T> any(message);
    callback(any);
  } else if constexpr (std::is_invocable_v<F&, const std::shared_ptr<const T>&>) {
    callback(message);
  } else if constexpr (std::is_invocable_v<F&, const boost::shared_ptr<const T>&>) {
    callback(boost::shared_ptr<const T>(message.get(), [message](const T*) {}));
  } else {
    static_assert(
        std::is_invocable_v<F&, const T&>,
        "a subscription's callback takes one of: const T::ConstPtr&, const boost::shared_ptr<const T>&, const "
        "T&. Received messages are read-only");
    callback(*message);
  }
}

}  // namespace detail

struct AdvertiseOptions {
  bool latch = false;          ///< as roscpp's: late subscribers get the last message
  Mode mode = default_mode();  ///< kTzc: sends handles to the subscriptions that want them
  /// Called from the handle's callback queue after getNumSubscribers() has changed, one call at a time: for programs that
  /// work only while somebody listens. In the place of roscpp's two callbacks.
  std::function<void()> subscribers_changed;
  baton::PublisherOptions memory;  ///< how the publisher's shared memory is made, and its policy when it is short
};

struct SubscribeOptions {
  std::uint32_t held = 8;      ///< messages of each publisher that callbacks may keep (QoS::held)
  Mode mode = default_mode();  ///< kTzc: wants handles. Publishers that send none are heard as in kLotros
  ros::TransportHints hints;   ///< for links to stock publishers; messages of Baton take no socket
  /// Messages of Baton call back in a thread of the subscription, and not through the callback queue: one wake-up of a
  /// thread less. Then callbacks come without ros::spin(), and beside callbacks of other subscriptions, as with an
  /// AsyncSpinner; those of this subscription still one at a time. Not in mode tzc, whose handles come through roscpp's
  /// queue: subscribe() throws invalid_argument.
  bool own_thread = false;
};

/// Publishes messages of type T to subscriptions of Baton and, as serialized messages, to stock ones. Copies refer to
/// the same endpoint, which ends with the last one. An empty Publisher throws invalid_argument.
template <class T>
class Publisher {
 public:
  Publisher() = default;
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// A new message in shared memory. Throws limit_reached or out_of_memory when the policy found no memory.
  Loan<T> loan() { return state().own.loan(); }
  /// The same, for programs that handle a failed allocation (TZC Fig. 6, line 6).
  Result<Loan<T>> try_loan() { return state().own.try_loan(); }

  /// Hands the loan over, without a copy; it is empty afterwards. While stock subscribers exist, the message is also
  /// serialized once for them. Header's `seq` is numbered as by roscpp.
  void publish(Loan<T>&& loan) {
    State& state = this->state();
    T& message = *loan;
    state.side.publish(&message, loan.capacity_bytes(), [&] {
      transport::PublishInfo info;
      return state.side.mark(info) ? state.own.publish(std::move(loan), info) : state.own.publish(std::move(loan));
    });
  }
  /// A message for which loan() found no memory, as roscpp serializes it (ros::serialization::serializeMessage): goes by TCPROS to all
  /// that have a link of ROS 1, in its place among the others. Baton's own nodes and ROS 2 nodes lose it. Numbered as by publish().
  void publish_by_tcp(const ros::SerializedMessage& message) { state().side.publish_bytes(message); }
  /// A message that was built elsewhere: one copy.
  void publish(const T& message) {
    Loan<T> copy = loan();
    *copy = message;
    publish(std::move(copy));
  }
  template <class Pointer,
            class = std::enable_if_t<std::is_same_v<std::remove_const_t<typename Pointer::element_type>, T>>>
  void publish(const Pointer& message) {
    publish(static_cast<const T&>(baton::detail::not_empty(message, "message pointer")));
  }

  template <class Lent, class = std::enable_if_t<std::is_same_v<Lent, Loan<T>>>, class = void>
  void publish(const Lent&) {
    static_assert(baton::detail::kNever<Lent>,
                  "a loan is handed over: write publish(std::move(loan)); publish(*loan) publishes a copy");
  }

  /// Subscriptions of Baton, and processes of subscribers in mode tzc and of stock subscribers.
  std::uint32_t getNumSubscribers() const {
    const detail::PublisherSide::Subscribers all = subscribers();
    return all.own + all.handles + all.serialized;
  }
  /// The same by kind.
  detail::PublisherSide::Subscribers subscribers() const { return state().side.subscribers(); }
  const std::string& getTopic() const { return state().own.topic(); }
  /// Baton's side: counters, statuses, memory.
  const baton::Publisher<T>& own() const { return state().own; }
  void shutdown() { state_.reset(); }

 private:
  template <class U>
  friend Publisher<U> advertise(ros::NodeHandle&, const std::string&, std::uint32_t, const AdvertiseOptions&);
  struct State {
    State(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, const AdvertiseOptions& options)
        : node(ros1::node()),
          announced(detail::announce_publisher(*node, topic, options.mode)),
          core(node->make_publisher(topic, message::type_of<T>(), qos(queue_size, options), options.memory)),
          own(core),
          side(handle, topic, queue_size, options.latch, options.mode, detail::stock_type<T>(), message::type_of<T>(),
               node, core->writer()) {
      if (options.subscribers_changed) side.watch_subscribers(options.subscribers_changed);
    }
    static QoS qos(std::uint32_t queue_size, const AdvertiseOptions& options) {
      return options.latch ? QoS(1).transient_local() : QoS(detail::depth_of(queue_size));
    }
    std::shared_ptr<baton::Node> node;
    std::shared_ptr<transport::Reader> announced;
    std::shared_ptr<baton::detail::PublisherCore> core;
    baton::Publisher<T> own;
    detail::PublisherSide side;
  };
  State& state() const { return baton::detail::not_empty(state_, "publisher"); }

  std::shared_ptr<State> state_;
};

/// Receives messages of type T from publishers of Baton and from stock ones. Copies refer to the same endpoint, whose
/// callback is called as long as one copy lives.
template <class T>
class Subscriber {
 public:
  Subscriber() = default;
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Publishers of Baton and stock ones.
  std::uint32_t getNumPublishers() const { return state().side.publishers(); }
  const std::string& getTopic() const { return state().topic; }
  /// Baton's side.
  Statuses statuses() const { return state().reader->statuses(); }
  /// In mode tzc.
  HandleCounters handles() const { return state().side.handles(); }
  void shutdown() { state_.reset(); }

 private:
  template <class U, class F>
  friend Subscriber<U> subscribe(ros::NodeHandle&, const std::string&, std::uint32_t, F, const SubscribeOptions&);
  struct State {
    template <class F>
    State(ros::NodeHandle& handle, const std::string& name, std::uint32_t queue_size, F callback,
          const SubscribeOptions& options)
        : topic(handle.resolveName(name)),
          node(ros1::node()),
          reader(
              detail::make_reader_for_ros(*node, topic, message::type_of<T>(), queue_size, options.mode, options.held)),
          side(handle, topic, queue_size, options.mode, options.hints, detail::stock_type<T>(), node, reader,
               callbacks(std::make_shared<F>(std::move(callback)), std::make_shared<detail::Decoder<T>>(node, topic)),
               options.own_thread) {}

    template <class F>
    static detail::SubscriberSide::Callbacks callbacks(const std::shared_ptr<F>& callback,
                                                       const std::shared_ptr<detail::Decoder<T>>& decoder) {
      return {[callback](transport::TakenSample&& taken) {
                detail::call_with<T>(*callback, Sample<T>(std::move(taken)).share());
              },
              [decoder](message::Bytes wire) { return std::shared_ptr<const void>((*decoder)(wire)); },
              [callback](const std::shared_ptr<const void>& decoded) {
                detail::call_with<T>(*callback, std::static_pointer_cast<const T>(decoded));
              },
              &typeid(T)};
    }

    const std::string topic;
    std::shared_ptr<baton::Node> node;
    std::shared_ptr<transport::Reader> reader;
    detail::SubscriberSide side;
  };
  State& state() const { return baton::detail::not_empty(state_, "subscriber"); }

  std::shared_ptr<State> state_;
};

/// A publisher of T on `topic`, resolved and renamed by roscpp's rules. `queue_size` bounds the messages that wait for
/// one subscriber. Throws what node() throws, and roscpp's exceptions for bad names.
template <class T>
[[nodiscard]] Publisher<T> advertise(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                                     const AdvertiseOptions& options = {}) {
  Publisher<T> publisher;
  publisher.state_ =
      std::make_shared<typename Publisher<T>::State>(handle, handle.resolveName(topic), queue_size, options);
  return publisher;
}

/// roscpp's `latch`.
template <class T, class Latch, class = std::enable_if_t<std::is_same_v<Latch, bool>>>
Publisher<T> advertise(ros::NodeHandle&, const std::string&, std::uint32_t, Latch) {
  static_assert(baton::detail::kNever<T>,
                "write baton::ros1::AdvertiseOptions options; options.latch = true; and options as the last argument");
  return {};
}

/// Calls `callback` for each message on `topic`, from the callback queue of `handle` (or SubscribeOptions::own_thread). It
/// takes one of const
/// T::ConstPtr&, const boost::shared_ptr<const T>& (both may be kept, up to SubscribeOptions::held), const T&. For what boost::bind
/// makes, name the type: subscribe<Image>(node, "image", 4, boost::bind(&Node::on_image, this, _1)).
template <class T, class F>
[[nodiscard]] Subscriber<T> subscribe(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                                      F callback, const SubscribeOptions& options = {}) {
  Subscriber<T> subscriber;
  subscriber.state_ =
      std::make_shared<typename Subscriber<T>::State>(handle, topic, queue_size, std::move(callback), options);
  return subscriber;
}
/// The same without the type, which the callback's argument says: subscribe(node, "image", 4, on_image).
template <class F, class = std::enable_if_t<!baton::detail::IsMessage<F>::value>>
[[nodiscard]] auto subscribe(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, F callback,
                             const SubscribeOptions& options = {}) {
  using T = typename baton::detail::MessageOf<F>::type;
  static_assert(
      !std::is_void_v<T>,
      "write subscribe<T>(node, topic, queue_size, callback): this callback does not say which message it takes");
  if constexpr (!std::is_void_v<T>)
    return subscribe<T>(handle, topic, queue_size, std::move(callback), options);
  else
    return 0;
}
/// The same with a member function. `object` must outlive the Subscriber.
template <class T, class Member, class Object, class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
[[nodiscard]] Subscriber<T> subscribe(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                                      Member member, Object* object, const SubscribeOptions& options = {}) {
  return subscribe<T>(handle, topic, queue_size, baton::detail::bound(member, object), options);
}
template <class Member, class Object, class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
[[nodiscard]] auto subscribe(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, Member member,
                             Object* object, const SubscribeOptions& options = {}) {
  return subscribe(handle, topic, queue_size, baton::detail::bound(member, object), options);
}

}  // namespace baton::ros1
