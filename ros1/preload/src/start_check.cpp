// SPDX-License-Identifier: Apache-2.0
#include "start_check.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>

#include <ros/connection.h>
#include <ros/subscription_callback_helper.h>

#include "private_members.hpp"

namespace baton::ros1 {
namespace {

/// What libroscpp has to call by name, so that the calls come to interpose.cpp.
constexpr const char* kCalledByName[] = {
    "_ZN3ros10Connection11writeHeaderERKSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES7_St4lessIS7_"
    "ESaISt4pairIKS7_S7_EEERKN5boost8functionIFvRKNSH_10shared_ptrIS0_EEEEE",
    "_ZN3ros10Connection5writeERKN5boost12shared_arrayIhEEjRKNS1_8functionIFvRKNS1_10shared_ptrIS0_EEEEEb",
    "_ZN3ros10ConnectionD1Ev",
    "_ZN3ros19MessageDeserializer11deserializeEv",
    "_ZN3ros22TransportPublisherLink16onHeaderReceivedERKN5boost10shared_ptrINS_10ConnectionEEERKNS_6HeaderE",
    "_ZN3ros22TransportPublisherLink13handleMessageERKNS_17SerializedMessageEbb",
    "_ZN3ros12TopicManager7publishERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKN5boost8functionIFNS_"
    "17SerializedMessageEvEEERSB_",
    "_ZN3ros23TransportSubscriberLink12handleHeaderERKNS_6HeaderE",
};

/// The dynamic section of a loaded object (elf(5)).
struct Dynamic {
  std::uintptr_t base = 0;
  const ElfW(Dyn) * entries = nullptr;

  std::uintptr_t value(ElfW(Sxword) tag) const {
    for (const auto* entry = entries; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == tag) return entry->d_un.d_ptr;
    }
    return 0;
  }
  /// Of an address, which the dynamic linker may have made absolute.
  template <class T>
  const T* at(ElfW(Sxword) tag) const {
    const std::uintptr_t found = value(tag);
    if (found == 0) return nullptr;
    return reinterpret_cast<const T*>(found < base ? base + found : found);
  }
};

Dynamic dynamic_of(const std::string& path) {
  struct Search {
    const std::string& path;
    Dynamic found;
  } search{path, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto& looked = *static_cast<Search*>(out);
        if (info->dlpi_name == nullptr || looked.path != info->dlpi_name) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
          looked.found.base = info->dlpi_addr;
          looked.found.entries = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
        return 1;
      },
      &search);
  return search.found;
}

std::string why_calls_pass_by(const Dynamic& dynamic) {
  const auto* const symbols = dynamic.at<ElfW(Sym)>(DT_SYMTAB);
  const auto* const names = dynamic.at<char>(DT_STRTAB);
  if (symbols == nullptr || names == nullptr) return "it has no table of symbols";
  if (dynamic.value(DT_SYMBOLIC) != 0 || (dynamic.value(DT_FLAGS) & DF_SYMBOLIC) != 0) {
    return "it was linked with -Bsymbolic, so its own calls do not come to Baton";
  }
  std::array<bool, std::size(kCalledByName)> called{};
  const auto look = [&](const ElfW(Rela) * table, std::size_t bytes) {
    for (std::size_t i = 0; table != nullptr && i < bytes / sizeof *table; ++i) {
      const auto symbol = sizeof(void*) == 8 ? table[i].r_info >> 32 : table[i].r_info >> 8;
      const std::string_view name = names + symbols[symbol].st_name;
      const auto* const found = std::find(std::begin(kCalledByName), std::end(kCalledByName), name);
      if (found != std::end(kCalledByName)) called[static_cast<std::size_t>(found - kCalledByName)] = true;
    }
  };
  look(dynamic.at<ElfW(Rela)>(DT_RELA), dynamic.value(DT_RELASZ));
  if (dynamic.value(DT_PLTREL) == DT_RELA) look(dynamic.at<ElfW(Rela)>(DT_JMPREL), dynamic.value(DT_PLTRELSZ));
  const auto* const missing = std::find(called.begin(), called.end(), false);
  if (missing == called.end()) return {};
  return std::string("it does not call ") + kCalledByName[missing - called.begin()] + " by name";
}

/// Room for a T of the library, filled with a pattern. The T is not destroyed: some of roscpp's destructors need what is not there.
template <class T>
class Room {
 public:
  static constexpr std::size_t kBehind = 512;
  Room() : bytes_(static_cast<std::byte*>(::operator new(sizeof(T) + kBehind, std::align_val_t(alignof(T))))) {
    std::memset(bytes_, kPattern, sizeof(T) + kBehind);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  T* at() { return reinterpret_cast<T*>(bytes_); }
  /// The library's class is larger than the headers'.
  bool is_overrun() const { return !is_untouched(bytes_ + sizeof(T), kBehind); }
  static bool is_untouched(const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::uint8_t*>(from);
    return std::all_of(begin, begin + bytes, [](std::uint8_t byte) { return byte == kPattern; });
  }

 private:
  static constexpr std::uint8_t kPattern = 0xA5;
  std::byte* const bytes_;  // kept: a few hundred bytes, once
};

struct EchoHelper final : ros::SubscriptionCallbackHelper {
  ros::VoidConstPtr deserialize(const ros::SubscriptionCallbackHelperDeserializeParams& params) override {
    buffer = params.buffer;
    length = params.length;
    return ros::VoidConstPtr(this, [](const void*) {});
  }
  void call(ros::SubscriptionCallbackHelperCallParams&) override {}
  const std::type_info& getTypeInfo() override { return typeid(EchoHelper); }
  bool isConst() override { return true; }
  bool hasHeader() override { return false; }
  const std::uint8_t* buffer = nullptr;
  std::uint32_t length = 0;
};

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

std::string why_deserializers_differ(void* library) {
  using Make = void(ros::MessageDeserializer*, const ros::SubscriptionCallbackHelperPtr&, const ros::SerializedMessage&,
                    const boost::shared_ptr<ros::M_string>&);
  auto* const make =
      find<Make>(library,
                 "_ZN3ros19MessageDeserializerC1ERKN5boost10shared_ptrINS_26SubscriptionCallbackHelperEEERKNS_"
                 "17SerializedMessageERKNS2_ISt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESG_St4lessISG_"
                 "ESaISt4pairIKSG_SG_EEEEE");
  using Deserialize = ros::VoidConstPtr(ros::MessageDeserializer*);
  auto* const deserialize = find<Deserialize>(library, "_ZN3ros19MessageDeserializer11deserializeEv");
  const std::string differs = "ros::MessageDeserializer differs";
  if (make == nullptr || deserialize == nullptr) return differs;
  static EchoHelper helper;
  const ros::SubscriptionCallbackHelperPtr kept(&helper, [](ros::SubscriptionCallbackHelper*) {});
  ros::SerializedMessage message(boost::shared_array<std::uint8_t>(new std::uint8_t[8]), 8);
  message.message_start = message.buf.get() + 4;
  Room<ros::MessageDeserializer> room;
  make(room.at(), kept, message, boost::shared_ptr<ros::M_string>());
  ros::MessageDeserializer& made = *room.at();
  using Helped = Room<ros::MessageDeserializer>;
  const auto& own_helper = made.*member_of(Helper{});
  const auto& own_message = made.*member_of(Serialized{});
  auto& mutex = made.*member_of(DeserializerMutex{});
  // By their bytes first: what is not there must not be used.
  if (room.is_overrun() || Helped::is_untouched(&own_helper, sizeof own_helper) ||
      Helped::is_untouched(&own_message, sizeof own_message) || Helped::is_untouched(&mutex, sizeof mutex)) {
    return differs;
  }
  if (own_helper.get() != kept.get() || own_message.buf.get() != message.buf.get() ||
      own_message.num_bytes != message.num_bytes || own_message.message_start != message.message_start) {
    return differs;
  }
  const ros::VoidConstPtr done = deserialize(&made);
  if (done.get() != &helper || helper.buffer != message.message_start || helper.length != 4) return differs;
  if (!mutex.try_lock()) return differs;
  mutex.unlock();
  return {};
}

std::string why_links_differ(void* library) {
  using Make = void(ros::TransportSubscriberLink*);
  auto* const make = find<Make>(library, "_ZN3ros23TransportSubscriberLinkC1Ev");
  Room<ros::TransportSubscriberLink> room;
  using Linked = Room<ros::TransportSubscriberLink>;
  if (make != nullptr) make(room.at());
  const auto& outbox = room.at()->*member_of(Outbox{});
  auto& mutex = room.at()->*member_of(OutboxMutex{});
  if (make == nullptr || room.is_overrun() || Linked::is_untouched(&outbox, sizeof(void*)) ||
      Linked::is_untouched(&mutex, sizeof mutex) || !outbox.empty() || !mutex.try_lock()) {
    return "ros::TransportSubscriberLink differs";
  }
  mutex.unlock();
  if (room.at()->getConnection()) return "ros::TransportSubscriberLink differs";
  return {};
}

std::string why_connections_differ(void* library) {
  using Make = void(ros::Connection*);
  auto* const make = find<Make>(library, "_ZN3ros10ConnectionC1Ev");
  Room<ros::Connection> room;
  if (make != nullptr) make(room.at());
  const ros::Header& header = room.at()->getHeader();
  if (make == nullptr || room.is_overrun() || Room<ros::Connection>::is_untouched(&header, sizeof header) ||
      !room.at()->getHeader().getValues() || !room.at()->getHeader().getValues()->empty()) {
    return "ros::Connection differs";
  }
  return {};
}

}  // namespace

std::string why_unusable(void* library, const std::string& path) {
  std::string why = why_calls_pass_by(dynamic_of(path));
  if (why.empty()) why = why_connections_differ(library);
  if (why.empty()) why = why_links_differ(library);
  if (why.empty()) why = why_deserializers_differ(library);
  return why;
}

}  // namespace baton::ros1
