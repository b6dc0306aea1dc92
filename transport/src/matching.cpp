// SPDX-License-Identifier: Apache-2.0
// Which endpoints belong together. The reader's process asks (ATTACH); both sides count and report what does not fit.
#include <algorithm>

#include "definition_difference.hpp"
#include "participant.hpp"

namespace baton::transport {
namespace {

/// Between two attempts of a pair that lacks descriptors, memory or slots: from the first, doubled, to the longest.
constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::milliseconds(5000);

}  // namespace

void ParticipantImpl::match_new(Topic& topic, const EndpointRecord& added) {
  // A new foreign (or own) endpoint meets the own endpoints of the other kind ...
  const EndpointRecord record = added;
  for (const EndpointRecord& other : topic.endpoints) {
    if (other.peer != kSelf || other.is_writer == record.is_writer) continue;
    if (record.is_writer) {
      const auto reader = readers_.find(other.gid);
      if (reader != readers_.end()) match(reader->second, record);
    } else {
      const auto writer = writers_.find(other.gid);
      if (writer != writers_.end()) match(writer->second, record);
    }
  }
  if (record.peer != kSelf) return;
  // ... and a new own endpoint all that are known.
  for (const EndpointRecord& other : topic.endpoints) {
    if (other.is_writer == record.is_writer) continue;
    if (record.is_writer) {
      const auto writer = writers_.find(record.gid);
      if (writer != writers_.end()) match(writer->second, other);
    } else {
      const auto reader = readers_.find(record.gid);
      if (reader != readers_.end()) match(reader->second, other);
    }
  }
}

template <class Impl>
bool ParticipantImpl::compatible(const std::shared_ptr<Impl>& own, const EndpointRecord& other, const QoS& offered,
                                 const QoS& requested) {
  const TypeInfo& type = own->options().type;
  const std::string who = (other.is_writer ? "subscription to '" : "publisher of '") + own->options().topic + "'";
  const std::string whom = std::string(other.is_writer ? "publisher" : "subscription") + " of node '" + *other.node +
                           "' (process " + std::to_string(pid_of(other.peer)) + ")";
  if (type.name != other.type->name) {
    const std::string text = who + " with type " + type.name + " is not connected to the " + whom + ", which has type " +
                             other.type->name + "; rename the topic of one of them";
    own->report_incompatible(Event::kIncompatibleType, text);
    diagnose(Diagnostic::Level::kError, Errc::type_mismatch, text);
    return false;
  }
  if (type.hash != other.type->hash) {
    own->report_incompatible(Event::kIncompatibleType, who + ": the " + whom + " has another definition of " + type.name);
    definitions_wanted_[other.gid].push_back(own->gid());  // the difference is reported when its definition arrives
    send(other.peer, FrameType::kDefinitionRequest, encode_gid(other.gid));
    return false;
  }
  const std::string difference = incompatibility(offered, requested);
  if (!difference.empty()) {
    const std::string text = who + " is not connected to the " + whom + ": " + difference;
    own->report_incompatible(Event::kIncompatibleQos, text);
    diagnose(Diagnostic::Level::kWarning, Errc::incompatible_qos, text);
    return false;
  }
  return true;
}

void ParticipantImpl::match(const std::shared_ptr<WriterImpl>& writer, const EndpointRecord& reader) {
  compatible(writer, reader, writer->options().qos, reader.qos);  // if so, its process will ask
}

void ParticipantImpl::match(const std::shared_ptr<ReaderImpl>& reader, const EndpointRecord& writer) {
  if (writer.banned || !compatible(reader, writer, writer.qos, reader->options().qos)) return;
  begin_attach(reader, writer);
}

void ParticipantImpl::begin_attach(const std::shared_ptr<ReaderImpl>& reader, const EndpointRecord& writer) {
  remote_writers_[writer.gid].peer = writer.peer;
  Result<void> begun = reader->begin_attach(writer.peer, writer.gid, writer.qos);
  if (begun) return;
  release_remote_writer(writer.gid);
  if (attach_later(reader->gid(), writer.gid)) {
    diagnose(Diagnostic::Level::kError, begun.error().code,
             "subscription to '" + reader->options().topic + "' cannot connect: " + begun.error().message + "; trying again");
  }
}

bool ParticipantImpl::attach_later(const Gid& reader, const Gid& writer) {
  const unsigned attempt = attempts_[{reader, writer}]++;
  const auto pause = std::min<std::chrono::milliseconds>(kFirstPause * (1 << std::min(attempt, 10U)), kLongestPause);
  hub_->schedule(std::chrono::steady_clock::now() + pause, [this, reader, writer] {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto own = readers_.find(reader);
    const EndpointRecord* record = graph_.find(writer).second;
    if (own == readers_.end() || record == nullptr || record->banned) {
      attempts_.erase({reader, writer});
      return;
    }
    begin_attach(own->second, *record);
  });
  return attempt == 0;
}

void ParticipantImpl::release_remote_writer(const Gid& writer) {
  const bool used =
      std::any_of(readers_.begin(), readers_.end(), [&](const auto& entry) { return entry.second->uses(writer); });
  if (!used) remote_writers_.erase(writer);
}

Result<void> ParticipantImpl::on_definition_request(PeerId peer, const Gid& gid) {
  const TypeInfo* type = nullptr;
  if (const auto writer = writers_.find(gid); writer != writers_.end()) type = &writer->second->options().type;
  if (const auto reader = readers_.find(gid); reader != readers_.end()) type = &reader->second->options().type;
  if (type != nullptr) send(peer, FrameType::kDefinition, encode(DefinitionFrame{gid, type->definition}));
  return {};
}

void ParticipantImpl::on_definition(PeerId peer, const DefinitionFrame& frame) {
  const EndpointRecord* other = graph_.find(frame.endpoint).second;
  const auto wanted = definitions_wanted_.find(frame.endpoint);
  if (other == nullptr || other->peer != peer || wanted == definitions_wanted_.end()) return;
  const std::vector<Gid> own_gids = std::move(wanted->second);
  definitions_wanted_.erase(wanted);
  for (const Gid& own : own_gids) {
    const TypeInfo* type = nullptr;
    std::string who;
    const auto writer = writers_.find(own);
    const auto reader = readers_.find(own);
    if (writer != writers_.end()) {
      type = &writer->second->options().type;
      who = "publisher of '" + writer->second->options().topic + "'";
    } else if (reader != readers_.end()) {
      type = &reader->second->options().type;
      who = "subscription to '" + reader->second->options().topic + "'";
    } else {
      continue;
    }
    const std::string text = who + ": process " + std::to_string(pid_of(peer)) + " (node '" + *other->node +
                             "') defines " + type->name + " differently; rebuild both from the same .msg files:\n" +
                             definition_difference(type->definition, frame.text);
    if (writer != writers_.end()) {
      writer->second->explain_incompatible(text);
    } else {
      reader->second->explain_incompatible(text);
    }
    diagnose(Diagnostic::Level::kError, Errc::type_mismatch, text);
  }
}

}  // namespace baton::transport
