// SPDX-License-Identifier: Apache-2.0
// The type of an endpoint: a query to its process, whose background thread answers. For programs that carry messages of
// types which they do not know.
#include <algorithm>

#include "participant.hpp"

namespace baton::transport {

Result<TypeInfo> Participant::Impl::type_of(const Gid& endpoint, std::chrono::nanoseconds timeout) {
  if (Result<void> ok = usable(); !ok) return ok.error();
  timeout = std::min<std::chrono::nanoseconds>(timeout, std::chrono::hours(24));
  TypeInfo type;
  std::uint64_t number;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto writer = writers_.find(endpoint); writer != writers_.end()) return writer->second->options().type;
    if (const auto reader = readers_.find(endpoint); reader != readers_.end()) return reader->second->options().type;
    const EndpointRecord* record = graph_.find(endpoint);
    if (record == nullptr) return Error{Errc::not_found, "no endpoint of the domain has this id (any more)"};
    type.name = record->type->name;
    type.hash = record->type->hash;
    type.skeleton_bytes = record->type->skeleton_bytes;
    {
      const std::lock_guard<std::mutex> questions_lock(questions_mutex_);
      number = ++last_question_;
      TypeQuestion& question = type_questions_[number];
      question.endpoint = endpoint;
      question.peer = record->peer();
    }
    send(record->peer(), FrameType::kDefinitionRequest, encode_gid(endpoint));
  }
  std::unique_lock<std::mutex> lock(questions_mutex_);
  const auto question = type_questions_.find(number);
  answered_.wait_for(lock, timeout, [&] { return question->second.definition || question->second.peer_gone; });
  const TypeQuestion answer = std::move(question->second);
  type_questions_.erase(question);
  if (!answer.definition) {
    return answer.peer_gone ? Error{Errc::not_found, "the process of the endpoint with type " + type.name + " is gone"}
                            : Error{Errc::timed_out, "process " + std::to_string(pid_of(answer.peer)) +
                                                         " does not say how it defines " + type.name};
  }
  type.definition = *answer.definition;
  return type;
}

/// An empty `frame.endpoint`: the peer is gone.
void Participant::Impl::answer_type_question(PeerId peer, const DefinitionFrame& frame) noexcept {
  {
    const std::lock_guard<std::mutex> lock(questions_mutex_);
    for (auto& [number, question] : type_questions_) {
      if (question.peer != peer) continue;
      if (frame.endpoint == Gid{}) {
        question.peer_gone = true;
      } else if (question.endpoint == frame.endpoint) {
        try {
          question.definition = frame.text;
        } catch (const std::bad_alloc&) {
          question.peer_gone = true;
        }
      }
    }
  }
  answered_.notify_all();
}

}  // namespace baton::transport
