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

class ServiceExecutable final : public baton::detail::Executable {
 public:
  ServiceExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> requests,
                    const TypeRecord* request, std::shared_ptr<baton::detail::PublisherCore> responses,
                    const TypeRecord* response, std::shared_ptr<Callback> handler)
      : Executable(std::move(group)),
        requests_(std::move(requests)),
        request_(request),
        responses_(std::move(responses)),
        response_(response),
        handler_(std::move(handler)) {}
  const std::shared_ptr<transport::Reader>& reader() const noexcept override { return requests_; }
  bool ready() const override { return requests_->has_data(); }
  bool execute() override {
    transport::TakenSample taken = baton::detail::take_for_callback(*requests_);
    if (!taken) return false;
    const MessageInfo info = baton::detail::message_info(taken);
    const WithGil gil;
    nb::object request = to_message(request_, std::move(taken));
    Chunk* loan = make_loan(response_, responses_);
    nb::object response = nb::steal(new_root(loan));
    (*handler_)(request, response);
    publish_loan(loan, baton::detail::answer_to(info));
    return true;
  }

 private:
  std::shared_ptr<transport::Reader> requests_;
  const TypeRecord* request_;
  std::shared_ptr<baton::detail::PublisherCore> responses_;
  const TypeRecord* response_;
  std::shared_ptr<Callback> handler_;
};

class PyClient {
 public:
  PyClient(PyPublisher requests, std::shared_ptr<transport::Reader> responses, const TypeRecord* response,
           std::string name)
      : requests_(std::move(requests)), responses_(std::move(responses)), response_(response), name_(std::move(name)) {
    wait_set_.add(responses_).or_throw();
  }
  const std::string& name() const noexcept { return name_; }
  bool available() const { return requests_.core->writer->matched() > 0 && responses_->matched() > 0; }
  nb::object loan() const { return requests_.loan(); }
  /// The response to this request, or none after the timeout. One call at a time.
  nb::object call(nb::handle request, const Seconds& timeout) {
    if (calling_) raise(PyExc_RuntimeError, "client '" + name_ + "' is waiting for a response in another thread");
    struct Reset {
      bool& flag;
      ~Reset() { flag = false; }
    } reset{calling_};
    calling_ = true;
    const SteadyTime deadline = deadline_after(timeout);
    transport::PublishInfo info;
    info.correlation_client = responses_->gid();
    info.correlation_sequence = ++sequence_;
    publish_object(requests_.record, requests_.core, request.ptr(), info);
    for (;;) {
      for (;;) {
        Result<transport::TakenSample> taken = take_from(*responses_);
        if (!taken.ok()) throw Exception(taken.error());
        if (!*taken) break;
        const MessageInfo got = baton::detail::message_info(*taken);
        if (got.correlation_client == info.correlation_client && got.correlation_sequence == info.correlation_sequence)
          return to_message(response_, std::move(taken));
      }
      const Nanoseconds left = left_until(deadline);
      if (left <= Nanoseconds::zero()) return nb::none();
      wait_once(wait_set_, left);
    }
  }
  const std::shared_ptr<transport::Participant>& participant() const noexcept { return requests_.participant; }

 private:
  PyPublisher requests_;
  std::shared_ptr<transport::Reader> responses_;
  const TypeRecord* response_;
  std::string name_;
  transport::WaitSet wait_set_;
  std::uint64_t sequence_ = 0;
  bool calling_ = false;  // GIL
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
            auto reader =
                node.make_reader(baton::detail::response_topic(name), *responses->type, baton::detail::response_qos());
            PyPublisher publisher{node.make_publisher(baton::detail::request_topic(name), *requests->type,
                                                      baton::detail::request_qos(), {}),
                                  requests, node.participant()};
            return new PyClient(std::move(publisher), std::move(reader), responses, Node::absolute(name));
          },
          nb::rv_policy::take_ownership);
}

}  // namespace baton::python
