// SPDX-License-Identifier: Apache-2.0
// Services and clients of Python: request and response as in node/service.hpp, with types known at run time.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "callback.hpp"
#include "endpoints_shared.hpp"

namespace baton::python {

using namespace nb::literals;

namespace {

/// The memory of a client's requests or of a server's responses; 0: the default.
PublisherOptions memory_of(std::size_t memory_limit, std::size_t max_message) {
  PublisherOptions options;
  options.memory_limit_bytes = memory_limit;
  options.max_message_bytes = max_message;
  return options;
}

/// Of the class of events; empty for a service class without one.
message::TypeHash event_hash_of(const nb::bytes& given) {
  message::TypeHash hash{};
  if (given.size() == hash.size()) std::memcpy(hash.data(), given.c_str(), hash.size());
  return hash;
}

void configure_events(baton::detail::ServiceEvents& events, const std::string& what, const message::TypeHash& hash) {
  using What = ServiceIntrospection;
  constexpr std::pair<const char*, What> kNames[] = {
      {"off", What::kOff}, {"metadata", What::kMetadata}, {"contents", What::kContents}};
  for (const auto& [name, value] : kNames) {
    if (what != name) continue;
    if (hash == message::TypeHash{})
      raise(PyExc_TypeError, "this service's class has no Event: take the class from baton.srv or baton.service()");
    const WithoutGil without;
    return events.configure(value, hash);
  }
  raise(PyExc_ValueError, "configure_introspection() takes 'off', 'metadata' or 'contents', not '" + what + "'");
}

struct PyService {
  std::shared_ptr<Callback> callback;
  std::shared_ptr<baton::detail::Executable> registration;
  std::string name;
  std::shared_ptr<baton::detail::ServiceEvents> events;
  message::TypeHash event_hash{};
};

class PythonServiceExecutable final : public baton::detail::ReaderExecutable {
 public:
  PythonServiceExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> requests,
                          const ClassRecord* request, std::shared_ptr<baton::detail::PublisherCore> responses,
                          const ClassRecord* response, std::shared_ptr<Callback> handler, std::string handler_name)
      : ReaderExecutable(std::move(group), std::move(requests)),
        request_(request),
        responses_(std::move(responses)),
        response_(response),
        handler_(std::move(handler)),
        handler_name_(std::move(handler_name)) {}

 private:
  bool on_message(transport::TakenSample&& message) override {
    if (!message.names_own_client()) return false;
    responses_->events()->received(message);
    const MessageInfo info = baton::detail::message_info(message);
    Taken taken(std::move(message));
    const WithGil gil;
    try {
      nb::object request = to_message(request_, std::move(taken));
      run_callback([&] { call_with(*reader(), request, [&] { answer(request, info); }); });
    } catch (const Exception& error) {
      baton::detail::say_unanswered(responses_->topic(), error);
    } catch (const std::bad_alloc&) {  // not of the handler, which raises Python's errors
      return say_unanswered(no_memory().message.c_str());
    } catch (const PythonError&) {  // of Baton's objects around the handler
      if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw;
      PyErr_Clear();
      return say_unanswered(no_memory().message.c_str());
    } catch (nb::python_error& error) {
      for (const Errc code : {Errc::out_of_memory, Errc::limit_reached, Errc::message_too_large})
        if (error.matches(exception_of(code))) return say_unanswered(error.what());  // of the handler itself
      throw;
    }
    return true;
  }
  void answer(const nb::object& request, const MessageInfo& info) {
    OwnedChunk* loan = make_loan(response_, responses_);
    nb::object response = nb::steal(new_root(loan));
    const nb::object returned = handler_->result(request, response);
    if (!returned.is_none() && !returned.is(response)) {
      raise(PyExc_TypeError, "the handler " + handler_name_ + " returned a " + Py_TYPE(returned.ptr())->tp_name +
                                 ", which nobody would read: fill the response that it gets, and return this response "
                                 "or nothing");
    }
    publish_loan(loan, baton::detail::answer_to(info));
  }
  bool say_unanswered(const char* why) const noexcept {
    baton::detail::say_unanswered(responses_->topic(), why);
    return true;
  }
  const ClassRecord* request_;
  std::shared_ptr<baton::detail::PublisherCore> responses_;
  const ClassRecord* response_;
  std::shared_ptr<Callback> handler_;
  std::string handler_name_;  // for errors
};

class PyClient {
 public:
  PyClient(std::shared_ptr<baton::detail::ClientCore> core, const ClassRecord* request, const ClassRecord* response,
           const message::TypeHash& event_hash)
      : core_(std::move(core)), request_(request), response_(response), event_hash_(event_hash) {}
  void configure_introspection(const std::string& what) {
    configure_events(*core_->requests()->events(), what, event_hash_);
  }
  const std::string& name() const noexcept { return core_->name(); }
  bool available() const { return core_->available(); }
  nb::object loan() const { return nb::steal(new_root(make_loan(request_, core_->requests()))); }
  /// The response to this request, or none after the timeout. One call at a time.
  nb::object call(nb::handle request, const Seconds& timeout) {
    if (polled_) {
      throw Exception({Errc::already_exists, "client '" + name() +
                                                 "' is used by an event loop (baton.aio.call); make another client for "
                                                 "call()"});
    }
    if (!waited_) {
      wait_set_.add(core_->responses()).or_throw();
      waited_ = true;
    }
    const SteadyTime deadline = deadline_after(timeout);
    const std::uint64_t number = begin(request);
    struct Reset {
      PyClient& client;
      ~Reset() { client.end(); }
    } reset{*this};
    for (;;) {
      nb::object message = response(number);
      if (!message.is_none()) return message;
      const Nanoseconds left = left_until(deadline);
      if (left <= Nanoseconds::zero()) return nb::none();
      wait_once(wait_set_, left);
    }
  }

  // call() in steps, for event loops: begin(), response() until there is one, end().
  /// Sends; returns the number of the request.
  std::uint64_t begin(nb::handle request) {
    // A flag and no mutex: a signal's handler may call again in the thread that waits.
    if (calling_) raise(PyExc_RuntimeError, "client '" + name() + "' is waiting for a response in another call");
    calling_ = true;  // before publishing, which releases the GIL
    try {
      const transport::PublishInfo info = core_->next_request();
      publish_object(request_, core_->requests(), request.ptr(), info);
      return info.correlation_sequence;
    } catch (...) {
      calling_ = false;
      throw;
    }
  }
  void end() noexcept { calling_ = false; }
  /// The response to this request, or none if it has not come.
  nb::object response(std::uint64_t number) {
    Taken taken = [&] {
      const WithoutGil without;
      return Taken(core_->take_response(number));
    }();
    return to_message(response_, std::move(taken));
  }
  /// Readable while a response may be there.
  int fileno() {
    const int descriptor = std::move(core_->responses()->pollable_fd()).or_throw();
    polled_ = true;
    return descriptor;
  }
  bool has_data() const { return core_->responses()->has_data(); }
  const std::shared_ptr<transport::Participant>& participant() const noexcept { return core_->participant(); }

 private:
  std::shared_ptr<baton::detail::ClientCore> core_;
  const ClassRecord* request_;
  const ClassRecord* response_;
  const message::TypeHash event_hash_;
  transport::WaitSet wait_set_;
  // With the GIL. `calling_` replaces ClientCore::call_mutex(), since no other object has this core.
  bool calling_ = false, waited_ = false, polled_ = false;
};

}  // namespace

void add_services(nb::module_& m, nb::class_<Node>& node_class) {
  nb::class_<PyService>(m, "Service", nb::type_slots(callback_slots<PyService>()), "A running service.")
      .def("__init__", made_by<PyService>("Service", "node.serve('switch', SetBool, handler)"))
      .def_ro("name", &PyService::name)
      .def(
          "configure_introspection",
          [](const PyService& service, const std::string& what) {
            configure_events(*service.events, what, service.event_hash);
          },
          "what"_a,
          "Publishes requests and responses on NAME/_service_event from now on, for recorders and tools: 'off', "
          "'metadata' or 'contents'.");
  nb::class_<PyClient>(m, "Client", nb::is_weak_referenceable(), "Calls a service.")
      .def("__init__", made_by<PyClient>("Client", "node.client('switch', SetBool)"))
      .def_prop_ro("name", &PyClient::name)
      .def("available", &PyClient::available)
      .def(
          "wait_for_service",
          [](const PyClient& c, Seconds timeout) {
            return wait_matched(
                *c.participant(), [&] { return c.available(); }, timeout);
          },
          "timeout"_a = nb::none())
      .def("configure_introspection", &PyClient::configure_introspection, "what"_a,
           "The same as Service.configure_introspection(), of this client's requests and responses.")
      .def("loan", &PyClient::loan, "A request in shared memory, for call().")
      .def("call", &PyClient::call, "request"_a, "timeout"_a = nb::none(), "The response, or None after the timeout.")
      .def("_begin", &PyClient::begin)
      .def("_response", &PyClient::response)
      .def("_end", &PyClient::end)
      .def("_fileno", &PyClient::fileno)
      .def("_has_data", &PyClient::has_data);
  node_class
      .def(
          "_serve",
          [](Node& node, const std::string& name, nb::handle request, nb::handle response, nb::object handler,
             std::shared_ptr<CallbackGroup> group, std::size_t memory_limit, std::size_t max_message,
             const nb::bytes& event_hash) {
            const ClassRecord* requests = record_of_class(request.ptr());
            const ClassRecord* responses = record_of_class(response.ptr());
            const nb::object name_of_handler = nb::getattr(handler, "__qualname__", nb::repr(handler));
            std::string handler_name = nb::str(name_of_handler).c_str();
            PyService service;
            service.callback = std::make_shared<Callback>(std::move(handler));
            service.event_hash = event_hash_of(event_hash);
            const WithoutGil without;
            baton::detail::ServerCore core =
                node.make_server(name, *requests->type, *responses->type, memory_of(memory_limit, max_message));
            service.name = std::move(core.name);
            service.events = core.responses->events();
            auto executable = std::make_shared<PythonServiceExecutable>(
                group_or_default(node, std::move(group)), std::move(core.requests), requests, std::move(core.responses),
                responses, service.callback, std::move(handler_name));
            service.registration = node.add(executable);
            return service;
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def(
          "_client",
          [](Node& node, const std::string& name, nb::handle request, nb::handle response, std::uint32_t held,
             std::size_t memory_limit, std::size_t max_message, const nb::bytes& event_hash) {
            const ClassRecord* requests = record_of_class(request.ptr());
            const ClassRecord* responses = record_of_class(response.ptr());
            const message::TypeHash hash = event_hash_of(event_hash);
            const WithoutGil without;
            return new PyClient(
                node.make_client(name, *requests->type, *responses->type, memory_of(memory_limit, max_message), held),
                requests, responses, hash);
          },
          nb::rv_policy::take_ownership);
}

}  // namespace baton::python
