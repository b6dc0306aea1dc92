// SPDX-License-Identifier: Apache-2.0
// The type of an endpoint: a query to its process, whose background thread answers. For programs that carry messages of
// types which they do not know.
#include <algorithm>

#include "participant.hpp"

namespace baton::transport {
namespace {

/// A process that is asked too much does not answer. One that is stopped must not find many queries when it goes on.
constexpr std::chrono::seconds kAskAgain{10};
/// Definitions that have come and were not fetched. More are dropped, and asked for again.
constexpr std::size_t kMostDefinitionBytes = std::size_t{16} << 20;

}  // namespace

Result<TypeInfo> Participant::Impl::type_of(const Gid& endpoint, std::chrono::nanoseconds timeout) {
  if (Result<void> ok = usable(); !ok) return ok.error();
  timeout = std::clamp<std::chrono::nanoseconds>(timeout, timeout.zero(), std::chrono::hours(24));
  TypeInfo type;
  PeerId peer{};
  std::uint64_t number = 0;
  {
    const os::Lock lock(mutex_);
    if (const auto writer = writers_.find(endpoint); writer != writers_.end()) return writer->second->options().type;
    if (const auto reader = readers_.find(endpoint); reader != readers_.end()) return reader->second->options().type;
    const EndpointRecord* record = graph_.find(endpoint);
    if (record == nullptr) return Error{Errc::not_found, "no endpoint of the domain has this id (any more)"};
    type.name = record->type->name;
    type.hash = record->type->hash;
    type.skeleton_bytes = record->type->skeleton_bytes;
    type.ros_hash = record->type->ros_hash;
    peer = record->peer();
    const auto now = std::chrono::steady_clock::now();
    bool ask = false;
    {
      const os::Lock questions_lock(questions_mutex_);
      TypeQuestion& question = type_questions_[endpoint];
      if (question.number == 0) question.number = ++last_question_;
      number = question.number;
      question.peer = peer;
      ++question.waiting;
      ask = !question.definition && (!question.asked || now - *question.asked >= kAskAgain);
      if (ask) question.asked = now;
    }
    if (ask) send(peer, FrameType::kDefinitionRequest, encode_gid(endpoint));
  }
  os::UniqueLock lock(questions_mutex_);
  const auto question = [&]() BATON_REQUIRES(questions_mutex_) {
    const auto found = type_questions_.find(endpoint);
    return found != type_questions_.end() && found->second.number == number ? found : type_questions_.end();
  };
  answered_.wait_for(lock.standard(), timeout, [&]() BATON_REQUIRES(questions_mutex_) {
    const auto now = question();
    return now == type_questions_.end() || now->second.definition;
  });
  const auto answer = question();
  if (answer == type_questions_.end())
    return Error{Errc::not_found, "the process of the endpoint with type " + type.name + " is gone"};
  --answer->second.waiting;
  if (!answer->second.definition) {
    return Error{Errc::timed_out,
                 "process " + std::to_string(pid_of(peer)) + " does not say how it defines " + type.name};
  }
  type.definition = *answer->second.definition;
  if (answer->second.waiting == 0) forget_type_question(answer);  // another call asks again
  return type;
}

/// An empty `frame.endpoint`: the peer is gone.
void Participant::Impl::answer_type_question(PeerId peer, const DefinitionFrame& frame) noexcept {
  bool news = false;
  {
    const os::Lock lock(questions_mutex_);
    if (frame.endpoint == Gid{}) {
      for (auto at = type_questions_.begin(); at != type_questions_.end();) {
        const auto each = at++;
        if (each->second.peer == peer) forget_type_question(each);
      }
    } else if (const auto asked = type_questions_.find(frame.endpoint);
               asked != type_questions_.end() && asked->second.peer == peer && !asked->second.definition &&
               definition_bytes_ + frame.text.size() <= kMostDefinitionBytes) {
      try {
        asked->second.definition = frame.text;
        definition_bytes_ += frame.text.size();
        news = true;
      } catch (const std::bad_alloc&) {
        // It is asked for again.
      }
    }
  }
  answered_.notify_all();
  if (news) graph_changed();  // wakes programs that do not wait in type_of()
}

void Participant::Impl::forget_type_question(const Gid& endpoint) noexcept {
  {
    const os::Lock lock(questions_mutex_);
    const auto found = type_questions_.find(endpoint);
    if (found == type_questions_.end()) return;
    forget_type_question(found);
  }
  answered_.notify_all();
}

void Participant::Impl::forget_type_question(std::map<Gid, TypeQuestion>::iterator question) noexcept {
  if (question->second.definition) definition_bytes_ -= question->second.definition->size();
  type_questions_.erase(question);
}

}  // namespace baton::transport
