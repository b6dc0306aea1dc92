// SPDX-License-Identifier: Apache-2.0
#include "parameter_services.hpp"

#include <baton/msg/rcl_interfaces/parameter_event.hpp>
#include <baton/srv/rcl_interfaces/describe_parameters.hpp>
#include <baton/srv/rcl_interfaces/get_parameter_types.hpp>
#include <baton/srv/rcl_interfaces/get_parameters.hpp>
#include <baton/srv/rcl_interfaces/list_parameters.hpp>
#include <baton/srv/rcl_interfaces/set_parameters.hpp>
#include <baton/srv/rcl_interfaces/set_parameters_atomically.hpp>
#include <new>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "baton/node/time.hpp"
#include "baton/os/shortage.hpp"

namespace baton::detail {
namespace {

namespace messages = msg::rcl_interfaces;
using srv::rcl_interfaces::DescribeParameters;
using srv::rcl_interfaces::GetParameters;
using srv::rcl_interfaces::GetParameterTypes;
using srv::rcl_interfaces::ListParameters;
using srv::rcl_interfaces::SetParameters;
using srv::rcl_interfaces::SetParametersAtomically;

/// What other processes may make a node keep and compute. The node's own program sets what it wants.
constexpr std::size_t kNamesMax = 4096;  // of one request
constexpr std::size_t kRequestMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kValueMaxBytes = std::size_t{4} << 20;
constexpr std::size_t kResponseMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kResponsesMaxBytes = std::size_t{256}
                                           << 20;  // of one service, of all responses that clients keep

template <class Strings>
std::size_t bytes_of_strings(const Strings& strings) {
  std::size_t bytes = strings.size() * sizeof(std::string);
  for (const auto& one : strings) bytes += one.size();
  return bytes;
}

/// The bytes of the content. Counts all fields: `type` may say another one later, if the publisher is hostile.
std::size_t bytes_of(const messages::ParameterValue& value) {
  return std::size_t{value.string_value.size()} + value.byte_array_value.size() + value.bool_array_value.size() +
         value.integer_array_value.size() * sizeof(std::int64_t) + value.double_array_value.size() * sizeof(double) +
         bytes_of_strings(value.string_array_value);
}

/// `names`, or the parameters that a request sets, if a request may have so many. REQUIRES: nothing of the request is copied yet. Throws
/// limit_reached: then the request gets no response, and a line says why.
template <class Names>
const Names& bounded(const Names& names) {
  if (names.size() > kNamesMax) {
    throw Exception({Errc::limit_reached, "a request names " + std::to_string(names.size()) +
                                              " parameters; other processes name at most " +
                                              std::to_string(kNamesMax)});
  }
  std::size_t bytes = 0;
  if constexpr (std::is_same_v<std::decay_t<decltype(names[0])>, messages::Parameter>) {
    for (const auto& one : names) bytes += sizeof(Parameter) + one.name.size() + bytes_of(one.value);
  } else {
    bytes = bytes_of_strings(names);
  }
  if (bytes > kRequestMaxBytes) {
    throw Exception({Errc::limit_reached, "a request has names and values of " + std::to_string(bytes) +
                                              " bytes; other processes send at most " +
                                              std::to_string(kRequestMaxBytes)});
  }
  return names;
}

template <class Names>
std::vector<std::string> strings(const Names& names) {
  std::vector<std::string> all;
  for (const auto& name : names) all.emplace_back(name);
  return all;
}

void write(const ParameterValue& value, messages::ParameterValue& message) {
  message.type = static_cast<std::uint8_t>(value.type());
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) {
          message.bool_value = held;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          message.integer_value = held;
        } else if constexpr (std::is_same_v<T, double>) {
          message.double_value = held;
        } else if constexpr (std::is_same_v<T, std::string>) {
          message.string_value = held;
        } else if constexpr (std::is_same_v<T, std::vector<std::uint8_t>>) {
          message.byte_array_value.assign(held.begin(), held.end());
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
          message.bool_array_value.assign(held.begin(), held.end());
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          message.integer_array_value.assign(held.begin(), held.end());
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          message.double_array_value.assign(held.begin(), held.end());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          message.string_array_value.assign(held.begin(), held.end());
        }
      },
      value.storage());
}

ParameterValue read(const messages::ParameterValue& message) {
  switch (static_cast<ParameterType>(message.type)) {
    case ParameterType::kNotSet:
      return {};
    case ParameterType::kBool:
      return static_cast<bool>(message.bool_value);
    case ParameterType::kInteger:
      return message.integer_value;
    case ParameterType::kDouble:
      return message.double_value;
    case ParameterType::kString:
      return std::string(message.string_value);
    case ParameterType::kByteArray:
      return std::vector<std::uint8_t>(message.byte_array_value.begin(), message.byte_array_value.end());
    case ParameterType::kBoolArray:
      return std::vector<bool>(message.bool_array_value.begin(), message.bool_array_value.end());
    case ParameterType::kIntegerArray:
      return std::vector<std::int64_t>(message.integer_array_value.begin(), message.integer_array_value.end());
    case ParameterType::kDoubleArray:
      return std::vector<double>(message.double_array_value.begin(), message.double_array_value.end());
    case ParameterType::kStringArray:
      return strings(message.string_array_value);
  }
  return {};
}

Parameter read(const messages::Parameter& message) { return {std::string(message.name), read(message.value)}; }

void write(const SetParametersResult& result, messages::SetParametersResult& message) {
  message.successful = result.successful;
  message.reason = result.reason;
}

template <class Messages>
void write(const std::vector<Parameter>& parameters, Messages& message) {
  message.resize(static_cast<std::uint32_t>(parameters.size()));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto& one = message[static_cast<std::uint32_t>(i)];
    one.name = parameters[i].name();
    write(parameters[i].value(), one.value);
  }
}

void write(const std::string& name, ParameterType type, const ParameterDescriptor& descriptor,
           messages::ParameterDescriptor& message) {
  message.name = name;
  message.type = static_cast<std::uint8_t>(type);
  message.description = descriptor.description;
  message.additional_constraints = descriptor.additional_constraints;
  message.read_only = descriptor.read_only;
  message.dynamic_typing = descriptor.dynamic_typing;
  if (const auto& range = descriptor.integer_range) {
    message.integer_range.resize(1);
    message.integer_range[0].from_value = range->from_value;
    message.integer_range[0].to_value = range->to_value;
    message.integer_range[0].step = range->step;
  }
  if (const auto& range = descriptor.floating_point_range) {
    message.floating_point_range.resize(1);
    message.floating_point_range[0].from_value = range->from_value;
    message.floating_point_range[0].to_value = range->to_value;
    message.floating_point_range[0].step = range->step;
  }
}

void describe(const ParameterStore& store, const DescribeParameters::Request& request,
              DescribeParameters::Response& response) {
  const std::vector<std::string> names = strings(bounded(request.names));
  for (const std::string& name : names)
    if (!store.has(name)) return;  // an empty list, as rclcpp
  response.descriptors.resize(static_cast<std::uint32_t>(names.size()));
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    try {
      write(names[i], store.type(names[i]), store.descriptor(names[i]), response.descriptors[i]);
    } catch (const Exception& error) {
      if (error.code() != Errc::not_found) throw;  // undeclared meanwhile
    }
  }
}

/// Why another process may not set `parameter`; empty: it may.
std::string refusal(const messages::Parameter& parameter) {
  if (bytes_of(parameter.value) <= kValueMaxBytes) return {};
  return "parameter '" + std::string(parameter.name).substr(0, 100) + "': other processes set values of " +
         std::to_string(kValueMaxBytes >> 20) + " MiB at most";
}

SetParametersResult set(ParameterStore& store, const messages::Parameter& parameter) {
  std::string why = refusal(parameter);
  if (!why.empty()) return {false, std::move(why)};
  return store.set_atomically({read(parameter)});
}

template <class Parameters>
SetParametersResult set_all(ParameterStore& store, const Parameters& wanted) {
  for (const auto& parameter : wanted) {
    std::string why = refusal(parameter);
    if (!why.empty()) return {false, std::move(why)};
  }
  std::vector<Parameter> parameters;
  for (const auto& parameter : wanted) parameters.push_back(read(parameter));
  return store.set_atomically(std::move(parameters));
}

/// A response has a value as often as another process's request names it. Enough for parameters, which are small.
PublisherOptions response_memory() {
  PublisherOptions options;
  options.max_message_bytes = kResponseMaxBytes;
  options.memory_limit_bytes = kResponsesMaxBytes;
  return options;
}

template <class S, class F>
Service<S> serve(Node& node, const std::string& name, F answer) {
  const auto answer_or_throw = [answer](const auto& request, auto& response) {
    try {
      answer(request, response);
    } catch (const ProgramBadAlloc&) {  // of a callback for parameters
      throw;
    } catch (const std::bad_alloc&) {
      throw Shortage(no_memory());
    }
  };
  return node.serve<S>(name, answer_or_throw, nullptr, response_memory());
}

struct Served {
  Service<GetParameters> get;
  Service<GetParameterTypes> types;
  Service<SetParameters> set;
  Service<SetParametersAtomically> set_atomically;
  Service<DescribeParameters> describe;
  Service<ListParameters> list;
};

void publish(const Publisher<messages::ParameterEvent>& publisher, const std::string& node,
             const ParameterStore::Event& event) {
  // Nobody waits for an event, and the parameters are set already: a subscription that fell behind gets it not.
  try {
    messages::ParameterEvent message;
    message.stamp = now();
    message.node = node;
    write(event.added, message.new_parameters);
    write(event.changed, message.changed_parameters);
    write(event.deleted, message.deleted_parameters);
    Publisher<messages::ParameterEvent>(publisher).publish(message);
  } catch (const Exception&) {
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

std::shared_ptr<void> serve_parameters(Node& node, const std::shared_ptr<ParameterStore>& store) {
  auto served = std::make_shared<Served>();
  served->describe =
      serve<DescribeParameters>(node, "~/describe_parameters",
                                [store](const auto& request, auto& response) { describe(*store, request, response); });
  served->types = serve<GetParameterTypes>(node, "~/get_parameter_types", [store](const auto& request, auto& response) {
    for (const auto& name : bounded(request.names))
      response.types.push_back(static_cast<std::uint8_t>(store->type(std::string(name))));
  });
  served->get = serve<GetParameters>(node, "~/get_parameters", [store](const auto& request, auto& response) {
    const auto& names = bounded(request.names);
    response.values.resize(names.size());
    for (std::uint32_t i = 0; i < response.values.size(); ++i)
      write(store->find(std::string(names[i])), response.values[i]);
  });
  served->list = serve<ListParameters>(node, "~/list_parameters", [store](const auto& request, auto& response) {
    const ListParametersResult found = store->list(strings(bounded(request.prefixes)), request.depth);
    response.result.names.assign(found.names.begin(), found.names.end());
    response.result.prefixes.assign(found.prefixes.begin(), found.prefixes.end());
  });
  served->set = serve<SetParameters>(node, "~/set_parameters", [store](const auto& request, auto& response) {
    const auto& parameters = bounded(request.parameters);
    response.results.resize(parameters.size());
    for (std::uint32_t i = 0; i < response.results.size(); ++i) write(set(*store, parameters[i]), response.results[i]);
  });
  served->set_atomically =
      serve<SetParametersAtomically>(node, "~/set_parameters_atomically", [store](const auto& request, auto& response) {
        write(set_all(*store, bounded(request.parameters)), response.result);
      });
  auto publisher = node.advertise<messages::ParameterEvent>("/parameter_events", QoS(1000).reliable());
  store->on_event([publisher, name = node.fully_qualified_name()](const ParameterStore::Event& event) {
    publish(publisher, name, event);
  });
  return served;
}

}  // namespace baton::detail
