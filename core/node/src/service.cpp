// SPDX-License-Identifier: Apache-2.0
#include "baton/node/service.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <string>

#include "baton/os/allowance.hpp"
#include "baton/os/shortage.hpp"
#include "end_of_wait.hpp"
#include "node_core.hpp"

namespace baton::detail {

std::string request_topic(const std::string& service) { return service + "/_request"; }
std::string response_topic(const std::string& service) { return service + "/_response"; }
std::string event_topic(const std::string& service) { return service + "/_service_event"; }

QoS request_qos() { return QoS().reliable().keep_all(100); }
QoS event_qos() { return QoS(100).reliable(); }
QoS response_qos(std::uint32_t held) { return QoS().reliable().keep_last(100).hold(held); }

namespace {

/// Lines about requests without a response: one in this time, for all services of the process. Another process chooses how
/// many such requests there are, and of which services.
constexpr std::chrono::seconds kUnansweredPause{1};
os::Allowance g_unanswered_lines;
std::atomic<std::uint64_t> g_unsaid{0};  // relaxed: a count, which orders nothing

os::Allowance g_lost_event_lines;  // one in os::kSeldom: another process chooses how many calls there are

/// Responses to other requests that one take_response() passes over. Another process can send them as fast as they are taken, and the callers
/// look at their deadlines and at signals in between.
constexpr int kMostOtherResponses = 16;

}  // namespace

void say_unanswered(const std::string& response_topic, const Exception& why) {
  if (!finds_no_room(why.code())) throw;
  say_unanswered(response_topic, why.what());
}

void say_unanswered(const std::string& response_topic, const char* why) noexcept {
  if (!g_unanswered_lines.once(kUnansweredPause)) {
    g_unsaid.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  try {
    const std::uint64_t unsaid = g_unsaid.exchange(0, std::memory_order_relaxed);
    log_of_baton(
        Logger::Level::kError,
        "a request gets no response on '" + response_topic + "': " + why +
            (unsaid != 0 ? " (and " + std::to_string(unsaid) + " more requests since the last such line)" : ""));
  } catch (const std::bad_alloc&) {
    // There is no memory to say it.
  }
}

void say_event_lost(const std::string& event_topic, const Error& why) noexcept {
  if (!g_lost_event_lines.once()) return;
  try {
    log_of_baton(Logger::Level::kWarn, "an event of a call is not published on '" + event_topic +
                                           "': " + errc_name(why.code) + ": " + why.message);
  } catch (const std::bad_alloc&) {
    // There is no memory to say it.
  }
}

ClientCore::ClientCore(std::shared_ptr<transport::Participant> participant, std::string name,
                       std::shared_ptr<PublisherCore> requests, std::shared_ptr<transport::Reader> responses)
    : participant_(std::move(participant)),
      name_(std::move(name)),
      requests_(std::move(requests)),
      responses_(std::move(responses)) {}

transport::PublishInfo ClientCore::next_request() noexcept {
  transport::PublishInfo info;
  info.correlation_client = responses_->gid();
  info.correlation_sequence = last_request_.fetch_add(1, std::memory_order_relaxed) + 1;  // only uniqueness matters
  return info;
}

bool ClientCore::is_own(const transport::TakenSample& response) const noexcept {
  const transport::Gid& own = responses_->gid();
  return std::equal(own.begin(), own.end(), response.header().correlation_client);
}

Result<transport::TakenSample> ClientCore::take_response(std::uint64_t request) {
  for (int passed = 0; passed < kMostOtherResponses; ++passed) {
    Result<transport::TakenSample> taken = responses_->take_next();
    if (!taken.ok() && taken.error().code == Errc::held_limit) {
      return Error{Errc::held_limit,
                   "client '" + name_ +
                       "' keeps as many responses as it may; let go of some, or make the client with a "
                       "greater `held` (" +
                       std::to_string(kHeldResponses) + " by default)"};
    }
    if (!taken.ok() || !*taken) return taken;
    if (is_own(*taken) && taken->header().correlation_sequence == request) {
      requests_->events()->received(*taken);
      return taken;
    }
  }
  return transport::TakenSample();  // there may be more, so a wait comes back at once
}

Result<transport::TakenSample> ClientCore::wait_response(std::uint64_t request,
                                                         std::chrono::steady_clock::time_point deadline) {
  if (!wait_set_) {
    auto wait_set = std::make_unique<transport::WaitSet>();
    const Result<void> added = wait_set->add(responses_);
    if (!added.ok()) return added.error();
    wait_set_ = std::move(wait_set);
  }
  for (const EndOfWait end(deadline);;) {
    Result<transport::TakenSample> taken = take_response(request);
    if (!taken.ok() || *taken) return taken;
    const auto pause = end.next();
    if (!pause) return transport::TakenSample();
    const Result<bool> woken = wait_set_->wait(*pause);
    if (!woken.ok()) return woken.error();
  }
}

bool ClientCore::wait_available(std::chrono::steady_clock::time_point deadline) const {
  for (const EndOfWait end(deadline);;) {
    const std::uint64_t seen = participant_->graph_version();
    if (available()) return true;
    const auto pause = end.next();
    if (!pause) return false;
    // Attaching finishes a little after the graph shows the endpoint, so check at least every 10 ms while waiting.
    (void)participant_->wait_graph_change(seen,
                                          std::min<std::chrono::nanoseconds>(*pause, std::chrono::milliseconds(10)));
  }
}

}  // namespace baton::detail
