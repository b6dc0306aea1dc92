// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

#include <cstring>

namespace baton::rmw {

[[gnu::hot]] bool is_ours(const char* identifier) noexcept {
  return identifier == kIdentifier || (identifier != nullptr && std::strcmp(identifier, kIdentifier) == 0);
}

Context* ours(const rmw_context_t* context) noexcept {
  if (context == nullptr || !is_ours(context->implementation_identifier)) return nullptr;
  return reinterpret_cast<Context*>(context->impl);
}

const std::shared_ptr<BatonContext>& baton_context_of(const Node& node) noexcept {
  return ours(node.outer.context)->baton_context;
}

[[gnu::hot]] void own(rmw_message_info_t* info) noexcept {
  if (info != nullptr) info->publisher_gid.implementation_identifier = kIdentifier;
}

}  // namespace baton::rmw
