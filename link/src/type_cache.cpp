// SPDX-License-Identifier: Apache-2.0
#include "type_cache.hpp"

#include <algorithm>
#include <vector>

namespace baton::link {
namespace {

using Level = LinkLog::Level;

/// How long one process may take to answer before others are asked for the same type.
constexpr std::chrono::milliseconds kPatience{100};
/// After so long a process counts as one that does not answer, and gets no further question.
constexpr std::chrono::milliseconds kAnswer{1000};
/// How long an endpoint whose answer was no definition is not asked again.
constexpr std::chrono::seconds kAskAgain{10};
constexpr std::size_t kMostAnswering = 10'000;
/// Definitions that are kept. At this bound all are forgotten, and asked for again.
constexpr std::size_t kMostKnownTypes = 8192;
constexpr std::size_t kMostKnownBytes = std::size_t{64} << 20;

}  // namespace

std::shared_ptr<const LocalType> TypeCache::of(const Gid& endpoint, std::uint64_t connection, const std::string& name,
                                               const TypeHash& hash) {
  const Key type{name, hash};
  if (const auto known = known_.find(type); known != known_.end()) return known->second;
  if (questions_.count(endpoint) != 0 || !may_ask(endpoint, type, connection)) return nullptr;
  const auto now = Clock::now();
  read(endpoint, {type, connection, now}, now);
  const auto known = known_.find(type);
  return known == known_.end() ? nullptr : known->second;
}

bool TypeCache::may_ask(const Gid& endpoint, const Key& type, std::uint64_t connection) {
  const auto now = Clock::now();
  if (const auto wrong = not_defined_.find(endpoint); wrong != not_defined_.end() && now - wrong->second < kAskAgain)
    return false;
  if (const auto asked = asked_.find(type); asked != asked_.end() && now - asked->second < kPatience) {
    is_pressing_ = true;
    return false;
  }
  const auto oldest = oldest_.find(connection);
  return oldest == oldest_.end() || (answering_.count(connection) != 0 && now - oldest->second < kAnswer);
}

void TypeCache::read(const Gid& endpoint, const TypeRequest& question, Clock::time_point now) {
  const auto& [name, hash] = question.type;
  Result<transport::TypeInfo> info = participant_->type_of(endpoint, std::chrono::nanoseconds(0));
  if (!info && info.error().code == Errc::timed_out) {
    TypeRequest& open = questions_.emplace(endpoint, question).first->second;
    asked_.emplace(question.type, question.since);
    oldest_.emplace(question.connection, question.since);
    const bool is_late = now - question.since >= kAnswer;
    is_pressing_ = is_pressing_ || !is_late;
    if (is_late && !std::exchange(open.is_said, true))
      log_->write(About::kTypes, Level::kWarning, info.error().code, info.error().message + "; waiting until it does");
    return;
  }
  questions_.erase(endpoint);
  if (!info) return;  // it has just left
  if (answering_.size() >= kMostAnswering) answering_.clear();
  answering_.insert(question.connection);
  if (known_.count(question.type) != 0) return;  // another process was faster
  Result<message::Definition> definition = message::Definition::parse(info->definition, hash);
  if (!definition || definition->type().size != info->skeleton_bytes) {
    not_defined_[endpoint] = Clock::now();
    log_->write(About::kTypes, Level::kError, Errc::malformed_message,
                "messages of " + name + " are not carried: its process does not say how it is defined" +
                    (definition ? std::string() : " (" + definition.error().message + ")"));
    return;
  }
  info->fixed_size = definition->type().fixed;
  if (known_.size() >= kMostKnownTypes || known_bytes_ + info->definition.size() > kMostKnownBytes) {
    known_.clear();
    known_bytes_ = 0;
  }
  known_bytes_ += info->definition.size();
  known_[question.type] = std::make_shared<const LocalType>(LocalType{std::move(*info), std::move(*definition)});
}

void TypeCache::read_answers() {
  is_pressing_ = false;
  const auto now = Clock::now();
  for (auto at = not_defined_.begin(); at != not_defined_.end();)
    at = now - at->second < kAskAgain ? std::next(at) : not_defined_.erase(at);
  asked_.clear();
  oldest_.clear();
  // The oldest questions first: of a type and of a process the oldest question counts.
  std::vector<std::pair<Gid, TypeRequest>> questions(questions_.begin(), questions_.end());
  std::sort(questions.begin(), questions.end(),
            [](const auto& one, const auto& other) { return one.second.since < other.second.since; });
  for (const auto& [endpoint, question] : questions)
    read(endpoint, question, now);  // one `now` for all: none is late before an earlier one
}

}  // namespace baton::link
