// SPDX-License-Identifier: Apache-2.0
// libbaton_roscpp.so: the functions that stand before those of libroscpp and of the C++ runtime. Each does its part and
// calls the original; without libroscpp in the process, or with a build that is not known, only the original.
//
// libroscpp is not linked with -Bsymbolic, so its own calls of these functions come here too: those through the linkage
// table, the addresses in vtables, and the targets of boost::bind.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "arrays.hpp"
#include "baton/os/hot_path.hpp"
#include "buffers.hpp"
#include "links.hpp"
#include "roscpp.hpp"

// At even addresses: the lowest bit of a pointer to a member function says that the function is virtual (Itanium C++ ABI, 2.3), and
// roscpp takes such pointers. The compiler aligns member functions itself, and not these.
#define BATON_INTERPOSE extern "C" __attribute__((visibility("default"), aligned(2)))

// For a function whose result is a class: that is not known to C. The name is given to the linker as text in both cases.
#define BATON_INTERPOSE_VALUE __attribute__((visibility("default"), aligned(2)))

using namespace baton;        // NOLINT: the functions below are at global scope
using namespace baton::ros1;  // NOLINT

namespace {

/// Set while this thread serializes a message of a topic that goes through shared memory.
thread_local const Destination* serializing = nullptr;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// ros::TopicManager::publish(const std::string&, const boost::function<SerializedMessage()>&, SerializedMessage&)
BATON_INTERPOSE void
baton_publish(ros::TopicManager* self, const std::string& topic, const Serialize& serialize, ros::SerializedMessage& message) asm(
    "_ZN3ros12TopicManager7publishERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKN5boost8functionIFNS_"
    "17SerializedMessageEvEEERSB_");
void baton_publish(ros::TopicManager* self, const std::string& topic, const Serialize& serialize,
                   ros::SerializedMessage& message) {
  const Roscpp& roscpp = Roscpp::instance();
  const Destination destination = roscpp.enabled ? Links::instance().destination_of(topic) : Destination();
  if (!destination.writer) return roscpp.publish(self, topic, serialize, message);
  const auto into_chunk = [&]() -> ros::SerializedMessage {
    struct Mark {
      explicit Mark(const Destination& to) : watch(*to.place) { serializing = &to; }
      ~Mark() { serializing = nullptr; }
      ArrayPlace::Watch watch;
    } const mark(destination);
    return serialize();
  };
  roscpp.publish(self, topic, boost::cref(into_chunk), message);
}

// void ros::Connection::writeHeader(const M_string&, const WriteFinishedFunc&)
BATON_INTERPOSE void
baton_write_header(ros::Connection* self, const Headers& headers, const ros::WriteFinishedFunc& done) asm(
    "_ZN3ros10Connection11writeHeaderERKSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES7_St4lessIS7_"
    "ESaISt4pairIKS7_S7_EEERKN5boost8functionIFvRKNSH_10shared_ptrIS0_EEEEE");
void baton_write_header(ros::Connection* self, const Headers& headers, const ros::WriteFinishedFunc& done) {
  const Roscpp& roscpp = Roscpp::instance();
  if (!roscpp.enabled) return roscpp.write_header(self, headers, done);
  Headers completed = headers;
  Links::instance().add_keys(*self, completed);
  roscpp.listen_to_poll_thread([] { Links::instance().look(); });
  roscpp.write_header(self, completed, done);
}

// bool ros::TransportSubscriberLink::handleHeader(const Header&)
BATON_INTERPOSE bool baton_handle_header(ros::TransportSubscriberLink* self, const ros::Header& header) asm(
    "_ZN3ros23TransportSubscriberLink12handleHeaderERKNS_6HeaderE");
bool baton_handle_header(ros::TransportSubscriberLink* self, const ros::Header& header) {
  const Roscpp& roscpp = Roscpp::instance();
  const bool accepted = roscpp.handle_header(self, header);
  if (roscpp.enabled && accepted) Links::instance().link_made(*self->getConnection(), self->shared_from_this());
  return accepted;
}

// void ros::Connection::write(const boost::shared_array<uint8_t>&, uint32_t, const WriteFinishedFunc&, bool)
BATON_INTERPOSE void
baton_write(ros::Connection* self, const boost::shared_array<std::uint8_t>& buffer, std::uint32_t bytes, const ros::WriteFinishedFunc& done, bool immediate) asm(
    "_ZN3ros10Connection5writeERKN5boost12shared_arrayIhEEjRKNS1_8functionIFvRKNS1_10shared_ptrIS0_EEEEEb");
void baton_write(ros::Connection* self, const boost::shared_array<std::uint8_t>& buffer, std::uint32_t bytes,
                 const ros::WriteFinishedFunc& done, bool immediate) {
  const Roscpp& roscpp = Roscpp::instance();
  if (roscpp.enabled) {
    // The message has left the link's outbox, so roscpp will not drop it any more.
    const auto frames = Links::instance().replace(*self, buffer, bytes);
    if (frames) return roscpp.write(self, frames->buffer, frames->bytes, done, immediate);
  }
  roscpp.write(self, buffer, bytes, done, immediate);
}

// ros::Connection::~Connection(), the complete and the base object's
BATON_INTERPOSE void baton_connection_d1(ros::Connection* self) asm("_ZN3ros10ConnectionD1Ev");
BATON_INTERPOSE void baton_connection_d2(ros::Connection* self) asm("_ZN3ros10ConnectionD2Ev");
void baton_connection_d1(ros::Connection* self) {
  const Roscpp& roscpp = Roscpp::instance();
  if (roscpp.enabled) Links::instance().connection_ended(*self);
  roscpp.destroy(self);
}
void baton_connection_d2(ros::Connection* self) { baton_connection_d1(self); }

// bool ros::TransportPublisherLink::onHeaderReceived(const ConnectionPtr&, const Header&)
BATON_INTERPOSE bool
baton_on_header(ros::TransportPublisherLink* self, const ros::ConnectionPtr& connection, const ros::Header& header) asm(
    "_ZN3ros22TransportPublisherLink16onHeaderReceivedERKN5boost10shared_ptrINS_10ConnectionEEERKNS_6HeaderE");
bool baton_on_header(ros::TransportPublisherLink* self, const ros::ConnectionPtr& connection,
                     const ros::Header& header) {
  const Roscpp& roscpp = Roscpp::instance();
  if (roscpp.enabled) {
    const auto values = const_cast<ros::Header&>(header).getValues();
    if (values) Links::instance().header_received(*connection, *values);
  }
  return roscpp.on_header(self, connection, header);
}

// void ros::TransportPublisherLink::handleMessage(const SerializedMessage&, bool, bool)
BATON_INTERPOSE void baton_handle_message(
    ros::TransportPublisherLink* self, const ros::SerializedMessage& message, bool serialized,
    bool nocopy) asm("_ZN3ros22TransportPublisherLink13handleMessageERKNS_17SerializedMessageEbb");
void baton_handle_message(ros::TransportPublisherLink* self, const ros::SerializedMessage& message, bool serialized,
                          bool nocopy) {
  const Roscpp& roscpp = Roscpp::instance();
  if (!roscpp.enabled) return roscpp.handle_message(self, message, serialized, nocopy);
  const ros::ConnectionPtr connection = self->getConnection();  // the drop may end the link
  if (!Links::instance().arrive(*self, message)) {
    // As if the TCP connection had broken: roscpp connects again.
    roscpp.drop(connection.get(), ros::Connection::TransportDisconnect);
  }
}

// ros::VoidConstPtr ros::MessageDeserializer::deserialize()
BATON_INTERPOSE_VALUE ros::VoidConstPtr baton_deserialize(ros::MessageDeserializer* self) asm(
    "_ZN3ros19MessageDeserializer11deserializeEv");
ros::VoidConstPtr baton_deserialize(ros::MessageDeserializer* self) {
  const Roscpp& roscpp = Roscpp::instance();
  if (!roscpp.enabled) return roscpp.deserialize(self);
  const ros::SerializedMessage message = roscpp.serialized_message(*self);  // kept until the end
  if (!message.buf) return roscpp.deserialize(self);
  const Deserialization time(message.buf.get(), roscpp.type_of(*self));
  return roscpp.deserialize(self);
}

// The buffer of ros::serialization::serializeMessage(), which is compiled into the program: its `new uint8_t[n]`. The
// `delete[]` of boost::shared_array is one of baton_heap_functions.
__attribute__((visibility("default"))) void* operator new[](std::size_t bytes) {
  if (serializing != nullptr && bytes >= kWorthwhileBytes) {
    const Destination& destination = *serializing;
    serializing = nullptr;  // the first buffer is the message; what the transport allocates is not
    if (std::uint8_t* const buffer = Buffers::instance().make(destination.writer, bytes, destination.place->shift())) {
      ArrayPlace::Watch::current()->buffer(buffer, bytes);
      return buffer;
    }
  }
  static const auto original = next<void*(std::size_t)>("_Znam");
  return original(bytes);
}

// The arrays of a message that is being deserialized.
__attribute__((visibility("default"))) void* operator new(std::size_t bytes) {
  static const auto original = next<void*(std::size_t)>("_Znwm");
  if (baton::likely(bytes < kLargeArray)) return original(bytes);
  Deserialization* const time = Deserialization::current();
  if (time == nullptr) return original(bytes);
  const void* const caller = __builtin_return_address(0);
  if (void* const address = time->allocate(bytes, caller)) return address;
  void* const address = original(bytes);
  time->allocated(address, bytes, caller);
  return address;
}

// The two functions that fill arrays. For smaller blocks they cost one compare more. They continue with the C library's
// functions of the same purpose, which have other names and so need no look-up.
BATON_INTERPOSE void* memcpy(void* to, const void* from, std::size_t bytes) {
  if (baton::unlikely(bytes >= kLargeArray)) {
    if (ArrayPlace::Watch* const watch = ArrayPlace::Watch::current()) watch->copied(to, bytes);
    Deserialization* const time = Deserialization::current();
    if (time != nullptr && time->copied(to, from, bytes)) return to;
  }
  return ::memmove(to, from, bytes);
}

extern "C" void* __memset_chk(void* to, int byte, std::size_t bytes, std::size_t room);

BATON_INTERPOSE void* memset(void* to, int byte, std::size_t bytes) {
  // The first element of an array is stored without memset.
  if (baton::unlikely(bytes >= kLargeArray - sizeof(double) && byte == 0)) {
    Deserialization* const time = Deserialization::current();
    if (time != nullptr && time->zeroed(to, bytes)) return to;
  }
  return __memset_chk(to, byte, bytes, SIZE_MAX);
}
