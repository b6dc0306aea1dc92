// SPDX-License-Identifier: Apache-2.0
// The parameters of Node: parameter_store.hpp with the node's names.
#include "baton/node/node.hpp"
#include "node_core.hpp"

namespace baton {

ParameterValue Node::declare(const std::string& name, const ParameterValue& value, ParameterType type,
                             const ParameterDescriptor& descriptor) {
  return core_->parameters->declare(name, value, type, descriptor);
}
void Node::undeclare_parameter(const std::string& name) { core_->parameters->undeclare(name); }
bool Node::has_parameter(const std::string& name) const { return core_->parameters->has(name); }
Parameter Node::get_parameter(const std::string& name) const { return {name, core_->parameters->get(name)}; }
bool Node::has_parameter_override(const std::string& name) const { return core_->parameters->has_override(name); }
ParameterValue Node::find_parameter(const std::string& name) const { return core_->parameters->find(name); }

SetParametersResult Node::set_parameter(const Parameter& parameter) {
  return core_->parameters->set_atomically({parameter});
}
std::vector<SetParametersResult> Node::set_parameters(const std::vector<Parameter>& parameters) {
  std::vector<SetParametersResult> results;
  results.reserve(parameters.size());
  for (const Parameter& parameter : parameters) results.push_back(set_parameter(parameter));
  return results;
}
SetParametersResult Node::set_parameters_atomically(const std::vector<Parameter>& parameters) {
  return core_->parameters->set_atomically(parameters);
}

ParameterDescriptor Node::describe_parameter(const std::string& name) const {
  return core_->parameters->descriptor(name);
}
ListParametersResult Node::list_parameters(const std::vector<std::string>& prefixes, std::uint64_t depth) const {
  return core_->parameters->list(prefixes, depth);
}

std::shared_ptr<void> Node::add_on_set_parameters_callback(
    std::function<SetParametersResult(const std::vector<Parameter>&)> callback) {
  return core_->parameters->add_on_set(std::move(callback));
}
std::shared_ptr<void> Node::add_post_set_parameters_callback(
    std::function<void(const std::vector<Parameter>&)> callback) {
  return core_->parameters->add_post_set(std::move(callback));
}

}  // namespace baton
