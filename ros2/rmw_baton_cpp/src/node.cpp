// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: nodes.
// Thread rules: those of rmw/rmw.h.
#include <memory>

#include "endpoints.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_node_t* rmw_create_node(rmw_context_t* context, const char* name, const char* namespace_) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  Context* own_context = ours(context);
  if (own_context == nullptr) return rmw->rmw_create_node(context, name, namespace_);
  rmw_node_t* made = rmw->rmw_create_node(&own_context->inner, name, namespace_);
  if (made == nullptr) return nullptr;
  Undo undo([&] { ignore(rmw->rmw_destroy_node(made)); });
  auto node = in_front_of<Node>(made);
  node->outer.context = context;
  node->graph.inner = const_cast<rmw_guard_condition_t*>(rmw->rmw_node_get_graph_guard_condition(made));
  node->graph.outer.implementation_identifier = kIdentifier;
  node->graph.outer.data = &node->graph;
  node->graph.outer.context = context;
  if (!own_context->baton_context) {
    undo.all_is_done();
    return &node.release()->outer;
  }
  node->graph.baton = std::make_shared<baton::transport::GuardCondition>();
  const std::lock_guard<std::mutex> lock(own_context->mutex);
  if (!own_context->graph_watch)
    own_context->graph_watch =
        GraphWatch::start(&own_context->inner, node->graph.inner, [baton_context = own_context->baton_context.get()] {
          baton_context->announcement().look(baton_context->participant());
        });
  if (!own_context->graph_watch) return nullptr;
  Undo unwatch([&] {
    own_context->graph_watch->remove(node->graph.baton);
    if (own_context->nodes == 0) own_context->graph_watch.reset();
  });
  own_context->graph_watch->add(node->graph.baton);
  own_context->baton_context->participant().add_node(full_name(*made));
  ++own_context->nodes;
  unwatch.all_is_done();
  undo.all_is_done();
  return &node.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_node(rmw_node_t* node) try {
  const Node* own_node = ours(node);
  if (own_node != nullptr && own_node->graph.baton) {
    Context* context = ours(own_node->outer.context);
    context->baton_context->participant().remove_node(full_name(*own_node->inner));
    const std::lock_guard<std::mutex> lock(context->mutex);
    context->graph_watch->remove(own_node->graph.baton);
    if (--context->nodes == 0) {  // what belongs to the underlying RMW's part of the context may go with the last node
      context->graph_watch.reset();
      context->baton_context->announcement().forget_context();
    }
  }
  const rmw_ret_t result = forward(&Underlying::rmw_destroy_node, node);
  if (result != RMW_RET_INVALID_ARGUMENT && result != RMW_RET_INCORRECT_RMW_IMPLEMENTATION) delete own_node;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

const rmw_guard_condition_t* rmw_node_get_graph_guard_condition(const rmw_node_t* node) {
  const Node* own_node = ours(node);
  return own_node != nullptr ? &own_node->graph.outer : forward(&Underlying::rmw_node_get_graph_guard_condition, node);
}

}  // extern "C"
