// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: nodes.
// Thread rules: those of rmw/rmw.h.
#include <memory>

#include "handles.hpp"
#include "rmw/validate_namespace.h"
#include "rmw/validate_node_name.h"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_node_t* rmw_create_node(rmw_context_t* context, const char* name, const char* namespace_) try {
  if (checked(context, name, namespace_) != RMW_RET_OK) return nullptr;
  if (own(context) == nullptr) return static_cast<void>(invalid("the context is not initialized")), nullptr;
  if (own(context)->is_shut_down()) return static_cast<void>(invalid("the context is shut down")), nullptr;
  int validity = RMW_NODE_NAME_VALID;
  if (rmw_validate_node_name(name, &validity, nullptr) != RMW_RET_OK) return nullptr;
  if (validity != RMW_NODE_NAME_VALID)
    return static_cast<void>(invalid(rmw_node_name_validation_result_string(validity))), nullptr;
  if (rmw_validate_namespace(namespace_, &validity, nullptr) != RMW_RET_OK) return nullptr;
  if (validity != RMW_NAMESPACE_VALID)
    return static_cast<void>(invalid(rmw_namespace_validation_result_string(validity))), nullptr;
  own(context)->say_how_messages_go();
  auto node = std::make_unique<Node>();
  begin_handle(*node);
  begin_handle(node->graph);
  node->name = name;
  node->space = namespace_;
  node->outer.name = node->name.c_str();
  node->outer.namespace_ = node->space.c_str();
  node->outer.context = node->graph.outer.context = context;
  transport::Participant& participant = own(context)->participant();
  participant.trigger_on_graph_change(node->graph.baton);
  participant.add_node(full_name(node->outer), context->options.enclave);
  return &node.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_node(rmw_node_t* node) try {
  if (const rmw_ret_t bad = checked(node); bad != RMW_RET_OK) return bad;
  context_of(node).participant().remove_node(full_name(*node), node->context->options.enclave);
  delete own(node);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

const rmw_guard_condition_t* rmw_node_get_graph_guard_condition(const rmw_node_t* node) {
  return checked(node) == RMW_RET_OK ? &own(node)->graph.outer : nullptr;
}

}  // extern "C"
