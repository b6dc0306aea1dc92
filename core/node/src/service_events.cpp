// SPDX-License-Identifier: Apache-2.0
#include "baton/node/service_events.hpp"

#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <string_view>

#include "baton/memory/arena.hpp"
#include "baton/message/validate.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/shortage.hpp"

namespace baton::detail {
namespace {

/// service_msgs/msg/ServiceEventInfo of ROS 2, after the mapping of types.
constexpr std::string_view kInfo =
    "message service_msgs/ServiceEventInfo\n"
    "uint8 event_type\n"
    "builtin_interfaces/Time stamp\n"
    "uint8[16] client_gid\n"
    "int64 sequence_number\n"
    "message builtin_interfaces/Time\n"
    "int32 sec\n"
    "uint32 nanosec\n";

/// The same as a struct: its size and offsets are the layout's (docs/format/sfm.md).
struct Info {
  std::uint8_t event_type;  // 0 request sent, 1 request received, 2 response sent, 3 response received
  std::int32_t sec;
  std::uint32_t nanosec;
  std::uint8_t client_gid[16];
  std::int64_t sequence_number;
};
static_assert(sizeof(Info) == 40 && offsetof(Info, sec) == 4 && offsetof(Info, sequence_number) == 32);

/// An event's skeleton.
struct Event {
  Info info;
  struct Sequence {
    std::uint32_t length;
    std::int32_t offset;  // from its own address
  } request, response;    // of one element at most
};
static_assert(sizeof(Event) == 56 && sizeof(transport::Gid) == sizeof(Info::client_gid));

constexpr std::size_t kAlignment = 8;  // the largest of a message
constexpr std::string_view kSection = "message ";

/// The sections of a definition, by the names of their types.
void add_sections(std::string_view definition, std::map<std::string, std::string>& out) {
  while (!definition.empty()) {
    std::size_t end = definition.find("\nmessage ");  // no field has this type: "message" is no name of one
    end = end == std::string_view::npos ? definition.size() : end + 1;
    const std::string_view section = definition.substr(0, end);
    out.emplace(section.substr(kSection.size(), section.find('\n') - kSection.size()), section);
    definition.remove_prefix(end);
  }
}

}  // namespace

std::string event_definition(const message::Type& request, const message::Type& response) {
  constexpr std::string_view kHalf = "_Request";
  const std::string name(request.name);
  std::map<std::string, std::string> sections;
  for (const std::string_view each :
       {kInfo, std::string_view(request.definition), std::string_view(response.definition)})
    add_sections(each, sections);
  std::string out = "message " + name.substr(0, name.size() - kHalf.size()) + "_Event\n";
  out += "service_msgs/ServiceEventInfo info\n";
  out += name + "[<=1] request\n" + response.name + "[<=1] response\n";
  for (const auto& [type, section] : sections) out += section;
  return out;
}

void ServiceEvents::configure(ServiceIntrospection what, const message::TypeHash& event_hash) {
  const os::Lock lock(mutex_);
  if (what != ServiceIntrospection::kOff && !writer_) {
    message::Definition definition =
        message::Definition::parse(event_definition(*options_.request, *options_.response), event_hash).or_throw();
    if (definition.type().size != sizeof(Event))
      throw Exception({Errc::malformed_message, std::string(definition.type().name) + " has another layout"});
    writer_ = options_.advertise(definition.type());
    definition_ = std::move(definition);
  }
  // release: pairs with the acquire in is_on(), behind which the publisher is used.
  what_.store(what, std::memory_order_release);
}

void ServiceEvents::received(const transport::TakenSample& message) noexcept {
  if (!is_on()) return;
  transport::Gid client;
  std::memcpy(client.data(), message.header().correlation_client, client.size());
  publish(true, client, message.header().correlation_sequence, message.message(), message.size_bytes());
}

void ServiceEvents::publish(bool received, const transport::Gid& client, std::uint64_t request, const void* message,
                            std::size_t bytes) noexcept {
  try {
    const Result<void> published = try_publish(received, client, request, message, bytes);
    if (!published) options_.on_lost(published.error());
  } catch (const Exception& error) {
    options_.on_lost({error.code(), ""});
  } catch (const std::bad_alloc&) {
    options_.on_lost({Errc::out_of_memory, ""});
  }
}

Result<void> ServiceEvents::try_publish(bool received, const transport::Gid& client, std::uint64_t request,
                                        const void* message, std::size_t bytes) {
  const bool is_response = received != options_.is_server;
  const bool has_contents = what_.load(std::memory_order_relaxed) == ServiceIntrospection::kContents;
  const Result<memory::Chunk> chunk = writer_->loan_sized(sizeof(Event) + (has_contents ? bytes : 0));
  if (!chunk) return chunk.error();
  struct Loan {  // goes back unless it is published
    transport::Writer& writer;
    const memory::Chunk* chunk;
    ~Loan() {
      if (chunk != nullptr) writer.abandon(*chunk);
    }
  } loan{*writer_, &*chunk};
  auto* const event = new (chunk->message()) Event{};
  const std::int64_t now_ns = os::realtime_ns();
  constexpr std::int64_t kSecond = 1'000'000'000;
  event->info.event_type = static_cast<std::uint8_t>((is_response ? 2 : 0) + (received ? 1 : 0));
  event->info.sec = static_cast<std::int32_t>(now_ns / kSecond);
  event->info.nanosec = static_cast<std::uint32_t>(now_ns % kSecond);
  std::memcpy(event->info.client_gid, client.data(), client.size());
  event->info.sequence_number = static_cast<std::int64_t>(request);
  if (has_contents) {
    // A message refers to its own contents by offsets from its words, so its bytes are the sequence's only element wherever they lie.
    Event::Sequence& to = is_response ? event->response : event->request;
    void* const content = memory::content_allocate(&to, bytes, kAlignment);
    std::memcpy(content, message, bytes);
    // The peer can have changed its message since the check of the original. What is published as this process's own is the copy, which only
    // this process can write: subscriptions end the connection of a publisher whose message is malformed.
    const message::Type& type = is_response ? *options_.response : *options_.request;
    if (Result<void> valid =
            message::validate(type, static_cast<const std::byte*>(content), static_cast<std::uint32_t>(bytes));
        !valid)
      return valid;
    to.length = 1;
    to.offset = static_cast<std::int32_t>(static_cast<const std::byte*>(content) -
                                          reinterpret_cast<const std::byte*>(&to.offset));
  }
  const Result<std::uint64_t> published = writer_->publish(*chunk);
  if (!published) return published.error();
  loan.chunk = nullptr;
  return {};
}

}  // namespace baton::detail
