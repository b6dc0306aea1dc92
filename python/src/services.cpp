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

struct PyService {
  std::shared_ptr<Callback> callback;
  std::shared_ptr<baton::detail::Executable> registration;
  std::string name;
};

class ServiceExecutable final : public baton::detail::ReaderExecutable {
 public:
  ServiceExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> requests,
                    const TypeRecord* request, std::shared_ptr<baton::detail::PublisherCore> responses,
                    const TypeRecord* response, std::shared_ptr<Callback> handler)
      : ReaderExecutable(std::move(group), std::move(requests)),
        request_(request),
        responses_(std::move(responses)),
        response_(response),
        handler_(std::move(handler)) {}

 private:
  bool on_message(transport::TakenSample message) override {
    const MessageInfo info = baton::detail::message_info(message);
    const WithGil gil;
    nb::object request = to_message(request_, std::move(message));
    Chunk* loan = make_loan(response_, responses_);
    nb::object response = nb::steal(new_root(loan));
    (*handler_)(request, response);
    publish_loan(loan, baton::detail::answer_to(info));
    return true;
  }
  const TypeRecord* request_;
  std::shared_ptr<baton::detail::PublisherCore> responses_;
  const TypeRecord* response_;
  std::shared_ptr<Callback> handler_;
};

class PyClient {
 public:
  PyClient(std::shared_ptr<baton::detail::ClientCore> core, const TypeRecord* request, const TypeRecord* response)
      : core_(std::move(core)), request_(request), response_(response) {
    wait_set_.add(core_->responses()).or_throw();
  }
  const std::string& name() const noexcept { return core_->name(); }
  bool available() const { return core_->available(); }
  nb::object loan() const { return nb::steal(new_root(make_loan(request_, core_->requests()))); }
  /// The response to this request, or none after the timeout. One call at a time.
  nb::object call(nb::handle request, const Seconds& timeout) {
    // A flag and no mutex: a signal's handler may call again in the thread that waits.
    if (calling_) raise(PyExc_RuntimeError, "client '" + name() + "' is waiting for a response in another call");
    struct Reset {
      bool& flag;
      ~Reset() { flag = false; }
    } reset{calling_};
    calling_ = true;
    const SteadyTime deadline = deadline_after(timeout);
    const transport::PublishInfo info = core_->next_request();
    publish_object(request_, core_->requests(), request.ptr(), info);
    for (;;) {
      Result<transport::TakenSample> taken = [&] {
        const WithoutGil without;
        return core_->take_response(info.correlation_sequence);
      }();
      if (!taken.ok() || *taken) return to_message(response_, std::move(taken));
      const Nanoseconds left = left_until(deadline);
      if (left <= Nanoseconds::zero()) return nb::none();
      wait_once(wait_set_, left);
    }
  }
  const std::shared_ptr<transport::Participant>& participant() const noexcept { return core_->participant(); }

 private:
  std::shared_ptr<baton::detail::ClientCore> core_;
  const TypeRecord* request_;
  const TypeRecord* response_;
  transport::WaitSet wait_set_;
  bool calling_ = false;  // GIL; replaces ClientCore::call_mutex(), since no other object has this core
};

}  // namespace

void add_services(nb::module_& m, nb::class_<Node>& node_class) {
  nb::class_<PyService>(m, "Service", nb::type_slots(callback_slots<PyService>()), "A running service.")
      .def_ro("name", &PyService::name);
  nb::class_<PyClient>(m, "Client", "Calls a service.")
      .def_prop_ro("name", &PyClient::name)
      .def("available", &PyClient::available)
      .def(
          "wait_for_service",
          [](const PyClient& c, Seconds timeout) {
            return wait_matched(
                *c.participant(), [&] { return c.available(); }, timeout);
          },
          "timeout"_a = nb::none())
      .def("loan", &PyClient::loan, "A request in shared memory, for call().")
      .def("call", &PyClient::call, "request"_a, "timeout"_a = nb::none(), "The response, or None after the timeout.");
  node_class
      .def(
          "_serve",
          [](Node& node, const std::string& name, nb::handle request, nb::handle response, nb::object handler,
             std::shared_ptr<CallbackGroup> group) {
            const TypeRecord* requests = record_of_class(request.ptr());
            const TypeRecord* responses = record_of_class(response.ptr());
            PyService service;
            service.name = Node::absolute(name);
            service.callback = std::make_shared<Callback>(std::move(handler));
            const WithoutGil without;
            auto executable = std::make_shared<ServiceExecutable>(
                group_or_default(node, std::move(group)),
                node.make_reader(baton::detail::request_topic(name), *requests->type, baton::detail::request_qos()),
                requests,
                node.make_publisher(baton::detail::response_topic(name), *responses->type,
                                    baton::detail::response_qos(), {}),
                responses, service.callback);
            service.registration = node.add(executable);
            return service;
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "_client",
          [](Node& node, const std::string& name, nb::handle request, nb::handle response) {
            const TypeRecord* requests = record_of_class(request.ptr());
            const TypeRecord* responses = record_of_class(response.ptr());
            const WithoutGil without;
            return new PyClient(node.make_client(name, *requests->type, *responses->type), requests, responses);
          },
          nb::rv_policy::take_ownership);
}

}  // namespace baton::python
