// SPDX-License-Identifier: Apache-2.0
#include "type_support.hpp"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "baton/os/lock.hpp"
#include "baton/rosidl/introspection.hpp"
#include "interface.hpp"
#include "rcutils/error_handling.h"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"

namespace baton::rmw {

namespace {

Result<std::shared_ptr<const TypeSupport>> compile(const rosidl_message_type_support_t* handle) {
  Result<std::shared_ptr<const rosidl::NativePlan>> native = rosidl::NativePlan::compile(handle);
  if (!native) return native.error();
  Result<std::shared_ptr<const containers::NativeLoanPlan>> loans =
      containers::NativeLoanPlan::compile(handle, *native);
  if (!loans) return loans.error();
  const message::Type& type = (*native)->type();
  Result<message::CdrCodec> cdr = message::CdrCodec::compile(type);
  if (!cdr) return cdr.error();
  transport::TypeInfo info;
  info.name = type.name;
  info.hash = type.hash;
  info.definition = (*native)->definition();
  info.skeleton_bytes = type.size;
  info.fixed_size = type.fixed;
  info.ros_hash = ros_hash_of(*handle);
  return std::make_shared<const TypeSupport>(
      TypeSupport{std::move(*native), std::move(*loans), std::move(*cdr), std::move(info)});
}

/// The result for a type support: its conversions, or the reason why it has none. Beside it, what lay there: a library may be unloaded, and
/// another type's support, or that of the same type built anew, may come to lie at the same address.
struct Known {
  rosidl_message_type_support_t handle{};
  const char* introspection = nullptr;  ///< the identifier; null: none
  std::size_t size = 0;
  std::uint32_t members = 0;
  std::shared_ptr<const TypeSupport> support;
  std::optional<Error> refusal;
};

Known look_at(const rosidl_message_type_support_t* handle) {
  Known known;
  known.handle = *handle;
  if (const Result<rosidl::Introspection> found = rosidl::introspect(handle); found) {
    known.introspection = found->c ? rosidl_typesupport_introspection_c__identifier
                                   : rosidl_typesupport_introspection_cpp::typesupport_identifier;
    known.size = found->members->size_of_;
    known.members = found->members->member_count_;
  }
  return known;
}

bool is_same(const Known& known, const rosidl_message_type_support_t* handle) {
  const rosidl_message_type_support_t& was = known.handle;
  if (was.typesupport_identifier != handle->typesupport_identifier || was.data != handle->data ||
      was.func != handle->func || known.introspection == nullptr)
    return false;
  const rosidl_message_type_support_t* const found = handle->func(handle, known.introspection);
  if (found == nullptr) rcutils_reset_error();
  const auto* const members = found == nullptr ? nullptr : static_cast<const rosidl::Members*>(found->data);
  return members != nullptr && members->size_of_ == known.size && members->member_count_ == known.members;
}

}  // namespace

Result<std::shared_ptr<const TypeSupport>> type_support_of(const rosidl_message_type_support_t* handle) {
  static os::Mutex mutex;
  // Leaked: publishers of static objects may outlive static destruction. Type supports are static objects themselves.
  static auto* const types = new std::map<const rosidl_message_type_support_t*, Known>;
  const os::Lock lock(mutex);
  Known& known = (*types)[handle];
  if (!is_same(known, handle)) known = look_at(handle);
  if (known.support) return known.support;
  if (known.refusal) return *known.refusal;
  Result<std::shared_ptr<const TypeSupport>> made = compile(handle);
  if (made)
    known.support = *made;
  else if (made.error().code == Errc::unsupported)  // another error may not occur again
    known.refusal = made.error();
  return made;
}

Result<void> write_cdr(const message::CdrCodec& codec, message::Bytes bytes, rmw_serialized_message_t& serialized,
                       std::size_t unit) {
  Result<std::size_t> size = codec.encoded_size(bytes);
  if (!size) return size.error();
  const std::size_t most = (*size + unit - 1) / unit * unit;
  if (rmw_serialized_message_resize(&serialized, most) != RMW_RET_OK) {
    rcutils_reset_error();
    return Error{Errc::out_of_memory, "no memory for " + std::to_string(most) + " bytes of a serialized message"};
  }
  size = codec.encode(bytes, {serialized.buffer, *size});
  if (!size) return size.error();
  serialized.buffer_length = (*size + unit - 1) / unit * unit;
  std::memset(serialized.buffer + *size, 0, serialized.buffer_length - *size);
  return {};
}

}  // namespace baton::rmw
