// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: options and contexts.
// Thread rules: those of rmw/init.h.
#include <memory>

#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

/// The same options for the underlying RMW: only the identifier differs.
rmw_init_options_t inner_options(const rmw_init_options_t& options) {
  rmw_init_options_t copy = options;
  if (is_ours(copy.implementation_identifier)) copy.implementation_identifier = underlying()->identifier;
  return copy;
}

}  // namespace

extern "C" {

rmw_ret_t rmw_init_options_init(rmw_init_options_t* init_options, rcutils_allocator_t allocator) {
  const rmw_ret_t result = forward(&Underlying::rmw_init_options_init, init_options, allocator);
  if (result == RMW_RET_OK) init_options->implementation_identifier = kIdentifier;
  return result;
}

rmw_ret_t rmw_init_options_copy(const rmw_init_options_t* src, rmw_init_options_t* dst) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (src == nullptr || !is_ours(src->implementation_identifier)) return rmw->rmw_init_options_copy(src, dst);
  const rmw_init_options_t from = inner_options(*src);
  const rmw_ret_t result = rmw->rmw_init_options_copy(&from, dst);
  if (result == RMW_RET_OK) dst->implementation_identifier = kIdentifier;
  return result;
}

rmw_ret_t rmw_init_options_fini(rmw_init_options_t* init_options) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (init_options == nullptr || !is_ours(init_options->implementation_identifier))
    return rmw->rmw_init_options_fini(init_options);
  init_options->implementation_identifier = rmw->identifier;
  const rmw_ret_t result = rmw->rmw_init_options_fini(init_options);
  if (result != RMW_RET_OK) init_options->implementation_identifier = kIdentifier;
  return result;
}

rmw_ret_t rmw_init(const rmw_init_options_t* options, rmw_context_t* context) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (options == nullptr || context == nullptr || !is_ours(options->implementation_identifier))
    return rmw->rmw_init(options, context);
  if (context->implementation_identifier != nullptr) {
    RMW_SET_ERROR_MSG("expected a zero-initialized context");
    return RMW_RET_INVALID_ARGUMENT;
  }
  auto own_context = std::make_unique<Context>();
  own_context->inner = rmw_get_zero_initialized_context();
  const rmw_init_options_t from = inner_options(*options);
  rmw_ret_t result = rmw->rmw_init(&from, &own_context->inner);
  if (result != RMW_RET_OK) return result;
  Undo shut_down([&] {
    // If finalization fails, the rest is left as it is.
    if (rmw->rmw_shutdown(&own_context->inner) != RMW_RET_OK ||
        rmw->rmw_context_fini(&own_context->inner) != RMW_RET_OK)
      static_cast<void>(own_context.release());
  });
  // A second copy, which the caller sees and context_fini frees.
  result = rmw_init_options_copy(options, &context->options);
  if (result != RMW_RET_OK) return result;
  Undo clear([&] {
    ignore(rmw_init_options_fini(&context->options));
    *context = rmw_get_zero_initialized_context();
  });
  context->instance_id = options->instance_id;
  context->implementation_identifier = kIdentifier;
  context->actual_domain_id = own_context->inner.actual_domain_id;
  own_context->baton_context = BatonContext::join(*context);
  context->impl = reinterpret_cast<rmw_context_impl_t*>(own_context.release());
  clear.all_is_done();
  shut_down.all_is_done();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_shutdown(rmw_context_t* context) try {
  Context* own_context = ours(context);
  return forward(&Underlying::rmw_shutdown, own_context != nullptr ? &own_context->inner : context);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_context_fini(rmw_context_t* context) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  Context* own_context = ours(context);
  if (own_context == nullptr) return rmw->rmw_context_fini(context);
  rmw_ret_t result = rmw->rmw_context_fini(&own_context->inner);
  if (result != RMW_RET_OK) return result;
  result = rmw_init_options_fini(&context->options);
  delete own_context;
  *context = rmw_get_zero_initialized_context();
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
