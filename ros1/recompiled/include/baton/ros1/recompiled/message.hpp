// SPDX-License-Identifier: Apache-2.0
// What the headers of recompiled ROS 1 programs are made of (ROS-SF 4.2; docs/guides/ros1.md). The generator writes
// `sensor_msgs/Image.h` with ROS 1's names and a struct of the SFM layout; this header connects such a struct with roscpp.
//
//  1. ros::NodeHandle and ros::Publisher stay roscpp's classes, with their whole interface. The linker redirects six
//     functions of the recompiled program to this library (--wrap): NodeHandle::advertise(AdvertiseOptions&),
//     NodeHandle::subscribe(SubscribeOptions&), Publisher::shutdown(), Publisher::getNumSubscribers() and the private
//     Publisher::publish() and SingleSubscriberPublisher::publish(). Every template of roscpp, message_filters and others ends in
//     the first two.
//  2. advertise() makes Baton's end (endpoints.hpp) and then the stock advertisement: in this order roscpp reports new
//     subscribers. The end lives in the connect callback of the advertisement, so it ends with the last ros::Publisher.
//  3. Publisher::publish<M> is a member template; each message header specialises it, so it finds Baton's end there. For
//     other classes (pcl::PointCloud, rosbag::MessageInstance and whatever has traits of a message) it stays roscpp's,
//     serializes, and ends in the private publish(): these bytes are decoded into a chunk.
//  4. subscribe() hands roscpp a subscription of Baton, which calls the helper that roscpp's templates made. That serves all
//     signatures of callbacks. A callback that may change its message gets a copy, as with several callbacks in roscpp.
//  5. A message made by `new` or boost::make_shared lies in a chunk of the process's publisher of that type, from its first
//     byte (Allocated). Publishing it by pointer hands the chunk over (Published), and the program may go on reading it;
//     `delete` gives the chunk back (Destructed). Published by reference it is handed over, too, if it is large and the
//     program left the objects before alone: what the program writes into it afterwards stays with the program
//     (memory/own_copy.hpp, node/reference_habit.hpp). Other objects are copied once, when they are published.
//
// Thread rules: as roscpp's; callbacks of one subscription never run at the same time.
#pragma once

#include <ros/assert.h>
#include <ros/builtin_message_traits.h>
#include <ros/duration.h>
#include <ros/message_operations.h>
#include <ros/publisher.h>
#include <ros/serialization.h>
#include <ros/single_subscriber_publisher.h>
#include <ros/time.h>

#include <boost/array.hpp>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "baton/message/type.hpp"
#include "baton/ros1/recompiled/allocator.hpp"
#include "baton/sfm/string.hpp"
#include "baton/sfm/vector.hpp"

namespace baton::ros1::recompiled {

template <class>
inline constexpr bool kNever = false;

/// Names and visits the fields of a message: the generator writes the specialisations.
template <class M>
struct Fields;

/// What the library knows of a message's C++ type.
struct MessageClass {
  const message::Type& type;
  const std::type_info& info;
  void (*copy)(void* to, const void* from);  ///< constructs
  boost::shared_ptr<const void> (*clone)(const void* message);
  ros::SerializedMessage (*serialize)(const void* message);  ///< for TCPROS
};

/// A message is about to be made: memory in a publisher's chunk if this process has a publisher of its type and the
/// publisher has memory, else of the heap. `bytes` differs from the message's size for a class that derives from it.
void* allocate(const MessageClass& message, std::size_t bytes);
void release(void* message) noexcept;

/// Says that the program uses this type, before it advertises or subscribes.
void announce(const MessageClass& message);

/// Publishes by Baton's end of `publisher`, if it has one. `is_shared`: the caller does not change the message any more.
bool hand_over(const ros::Publisher& publisher, const MessageClass& message, const void* object, bool is_shared);

/// The arguments of roscpp's own Publisher::publish, which is private.
struct StockPublish {
  boost::function<ros::SerializedMessage()> serialize;
  ros::SerializedMessage& message;
};
/// The advertisement of a valid ros::Publisher.
struct FindCallbacks {
  ros::SubscriberCallbacksPtr& found;
};

/// The base of every message: where its objects are made.
template <class M>
struct Allocated {
  static void* operator new(std::size_t bytes);
  static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept;
  static void* operator new(std::size_t, void* at) noexcept { return at; }
  static void operator delete(void* message) noexcept { release(message); }
  static void operator delete(void* message, const std::nothrow_t&) noexcept { release(message); }
  static void operator delete(void*, void*) noexcept {}
};

template <class T, class = void>
inline constexpr bool kIsMessage = false;
template <class T>
inline constexpr bool
    kIsMessage<T, std::enable_if_t<std::is_class_v<T> && std::is_base_of_v<Allocated<std::remove_const_t<T>>, T>>> =
        true;

template <class M>
const MessageClass& class_of() {
  static const MessageClass known{
      message::type_of<M>(), typeid(M), [](void* to, const void* from) { ::new (to) M(*static_cast<const M*>(from)); },
      [](const void* message) {
        // ::new: on the heap, also if this process publishes the type.
        return boost::shared_ptr<const void>(boost::shared_ptr<const M>(::new M(*static_cast<const M*>(message))));
      },
      [](const void* message) { return ros::serialization::serializeMessage(*static_cast<const M*>(message)); }};
  return known;
}

template <class M>
void* Allocated<M>::operator new(std::size_t bytes) {
  return allocate(class_of<M>(), bytes);
}
template <class M>
void* Allocated<M>::operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(class_of<M>(), bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// hidden: each library has its own `once`, as it has its own table of types. Else the dynamic linker would make it the process's.
template <class M>
[[gnu::visibility("hidden")]] const char* announced_name() {
  static const bool once = (announce(class_of<M>()), true);
  static_cast<void>(once);
  return message::type_of<M>().name;
}

}  // namespace baton::ros1::recompiled

// --- ros::Publisher ---------------------------------------------------------------------------------------------------
template <>
void ros::Publisher::publish<baton::ros1::recompiled::StockPublish>(
    const baton::ros1::recompiled::StockPublish& call) const;
template <>
void ros::Publisher::publish<baton::ros1::recompiled::FindCallbacks>(
    const baton::ros1::recompiled::FindCallbacks& call) const;

namespace baton::ros1::recompiled {

inline bool is_valid(const ros::Publisher& publisher) {
  const bool valid = publisher;
  ROS_ASSERT_MSG(valid, "Call to publish() on an invalid Publisher");
  return valid;
}

template <class M>
void publish(const ros::Publisher& publisher, const boost::shared_ptr<M>& message) {
  using Message = std::remove_const_t<M>;
  ROS_ASSERT_MSG(message, "Call to publish() with a null message");
  if (!is_valid(publisher) || hand_over(publisher, class_of<Message>(), message.get(), true)) return;
  ros::SerializedMessage out;
  out.type_info = &typeid(Message);
  out.message = message;
  publisher.publish(StockPublish{[&] { return ros::serialization::serializeMessage<Message>(*message); }, out});
}

template <class M>
void publish(const ros::Publisher& publisher, const M& message) {
  if (!is_valid(publisher) || hand_over(publisher, class_of<M>(), &message, false)) return;
  ros::SerializedMessage out;
  publisher.publish(StockPublish{[&] { return ros::serialization::serializeMessage<M>(message); }, out});
}

// --- ROS 1's wire format and text --------------------------------------------------------------------------------------

/// ros::serialization::Serializer of messages.
template <class M>
struct MessageSerializer {
  template <typename Stream>
  static void write(Stream& stream, const M& message) {
    Fields<M>::each(message, [&](const char*, const auto& field) { stream.next(field); });
  }
  template <typename Stream>
  static void read(Stream& stream, M& message) {
    Fields<M>::each(message, [&](const char*, auto& field) { stream.next(field); });
  }
  static std::uint32_t serializedLength(const M& message) {
    ros::serialization::LStream stream;
    write(stream, message);
    return stream.getLength();
  }
};

template <class T>
struct IsArray : std::false_type {};
template <class T, std::uint32_t bound>
struct IsArray<sfm::BasicVector<T, bound>> : std::true_type {};
template <class T, std::size_t n>
struct IsArray<boost::array<T, n>> : std::true_type {};
template <class T>
struct IsArray<std::vector<T>> : std::true_type {};  // of services

/// ros::message_operations::Printer of messages: the text of ROS's generator.
template <class M>
struct MessagePrinter {
  template <typename Stream>
  static void stream(Stream& out, const std::string& indent, const M& message) {
    Fields<M>::each(message, [&](const char* name, const auto& field) { print(out, indent, name, field); });
  }

 private:
  template <class T>
  using PrinterOf = ros::message_operations::Printer<T>;
  template <typename Stream, class Field>
  static void print(Stream& out, const std::string& indent, const char* name, const Field& field) {
    if constexpr (IsArray<Field>::value) {
      using Element = typename Field::value_type;
      out << indent << name << "[]" << std::endl;
      for (std::size_t i = 0; i < field.size(); ++i) {
        out << indent << "  " << name << '[' << i << "]: ";
        if constexpr (kIsMessage<Element>) {
          out << std::endl;
          out << indent;
        }
        PrinterOf<Element>::stream(out, indent + (kIsMessage<Element> ? "    " : "  "), field[i]);
      }
    } else {
      out << indent << name << ": ";
      if constexpr (kIsMessage<Field>) out << std::endl;
      PrinterOf<Field>::stream(out, indent + "  ", field);
    }
  }
};

}  // namespace baton::ros1::recompiled

namespace ros::serialization {

template <std::uint32_t bound>
struct Serializer<baton::sfm::BasicString<bound>> {
  using Text = baton::sfm::BasicString<bound>;
  template <typename Stream>
  static void write(Stream& stream, const Text& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    stream.next(length);
    if (length > 0) std::memcpy(stream.advance(length), text.data(), length);
  }
  template <typename Stream>
  static void read(Stream& stream, Text& text) {
    std::uint32_t length = 0;
    stream.next(length);
    text.assign(reinterpret_cast<const char*>(stream.advance(length)), length);
  }
  static std::uint32_t serializedLength(const Text& text) { return 4 + static_cast<std::uint32_t>(text.size()); }
};

template <class T, std::uint32_t bound>
struct Serializer<baton::sfm::BasicVector<T, bound>> {
  using Array = baton::sfm::BasicVector<T, bound>;
  static constexpr bool kSimple = message_traits::IsSimple<T>::value;

  template <typename Stream>
  static void write(Stream& stream, const Array& array) {
    const auto count = static_cast<std::uint32_t>(array.size());
    stream.next(count);
    if constexpr (kSimple) {
      const std::uint32_t bytes = count * static_cast<std::uint32_t>(sizeof(T));
      if (bytes > 0) std::memcpy(stream.advance(bytes), array.data(), bytes);
    } else {
      for (const T& each : array) stream.next(each);
    }
  }
  template <typename Stream>
  static void read(Stream& stream, Array& array) {
    std::uint32_t count = 0;
    stream.next(count);
    if constexpr (kSimple) {
      // 64 bits, so that a count that lies is too long for advance(); and only then memory for it.
      const std::uint64_t bytes = std::uint64_t{count} * sizeof(T);
      if (bytes > stream.getLength()) throwStreamOverrun();
      const std::uint8_t* const from = stream.advance(static_cast<std::uint32_t>(bytes));
      array.resize_for_overwrite(count);
      if (bytes > 0) std::memcpy(static_cast<void*>(array.data()), from, bytes);
    } else {
      array.clear();
      for (std::uint32_t i = 0; i < count; ++i) stream.next(array.emplace_back());
    }
  }
  static std::uint32_t serializedLength(const Array& array) {
    std::uint32_t bytes = 4;
    if constexpr (kSimple) {
      bytes += static_cast<std::uint32_t>(array.size() * sizeof(T));
    } else {
      for (const T& each : array) bytes += serializationLength(each);
    }
    return bytes;
  }
};

}  // namespace ros::serialization

// --- make_shared: more specialised than boost's and the standard library's own, which put their objects beside the counts ---
namespace boost {

template <class T, class = std::enable_if_t<::baton::ros1::recompiled::kIsMessage<T>>>
shared_ptr<T> make_shared() {
  return shared_ptr<T>(new T());
}
template <class T, class From, class = std::enable_if_t<::baton::ros1::recompiled::kIsMessage<T>>>
shared_ptr<T> make_shared(From&& from) {
  return shared_ptr<T>(new T(std::forward<From>(from)));
}

}  // namespace boost

// NOLINTBEGIN(cert-dcl58-cpp): as ROS-SF does (4.2); a program of ROS 1 has no other place for it.
namespace std {

template <class T, class = enable_if_t<::baton::ros1::recompiled::kIsMessage<T>>>
shared_ptr<T> make_shared() {
  return shared_ptr<T>(new T());
}
template <class T, class From, class = enable_if_t<::baton::ros1::recompiled::kIsMessage<T>>>
shared_ptr<T> make_shared(From&& from) {
  return shared_ptr<T>(new T(std::forward<From>(from)));
}

}  // namespace std
// NOLINTEND(cert-dcl58-cpp)
