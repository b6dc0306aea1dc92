// SPDX-License-Identifier: Apache-2.0
// Request and response over two topics. A request goes to every server's reader and names the reader that waits for the
// response. The response goes to that reader only, with the request's number in the chunk header
// (docs/format/chunk.md).
// Thread rules: all functions are thread-safe; call() serialises its callers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/node/call_forms.hpp"
#include "baton/node/clock.hpp"
#include "baton/node/executor.hpp"
#include "baton/node/publisher.hpp"
#include "baton/node/sample.hpp"
#include "baton/node/service_events.hpp"
#include "baton/node/subscription.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/shortage.hpp"
#include "baton/transport/transport.hpp"

namespace baton {
/// How many responses a client may keep at the same time if the program gives no number: Node::client().
inline constexpr std::uint32_t kHeldResponses = 64;

namespace detail {

/// The use of a publisher. As in docs/format/qos.md ("Services"): one server that does not read must not stop the requests to the
/// others, and many clients share the slots of the responses.
enum class PublisherUse : std::uint8_t { kTopic, kRequests, kResponses };

/// The topics of a service; `service` is its resolved name, because rules for names apply to the service alone.
std::string request_topic(const std::string& service);
std::string response_topic(const std::string& service);
/// KEEP_ALL: a request is delivered, or refused with queue_full; it is never silently dropped.
QoS request_qos();
/// KEEP_LAST: a client that stopped reading must not hold up the others. `held`: responses that a client may keep.
QoS response_qos(std::uint32_t held);
QoS event_qos();

/// Memory was missing for a request: a line of the logger "baton", at most one each second, because another process can be the
/// reason (a client that keeps its responses, or that wants too much), and must not end spin().
void say_unanswered(const std::string& response_topic, const char* why) noexcept;
/// The same, if `why` says that memory was missing. Else rethrows `why`. REQUIRES that `why` is being handled.
void say_unanswered(const std::string& response_topic, const Exception& why);

/// An event of a call was not published. A line of the logger "baton", at most one in 10 s.
void say_event_lost(const std::string& event_topic, const Error& why) noexcept;

/// NAME/_service_event.
std::string event_topic(const std::string& service);

/// The untyped part of a server.
struct ServerCore {
  std::string name;
  std::shared_ptr<transport::Reader> requests;
  std::shared_ptr<PublisherCore> responses;  ///< with events()
};

/// The untyped part of a client: it numbers requests, and finds their responses among those of all clients. Client<S>
/// and Python's client are built on it. Thread-safe.
class ClientCore {
 public:
  ClientCore(std::shared_ptr<transport::Participant> participant, std::string name,
             std::shared_ptr<PublisherCore> requests, std::shared_ptr<transport::Reader> responses);
  const std::shared_ptr<transport::Participant>& participant() const noexcept { return participant_; }
  const std::string& name() const noexcept { return name_; }
  const std::shared_ptr<PublisherCore>& requests() const noexcept { return requests_; }
  const std::shared_ptr<transport::Reader>& responses() const noexcept { return responses_; }

  /// The info of the next request: its number, and the reader that waits for the response.
  transport::PublishInfo next_request() noexcept;
  bool is_own(const transport::TakenSample& response) const noexcept;
  /// Held from sending a request until its response comes, because another caller would drop that response.
  os::Mutex& call_mutex() noexcept BATON_RETURNS_LOCK(call_mutex_) { return call_mutex_; }
  /// One call at a time, as with call_mutex(). The response to this request, or an empty sample if it has not come yet. Drops up to 16 other
  /// responses that have come; behind more of them the response is found by a later call, before which no wait sleeps.
  Result<transport::TakenSample> take_response(std::uint64_t request);
  /// Repeats take_response() until the deadline; then returns an empty sample.
  Result<transport::TakenSample> wait_response(std::uint64_t request, std::chrono::steady_clock::time_point deadline)
      BATON_REQUIRES(call_mutex_);
  /// True if at least one process reads our requests and one writes our responses.
  bool available() const { return requests_->writer()->matched() > 0 && responses_->matched() > 0; }
  /// False if no server was available until the deadline.
  bool wait_available(std::chrono::steady_clock::time_point deadline) const;

 private:
  const std::shared_ptr<transport::Participant> participant_;
  const std::string name_;
  const std::shared_ptr<PublisherCore> requests_;
  const std::shared_ptr<transport::Reader> responses_;
  std::atomic<std::uint64_t> last_request_{0};
  os::Mutex call_mutex_;
  std::unique_ptr<transport::WaitSet> wait_set_ BATON_GUARDED_BY(call_mutex_);  // made by the first wait_response()
};

/// The type hash of the events of S.
template <class S>
message::TypeHash event_hash() {
  message::TypeHash hash;
  static_assert(sizeof S::kEventHash == sizeof hash,
                "the header of this service is of another version of the generator");
  std::copy(std::begin(S::kEventHash), std::end(S::kEventHash), hash.begin());
  return hash;
}

/// Calls a handler in one of its forms.
template <class Request, class Response, class F>
void handle(F& handler, const Request& request, Response& response, const MessageInfo& info) {
  constexpr bool kWithInfo = std::is_invocable_v<F&, const Request&, Response&, const MessageInfo&>;
  constexpr bool kPlain = !kWithInfo && std::is_invocable_v<F&, const Request&, Response&>;
  constexpr bool kPointers =
      !kWithInfo && !kPlain && std::is_invocable_v<F&, std::shared_ptr<Request>, std::shared_ptr<Response>>;
  // Separate from the calls below, so that the compiler says this and nothing else.
  static_assert(kWithInfo || kPlain || kPointers || !std::is_invocable_v<F&, Request&, Response&>,
                "a request is read-only: write the handler as void f(const Request&, Response&), without ROS 1's bool");
  static_assert(kWithInfo || kPlain || kPointers || std::is_invocable_v<F&, Request&, Response&>,
                "a service's handler is void f(const Request&, Response&), with a const MessageInfo& behind them if it "
                "wants one, or void f(std::shared_ptr<Request>, std::shared_ptr<Response>)");
  if constexpr (kWithInfo) {
    static_assert(std::is_void_v<std::invoke_result_t<F&, const Request&, Response&, const MessageInfo&>>,
                  "a handler returns void: ROS 1's `return false` is a field of the response, e.g. success");
    call_program([&] { handler(request, response, info); });
  } else if constexpr (kPlain) {
    static_assert(std::is_void_v<std::invoke_result_t<F&, const Request&, Response&>>,
                  "a handler returns void: ROS 1's `return false` is a field of the response, e.g. success");
    call_program([&] { handler(request, response); });
  } else if constexpr (kPointers) {
    // Copies: the handler may write the request, and keep both.
    auto own = std::make_shared<Response>();
    auto copy = std::make_shared<Request>(request);
    call_program([&] { handler(std::move(copy), own); });
    response = *own;
  }
}

template <class S, class F>
class ServiceExecutable final : public ReaderExecutable {
 public:
  using Request = typename S::Request;
  using Response = typename S::Response;
  ServiceExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> requests,
                    const std::shared_ptr<PublisherCore>& responses, F handler)
      : ReaderExecutable(std::move(group), std::move(requests)),
        events_(responses->events()),
        responses_(responses),
        handler_(std::move(handler)) {}

 private:
  bool on_message(transport::TakenSample&& message) override {
    if (!message.names_own_client()) return false;
    events_->received(message);
    const Sample<Request> request(std::move(message));
    const MessageInfo info = request.info();
    try {
      Loan<Response> response = responses_.loan();
      handle<Request, Response>(handler_, *request, *response, info);
      responses_.publish(std::move(response), answer_to(info));
    } catch (const Exception& error) {
      say_unanswered(responses_.topic(), error);
    } catch (const ProgramBadAlloc&) {
      throw;
    } catch (const std::bad_alloc&) {  // another process chooses the size of the request
      say_unanswered(responses_.topic(), no_memory().message.c_str());
    }
    return true;
  }
  const std::shared_ptr<ServiceEvents> events_;
  Publisher<Response> responses_;
  F handler_;
};

template <class S, class F>
class ClientExecutable final : public ReaderExecutable {
 public:
  ClientExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<ClientCore> core, F callback)
      : ReaderExecutable(std::move(group), core->responses()), core_(std::move(core)), callback_(std::move(callback)) {}

 private:
  bool on_message(transport::TakenSample&& message) override {
    if (!core_->is_own(message)) return false;
    core_->requests()->events()->received(message);
    call_with_sample<typename S::Response>(callback_, std::move(message));
    return true;
  }
  std::shared_ptr<ClientCore> core_;
  F callback_;
};

}  // namespace detail

/// A running service. It ends when the last copy is destroyed.
template <class S>
class Service {
 public:
  Service() = default;
  Service(std::shared_ptr<detail::Executable> executable, std::string name,
          std::shared_ptr<detail::ServiceEvents> events)
      : executable_(std::move(executable)), name_(std::move(name)), events_(std::move(events)) {}
  const std::string& name() const noexcept { return name_; }
  /// From now on, publishes its requests and responses on NAME/_service_event for recorders and tools (type `S_Event`, the newest 100 wait for
  /// a subscription). The handler's time includes a copy of both with ServiceIntrospection::kContents. An event for which there is no memory
  /// is lost, and a line says so. Throws what Node::advertise() throws, and invalid_argument if the service is empty.
  void configure_introspection(ServiceIntrospection what) {
    detail::not_empty(events_, "service").configure(what, detail::event_hash<S>());
  }

 private:
  std::shared_ptr<detail::Executable> executable_;
  std::string name_;
  std::shared_ptr<detail::ServiceEvents> events_;
};

template <class S>
class Client {
 public:
  using Request = typename S::Request;
  using Response = typename S::Response;
  Client() = default;
  Client(std::shared_ptr<detail::ClientCore> core, std::shared_ptr<detail::Executable> executable)
      : core_(std::move(core)), requests_(core_->requests()), executable_(std::move(executable)) {}

  bool available() const { return valid_core().available(); }
  /// Waits for a server; false on timeout, and when the process is asked to end meanwhile (ok()).
  /// After that it waits a second at most.
  bool wait_for_service(os::Nanoseconds timeout) const {
    return valid_core().wait_available(detail::deadline_after(timeout));
  }
  /// A request in shared memory.
  Loan<Request> loan() { return requests_.loan(); }
  /// Sends without waiting; returns the number that the response's info().correlation_sequence will have.
  std::uint64_t send(Loan<Request>&& request) {
    const transport::PublishInfo info = valid_core().next_request();
    requests_.publish(std::move(request), info);
    return info.correlation_sequence;
  }
  template <class Lent, class = std::enable_if_t<std::is_same_v<Lent, Loan<Request>>>>
  void send(const Lent&) {
    static_assert(detail::kNever<Lent>, "a loan is handed over: write send(std::move(loan))");
  }
  std::uint64_t send(const Request& request) {
    Loan<Request> copy = loan();
    *copy = request;
    return send(std::move(copy));
  }
  /// Sends and waits for the response; an empty sample after `timeout`, and when the process is asked to end meanwhile
  /// (ok()); after that it waits a second at most. Only for clients made without a callback
  /// (invalid_argument otherwise). If a server dies, the call still waits for its timeout, since another server may
  /// answer.
  Sample<Response> call(Loan<Request>&& request, os::Nanoseconds timeout) {
    if (executable_)
      throw Exception(
          {Errc::invalid_argument, "call() on client '" + valid_core().name() +
                                       "', which was made with a callback; use send(), or client() without one"});
    const auto deadline = detail::deadline_after(timeout);
    detail::ClientCore& core = valid_core();
    const os::Lock lock(core.call_mutex());
    return Sample<Response>(core.wait_response(send(std::move(request)), deadline).or_throw());
  }
  template <class Lent, class = std::enable_if_t<std::is_same_v<Lent, Loan<Request>>>>
  Sample<Response> call(const Lent&, os::Nanoseconds) {
    static_assert(detail::kNever<Lent>, "a loan is handed over: write call(std::move(loan), timeout)");
    return {};
  }
  Sample<Response> call(const Request& request, os::Nanoseconds timeout) {
    Loan<Request> copy = loan();
    *copy = request;
    return call(std::move(copy), timeout);
  }
  /// The same with a pointer to the request, as rclcpp's programs have it.
  Sample<Response> call(const std::shared_ptr<Request>& request, os::Nanoseconds timeout) {
    return call(static_cast<const Request&>(detail::not_empty(request, "request pointer")), timeout);
  }
  /// As in ROS 1: sends srv.request, and fills srv.response. False after `timeout`; the response is then unchanged.
  bool call(S& srv, os::Nanoseconds timeout) {
    const Sample<Response> response = call(srv.request, timeout);
    if (!response) return false;
    srv.response = *response;
    return true;
  }
  const std::shared_ptr<detail::ClientCore>& core() const noexcept { return core_; }
  /// Service::configure_introspection() of this client's requests and responses.
  void configure_introspection(ServiceIntrospection what) {
    valid_core().requests()->events()->configure(what, detail::event_hash<S>());
  }

 private:
  detail::ClientCore& valid_core() const { return detail::not_empty(core_, "client"); }

  std::shared_ptr<detail::ClientCore> core_;
  Publisher<Request> requests_;
  std::shared_ptr<detail::Executable> executable_;
};

}  // namespace baton
