// SPDX-License-Identifier: Apache-2.0
// Request and response over two topics: requests go to every server's reader and name the reader that waits for the response. It
// goes to that one alone, with the request's number in the chunk header (docs/format/chunk.md).
// Thread rules: all functions are thread-safe; call() serialises its callers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/node/clock.hpp"
#include "baton/node/executor.hpp"
#include "baton/node/publisher.hpp"
#include "baton/node/sample.hpp"
#include "baton/transport/transport.hpp"

namespace baton {
namespace detail {

std::string request_topic(const std::string& service);
std::string response_topic(const std::string& service);
/// KEEP_ALL: a request is delivered or refused with queue_full, never silently dropped.
QoS request_qos();
/// KEEP_LAST: a client that stopped reading must not hold up the others.
QoS response_qos();

template <class S, class F>
class ServiceExecutable final : public Executable {
 public:
  using Request = typename S::Request;
  using Response = typename S::Response;
  ServiceExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> requests,
                    Publisher<Response> responses, F handler)
      : Executable(std::move(group)),
        requests_(std::move(requests)),
        responses_(std::move(responses)),
        handler_(std::move(handler)) {}
  const std::shared_ptr<transport::Reader>& reader() const noexcept override { return requests_; }
  bool ready() const override { return requests_->has_data(); }
  bool execute() override {
    transport::TakenSample taken = take_for_callback(*requests_);
    if (!taken) return false;
    Sample<Request> request(std::move(taken));
    const MessageInfo info = request.info();
    Loan<Response> response = responses_.loan();
    if constexpr (std::is_invocable_v<F&, const Request&, Response&, const MessageInfo&>) {
      handler_(*request, *response, info);
    } else {
      handler_(*request, *response);
    }
    responses_.publish_correlated(std::move(response), answer_to(info));
    return true;
  }
  std::uint32_t matched() const { return requests_->matched(); }

 private:
  std::shared_ptr<transport::Reader> requests_;
  Publisher<Response> responses_;
  F handler_;
};

template <class S>
struct ClientCore {
  using Request = typename S::Request;
  using Response = typename S::Response;
  ClientCore(std::shared_ptr<transport::Participant> participant_, std::string name_, Publisher<Request> requests_,
             std::shared_ptr<transport::Reader> responses_)
      : participant(std::move(participant_)),
        name(std::move(name_)),
        requests(std::move(requests_)),
        responses(std::move(responses_)) {}

  /// The next response meant for this client, or an empty sample; others' responses are dropped.
  Sample<Response> next_own_response() {
    for (;;) {
      Sample<Response> sample(std::move(responses->take()).or_throw());
      if (!sample || sample.info().correlation_client == responses->gid()) return sample;
    }
  }
  std::uint64_t send(Loan<Request>&& request) {
    const std::uint64_t sequence =
        next_sequence.fetch_add(1, std::memory_order_relaxed) + 1;  // only uniqueness matters
    transport::Writer::PublishInfo correlation;
    correlation.correlation_client = responses->gid();
    correlation.correlation_sequence = sequence;
    requests.publish_correlated(std::move(request), correlation);
    return sequence;
  }
  /// A server is there when one process reads our requests and writes our responses.
  bool available() const { return requests.matched() > 0 && responses->matched() > 0; }

  std::shared_ptr<transport::Participant> participant;
  std::string name;
  Publisher<Request> requests;
  std::shared_ptr<transport::Reader> responses;
  std::atomic<std::uint64_t> next_sequence{0};
  std::mutex call_mutex;
  std::unique_ptr<transport::WaitSet> wait_set;  // made by the first call(); under call_mutex
};

/// Waits on `wait_set` once, at most until the deadline; false when that has passed.
bool wait_until(transport::WaitSet& wait_set, std::chrono::steady_clock::time_point deadline);

template <class S, class F>
class ClientExecutable final : public Executable {
 public:
  ClientExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<ClientCore<S>> core, F callback)
      : Executable(std::move(group)), core_(std::move(core)), callback_(std::move(callback)) {}
  const std::shared_ptr<transport::Reader>& reader() const noexcept override { return core_->responses; }
  bool ready() const override { return core_->responses->has_data(); }
  bool execute() override {
    Sample<typename S::Response> response = core_->next_own_response();
    if (!response) return false;
    callback_(std::as_const(response));
    return true;
  }

 private:
  std::shared_ptr<ClientCore<S>> core_;
  F callback_;
};

}  // namespace detail

/// A running service; the last copy's destruction ends it.
template <class S>
class Service {
 public:
  Service() = default;
  Service(std::shared_ptr<detail::Executable> executable, std::string name)
      : executable_(std::move(executable)), name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }

 private:
  std::shared_ptr<detail::Executable> executable_;
  std::string name_;
};

template <class S>
class Client {
 public:
  using Request = typename S::Request;
  using Response = typename S::Response;
  Client() = default;
  Client(std::shared_ptr<detail::ClientCore<S>> core, std::shared_ptr<detail::Executable> executable)
      : core_(std::move(core)), executable_(std::move(executable)) {}

  bool available() const { return core_->available(); }
  /// Waits for a server; false on timeout.
  bool wait_for_service(std::chrono::nanoseconds timeout) const {
    const auto deadline = detail::deadline_after(timeout);
    for (;;) {
      const std::uint64_t seen = core_->participant->graph_version();
      if (available()) return true;
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds::zero()) return false;
      // Attaching finishes a little after the graph shows the endpoint, so look again at least every 10 ms while waiting.
      (void)core_->participant->wait_graph_change(
          seen, std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(10)));
    }
  }
  /// A request in shared memory.
  Loan<Request> loan() { return core_->requests.loan(); }
  /// Sends without waiting; returns the number that the response's info().correlation_sequence will have.
  std::uint64_t send(Loan<Request>&& request) { return core_->send(std::move(request)); }
  std::uint64_t send(const Request& request) {
    Loan<Request> copy = loan();
    *copy = request;
    return send(std::move(copy));
  }
  /// Sends and waits for the response; an empty sample after `timeout`. Only for clients made without a callback
  /// (invalid_argument otherwise). A server that dies leaves the call to its timeout, since another may answer.
  Sample<Response> call(Loan<Request>&& request, std::chrono::nanoseconds timeout) {
    if (executable_)
      throw Exception(
          {Errc::invalid_argument, "call() on client '" + core_->name +
                                       "', which was made with a callback; use send(), or client() without one"});
    const auto deadline = detail::deadline_after(timeout);
    std::lock_guard<std::mutex> lock(core_->call_mutex);
    if (!core_->wait_set) {
      auto wait_set = std::make_unique<transport::WaitSet>();
      wait_set->add(core_->responses).or_throw();
      core_->wait_set = std::move(wait_set);
    }
    const std::uint64_t sequence = core_->send(std::move(request));
    for (;;) {
      while (Sample<Response> response = core_->next_own_response())
        if (response.info().correlation_sequence == sequence) return response;
      if (!detail::wait_until(*core_->wait_set, deadline)) return {};
    }
  }
  Sample<Response> call(const Request& request, std::chrono::nanoseconds timeout) {
    Loan<Request> copy = loan();
    *copy = request;
    return call(std::move(copy), timeout);
  }
  const std::shared_ptr<detail::ClientCore<S>>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ClientCore<S>> core_;
  std::shared_ptr<detail::Executable> executable_;
};

}  // namespace baton
