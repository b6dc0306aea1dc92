// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: options and contexts.
// Thread rules: those of rmw/init.h.
#include <dlfcn.h>

#include <memory>
#include <string>

#include "baton/rosidl/ros2_version.hpp"
#include "distribution.hpp"
#include "handles.hpp"
#include "interface.hpp"
#include "rcutils/strdup.h"
#include "rmw/init.h"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

/// Copies of what `src` owns; `dst` is what it points to, in part, after an error.
rmw_ret_t copy_owned(const rmw_init_options_t& src, rmw_init_options_t* dst) {
  dst->enclave = nullptr;
  dst->security_options = rmw_get_zero_initialized_security_options();
  clear_discovery(dst);
  if (src.enclave != nullptr) {
    dst->enclave = rcutils_strdup(src.enclave, src.allocator);
    if (dst->enclave == nullptr) return RMW_RET_BAD_ALLOC;
  }
  const rmw_ret_t copied = rmw_security_options_copy(&src.security_options, &src.allocator, &dst->security_options);
  return copied == RMW_RET_OK ? copy_discovery(src, dst) : copied;
}

rmw_ret_t end_owned(rmw_init_options_t* options) {
  rcutils_allocator_t allocator = options->allocator;
  allocator.deallocate(options->enclave, allocator.state);
  options->enclave = nullptr;
  const rmw_ret_t discovery = fini_discovery(options);
  const rmw_ret_t security = rmw_security_options_fini(&options->security_options, &allocator);
  return discovery != RMW_RET_OK ? discovery : security;
}

/// The wheels' librcl.so names an RMW itself. That RMW knows the sizes of rcl's structs where a librmw.so of another ROS 2 was loaded first.
std::string refusal_of_rcl() {
  constexpr const char* kNamed = "librmw_fastrtps_cpp.so";
  void* const library = ::dlopen(kNamed, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "";
  const auto init = reinterpret_cast<decltype(&rmw_init_options_init)>(::dlsym(library, "rmw_init_options_init"));
  const auto fini = reinterpret_cast<decltype(&rmw_init_options_fini)>(::dlsym(library, "rmw_init_options_fini"));
  std::string why = init != nullptr && fini != nullptr ? refusal_of(init, fini, kNamed) : "";
  ::dlclose(library);
  return why;
}

/// A librmw_implementation.so has the functions of its own ROS 2's rmw.h, where a librmw.so of another ROS 2 was loaded first: that of a
/// library of the build tree, which is preloaded.
std::string refusal_of_implementation() {
  constexpr const char* kFile = "librmw_implementation.so";
  void* const library = ::dlopen(kFile, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "";
  const bool is_later = ::dlsym(library, "rmw_count_services") != nullptr;  // than Humble
  ::dlclose(library);
  if (is_later == !BATON_ROS2_HUMBLE) return "";
  return refusal(kFile, is_later ? "a later ROS 2" : "ROS 2 Humble");
}

rmw_ret_t check_context(const rmw_context_t* context) {
  if (context == nullptr) return refuse_null();
  if (context->implementation_identifier == nullptr || context->impl == nullptr)
    return invalid("the context is not initialized");
  return is_ours(context->implementation_identifier) ? RMW_RET_OK : refuse_foreign();
}

}  // namespace

extern "C" {

rmw_ret_t rmw_init_options_init(rmw_init_options_t* init_options, rcutils_allocator_t allocator) try {
  static const std::string refusal = [] {
    std::string why = refusal_of_librmw();
    if (why.empty()) why = refusal_of_implementation();
    return why.empty() ? refusal_of_rcl() : why;
  }();
  if (!refusal.empty()) {
    RMW_SET_ERROR_MSG(refusal.c_str());
    return RMW_RET_ERROR;
  }
  if (const rmw_ret_t bad = checked(init_options); bad != RMW_RET_OK) return bad;
  if (!rcutils_allocator_is_valid(&allocator)) return invalid("the allocator is not valid");
  if (init_options->implementation_identifier != nullptr) return invalid("expected zero-initialized options");
  *init_options = rmw_get_zero_initialized_init_options();
  init_options->implementation_identifier = kIdentifier;
  init_options->allocator = allocator;
  init_options->domain_id = RMW_DEFAULT_DOMAIN_ID;
  init_options->security_options = rmw_get_default_security_options();
  return init_discovery(init_options);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_init_options_copy(const rmw_init_options_t* src, rmw_init_options_t* dst) try {
  if (const rmw_ret_t bad = checked(src, dst); bad != RMW_RET_OK) return bad;
  if (src->implementation_identifier == nullptr) return invalid("expected initialized options to copy");
  if (!is_ours(src->implementation_identifier)) return refuse_foreign();
  if (dst->implementation_identifier != nullptr) return invalid("expected zero-initialized options to fill");
  rmw_init_options_t made = *src;
  const rmw_ret_t copied = copy_owned(*src, &made);
  if (copied != RMW_RET_OK) {
    ignore(end_owned(&made));
    return copied;
  }
  *dst = made;
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_init_options_fini(rmw_init_options_t* init_options) {
  if (const rmw_ret_t bad = checked(init_options); bad != RMW_RET_OK) return bad;
  if (init_options->implementation_identifier == nullptr) return invalid("expected initialized options");
  if (!is_ours(init_options->implementation_identifier)) return refuse_foreign();
  const rmw_ret_t result = end_owned(init_options);
  *init_options = rmw_get_zero_initialized_init_options();
  return result;
}

rmw_ret_t rmw_init(const rmw_init_options_t* options, rmw_context_t* context) try {
  if (options == nullptr || context == nullptr) return refuse_null();
  if (options->implementation_identifier == nullptr) return invalid("expected initialized options");
  if (!is_ours(options->implementation_identifier)) return refuse_foreign();
  if (options->enclave == nullptr) return invalid("expected options with an enclave");
  if (context->implementation_identifier != nullptr) return invalid("expected a zero-initialized context");
  Undo clear([&] { *context = rmw_get_zero_initialized_context(); });
  // A copy, which the caller sees and context_fini frees.
  if (const rmw_ret_t copied = rmw_init_options_copy(options, &context->options); copied != RMW_RET_OK) return copied;
  Undo forget([&] { ignore(rmw_init_options_fini(&context->options)); });
  Result<std::unique_ptr<Context>> joined = Context::join(*options);
  if (!joined) {
    const rmw_ret_t result = failed(joined.error());
    return result == RMW_RET_UNSUPPORTED ? RMW_RET_ERROR : result;  // rcl reports the text of an error only
  }
  context->instance_id = options->instance_id;
  context->implementation_identifier = kIdentifier;
  context->actual_domain_id = static_cast<std::size_t>((*joined)->participant().domain());
  context->impl = reinterpret_cast<rmw_context_impl_t*>(joined->release());
  forget.all_is_done();
  clear.all_is_done();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_shutdown(rmw_context_t* context) {
  if (const rmw_ret_t bad = check_context(context); bad != RMW_RET_OK) return bad;
  own(context)->shut_down();
  return RMW_RET_OK;
}

rmw_ret_t rmw_context_fini(rmw_context_t* context) try {
  if (const rmw_ret_t bad = check_context(context); bad != RMW_RET_OK) return bad;
  if (!own(context)->is_shut_down()) return invalid("the context is not shut down");
  delete own(context);
  const rmw_ret_t result = rmw_init_options_fini(&context->options);
  *context = rmw_get_zero_initialized_context();
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
