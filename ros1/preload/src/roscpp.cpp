// SPDX-License-Identifier: Apache-2.0
#include "roscpp.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <queue>
#include <string_view>
#include <typeinfo>

#include <ros/subscription_callback_helper.h>

#include "baton/os/environment.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/line_budget.hpp"
#include "private_members.hpp"
#include "start_check.hpp"

namespace baton::ros1 {
namespace {

// The layouts of roscpp's classes are read from its headers, and which of its calls go through the linkage tables depends on
// how it was built. So a build is used only after the tests in ros1/tests passed with it.
struct Build {
  std::string_view id;
  const char* name;
};
constexpr std::array kBuilds = {
    Build{"4e445c4f19d50ba254fea0065b4ddf3fc351436f", "Debian 12, libroscpp4d 1.15.15+ds-2, amd64"},
};

struct Library {
  std::string path, build_id;
};

/// The build ID of a loaded object (elf(5), NT_GNU_BUILD_ID), in hexadecimal digits.
std::string build_id_of(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const content = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        return os::hexadecimal(reinterpret_cast<const std::uint8_t*>(content), note.n_descsz);
      }
      at = content + padded(note.n_descsz);
    }
  }
  return {};
}

Library find_library() {
  Library found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        if (path.find("/libroscpp.so") == std::string_view::npos) return 0;
        *static_cast<Library*>(out) = {std::string(path), build_id_of(*info)};
        return 1;
      },
      &found);
  return found;
}

template <class Function>
bool find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(::dlsym(library, name));
  return *function != nullptr;
}

Roscpp look_up() {
  Roscpp out;
  const Library library = find_library();
  // By its handle: a library that was loaded with RTLD_LOCAL is not behind RTLD_NEXT.
  void* const handle = library.path.empty() ? RTLD_NEXT : ::dlopen(library.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  const bool complete =
      find(
          handle,
          "_ZN3ros10Connection11writeHeaderERKSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES7_St4lessIS7_"
          "ESaISt4pairIKS7_S7_EEERKN5boost8functionIFvRKNSH_10shared_ptrIS0_EEEEE",
          &out.write_header) &
      find(handle,
           "_ZN3ros10Connection5writeERKN5boost12shared_arrayIhEEjRKNS1_8functionIFvRKNS1_10shared_ptrIS0_EEEEEb",
           &out.write) &
      find(handle, "_ZN3ros10Connection4dropENS0_10DropReasonE", &out.drop) &
      find(handle, "_ZN3ros19MessageDeserializer11deserializeEv", &out.deserialize) &
      find(handle, "_ZN3ros10ConnectionD1Ev", &out.destroy) &
      find(handle,
           "_ZN3ros22TransportPublisherLink16onHeaderReceivedERKN5boost10shared_ptrINS_10ConnectionEEERKNS_6HeaderE",
           &out.on_header) &
      find(handle, "_ZN3ros22TransportPublisherLink13handleMessageERKNS_17SerializedMessageEbb", &out.handle_message) &
      find(handle,
           "_ZN3ros12TopicManager7publishERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKN5boost8functionIFNS_"
           "17SerializedMessageEvEEERSB_",
           &out.publish) &
      find(handle, "_ZN3ros6master6getURIB5cxx11Ev", &out.master_uri) &
      find(handle, "_ZN3ros23TransportSubscriberLink12handleHeaderERKNS_6HeaderE", &out.handle_header) &
      find(handle, "_ZN3ros10Connection9isDroppedEv", &out.is_dropped) &
      find(handle, "_ZN3ros23TransportSubscriberLink17startMessageWriteEb", &out.start_write) &
      find(handle, "_ZN3ros11PollManager8instanceEv", &out.poll_manager) &
      find(handle, "_ZN3ros11PollManager21addPollThreadListenerERKN5boost8functionIFvvEEE", &out.add_listener) &
      find(handle, "_ZN3ros7PollSet6signalEv", &out.signal);
  const char* const setting = os::environment("BATON_ROS1");
  if (setting != nullptr && std::string_view(setting) == "0") return out;
  const auto known =
      std::find_if(kBuilds.begin(), kBuilds.end(), [&](const Build& build) { return build.id == library.build_id; });
  out.enabled = complete && known != kBuilds.end();
  if (out.enabled) return out;
  const std::string build = (library.path.empty() ? "libroscpp.so" : library.path) + " (build " +
                            (library.build_id.empty() ? "unknown" : library.build_id) + ")";
  const std::string untried = " is not a build that libbaton_roscpp.so was tried with";
  const char* const tries = os::environment("BATON_ROS1_TRY");
  if (tries == nullptr || std::string_view(tries) != "1") {
    say(Errc::unsupported,
        "messages go by TCPROS as without Baton: " + build + untried +
            " (docs/guides/ros1.md has the list); with BATON_ROS1_TRY=1 it is tested at the start of each program");
    return out;
  }
  const std::string why = !complete ? "functions are missing" : why_unusable(handle, library.path);
  out.enabled = why.empty();
  say(Errc::unsupported,
      out.enabled
          ? build + untried + "; it passed the test at the start and is used, because BATON_ROS1_TRY is set"
          : "messages go by TCPROS as without Baton: " + build + untried + ", and fails the test at the start: " + why);
  return out;
}

}  // namespace

const Roscpp& Roscpp::instance() {
  static const Roscpp* const roscpp = new Roscpp(look_up());  // never destroyed: links end after static objects
  return *roscpp;
}

void Roscpp::listen_to_poll_thread(void (*listener)()) const {
  static std::mutex mutex;
  static auto* const listening = new boost::signals2::connection;  // never destroyed, as the links
  const std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  // ros::shutdown() ends all such connections, and a program may call ros::start() again.
  if (lock && !listening->connected()) {
    *listening = add_listener(poll_manager().get(), listener);
  }
}

void Roscpp::poll_soon() const { signal(&poll_manager()->getPollSet()); }

ros::SerializedMessage Roscpp::serialized_message(ros::MessageDeserializer& deserializer) const {
  const boost::mutex::scoped_lock lock(deserializer.*member_of(DeserializerMutex{}));
  return deserializer.*member_of(Serialized{});
}

const char* Roscpp::type_of(ros::MessageDeserializer& deserializer) const {
  return (deserializer.*member_of(Helper{}))->getTypeInfo().name();
}

// roscpp has no function that adds to a link's outbox without dropping from it.
void Roscpp::write_if_idle(ros::TransportSubscriberLink& link, const boost::shared_array<std::uint8_t>& buffer,
                           std::uint32_t bytes) const {
  {
    const boost::mutex::scoped_lock lock(link.*member_of(OutboxMutex{}));
    std::queue<ros::SerializedMessage>& outbox = link.*member_of(Outbox{});
    if (!outbox.empty()) return;
    outbox.push(ros::SerializedMessage(buffer, bytes));
  }
  start_write(&link, false);
}

void say(Errc kind, const std::string& text) {
  static os::LineBudget budget;
  if (const auto line = budget.admit(os::Allowance::Clock::now(), kind))
    std::fprintf(stderr, "baton: %s\n", line->of(text).c_str());
}

}  // namespace baton::ros1
