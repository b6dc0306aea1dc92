// SPDX-License-Identifier: Apache-2.0
// The file link.state (docs/format/link-state.md): its text, and its reader's way to it.
#include <algorithm>

#include "baton/link/state.hpp"
#include "baton/os/directory.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/printable.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "leader_lock.hpp"

namespace baton::link {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

/// One line: a word, and fields behind it, each behind a tab.
class StateLine {
 public:
  explicit StateLine(const char* kind) : text_(kind) {}
  StateLine& text(const char* name, const std::string& value) {
    if (value.empty()) return *this;
    begin(name);
    text_ += os::without_controls(value);  // a tab or a newline would be the format's own
    return *this;
  }
  template <class T>
  StateLine& number(const char* name, T value) {
    begin(name);
    text_ += std::to_string(value);
    return *this;
  }
  StateLine& id(const char* name, const Gid& value) {
    if (value == Gid{}) return *this;
    begin(name);
    text_ += os::hexadecimal(value);
    return *this;
  }
  std::string end() { return std::move(text_) + "\n"; }

 private:
  void begin(const char* name) { (((text_ += '\t') += name) += '='); }
  std::string text_;
};

const char* name_of(LinkPhase phase) {
  switch (phase) {
    case LinkPhase::kWaiting:
      return "waiting";
    case LinkPhase::kWorking:
      return "working";
    case LinkPhase::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string line_of(const HostState& host) {
  StateLine line("host");
  line.text("name", host.name)
      .text("address", host.address)
      .id("id", host.id)
      .number("connected", host.connected ? 1 : 0);
  if (host.connected_since_ns != 0) line.number("connected_since_ns", host.connected_since_ns);
  if (host.connected) line.number("encrypted", host.encrypted ? 1 : 0).text("certificate", host.certificate);
  if (host.absent_since_ns != 0) {
    line.number("absent_since_ns", host.absent_since_ns).number("absence_percent", host.absence_percent);
  }
  if (host.bulk_missing_since_ns != 0) {
    line.number("bulk_missing_since_ns", host.bulk_missing_since_ns).text("bulk_missing_why", host.bulk_missing_why);
  }
  if (host.round_trip_ns != 0) line.number("round_trip_ns", host.round_trip_ns);
  return line.number("sent_messages", host.sent_messages)
      .number("sent_bytes", host.sent_bytes)
      .number("received_messages", host.received_messages)
      .number("received_bytes", host.received_bytes)
      .number("sent_again", host.sent_again)
      .number("dropped", host.dropped)
      .text("dropped_why", host.dropped_why)
      .number("waiting_messages", host.waiting_messages)
      .number("waiting_bytes", host.waiting_bytes)
      .end();
}

std::string line_of(const PeerState& peer) {
  return StateLine("peer").text("name", peer.peer).number("since_ns", peer.since_ns).text("why", peer.why).end();
}

std::string line_of(const RefusedState& refused) {
  return StateLine("refused")
      .text("address", refused.address)
      .text("name", refused.name)
      .number("times", refused.times)
      .number("last_ns", refused.last_ns)
      .text("why", refused.why)
      .end();
}

std::string line_of(const TopicState& topic) {
  StateLine line("topic");
  line.text("name", topic.topic).text("type", topic.type_name).text("direction", topic.sending ? "send" : "receive");
  for (const std::string& host : topic.hosts) line.text("host", host);
  return line.number("messages", topic.messages)
      .number("bytes", topic.bytes)
      .number("dropped", topic.dropped)
      .text("dropped_why", topic.dropped_why)
      .end();
}

}  // namespace

std::string format_state(const LinkState& state, std::int32_t pid, std::int64_t monotonic_ns,
                         std::int64_t realtime_ns) {
  std::string out = "baton-link-state 1\n";
  StateLine link("link");
  link.text("phase", name_of(state.phase)).text("why", state.why).text("host", state.host_name).id("id", state.id);
  link.number("domain", state.domain).number("pid", pid);
  if (state.port != 0) link.number("port", state.port);
  link.number("secured", state.secured ? 1 : 0);
  link.number("absence_ms", state.absence.time.count()).number("absence_bytes", state.absence.bytes);
  out += link.number("sent", state.sent)
             .number("received", state.received)
             .number("refused", state.refused)
             .number("monotonic_ns", monotonic_ns)
             .number("realtime_ns", realtime_ns)
             .end();
  for (const HostState& host : state.hosts) out += line_of(host);
  for (const PeerState& peer : state.peers) out += line_of(peer);
  for (const RefusedState& refused : state.refused_hosts) out += line_of(refused);
  for (const TopicState& topic : state.topics) out += line_of(topic);
  for (const std::string& note : state.notes) out += StateLine("note").text("text", note).end();
  return out;
}

Result<SavedState> read_state(int domain, const std::string& runtime_directory) {
  transport::DirectoryOptions where;
  where.runtime_directory = runtime_directory;
  const Result<int> number = transport::resolve_domain(domain, where);
  if (!number) return number.error();
  const Result<transport::DomainDirectory> directory = transport::open_domain_directory(*number, where);
  if (!directory) return directory.error();
  const int fd = directory->fd.get();
  SavedState out;
  out.path = directory->path + "/" + kStateFile;
  Result<std::optional<std::string>> text = os::read_file_at(fd, kStateFile, kMostBytes);
  if (!text) return text.error();
  out.text = std::move(*text);
  const Result<std::vector<std::string>> names = os::list_directory(fd);
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), kLockFile) == names->end()) return out;  // no link yet: makes no file
  const Result<os::UniqueFd> lock = os::open_file_at(fd, kLockFile, directory->socket_mode, directory->gid);
  if (!lock) return lock.error();
  out.alive = os::byte_locked_by_other(lock->get(), 0);
  return out;
}

}  // namespace baton::link
