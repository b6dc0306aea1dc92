// SPDX-License-Identifier: Apache-2.0
#include "type_support.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "baton/os/lock.hpp"

namespace baton::rmw {

namespace {

constexpr std::uint8_t kRihs01 = 1;  // rosidl's type_hash.h

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
  const rosidl_type_hash_t* const hash =
      handle->get_type_hash_func == nullptr ? nullptr : handle->get_type_hash_func(handle);
  if (hash != nullptr && hash->version == kRihs01) {
    info.ros_hash.version = hash->version;
    std::copy_n(hash->value, info.ros_hash.value.size(), info.ros_hash.value.begin());
  }
  return std::make_shared<const TypeSupport>(
      TypeSupport{std::move(*native), std::move(*loans), std::move(*cdr), std::move(info)});
}

/// The result for a type support: its conversions, or the reason why it has none. `handle` is what lay there: a library may be unloaded, and
/// another type's support may come to lie at the same address.
struct Known {
  rosidl_message_type_support_t handle{};
  std::shared_ptr<const TypeSupport> support;
  std::optional<Error> refusal;
};

bool is_same(const rosidl_message_type_support_t& one, const rosidl_message_type_support_t& other) noexcept {
  return one.typesupport_identifier == other.typesupport_identifier && one.data == other.data && one.func == other.func;
}

}  // namespace

Result<std::shared_ptr<const TypeSupport>> type_support_of(const rosidl_message_type_support_t* handle) {
  static os::Mutex mutex;
  // Leaked: publishers of static objects may outlive static destruction. Type supports are static objects themselves.
  static auto* const types = new std::map<const rosidl_message_type_support_t*, Known>;
  const os::Lock lock(mutex);
  Known& known = (*types)[handle];
  if (!is_same(known.handle, *handle)) known = Known{*handle, nullptr, std::nullopt};
  if (known.support) return known.support;
  if (known.refusal) return *known.refusal;
  Result<std::shared_ptr<const TypeSupport>> made = compile(handle);
  if (made)
    known.support = *made;
  else if (made.error().code == Errc::unsupported)  // another error may not occur again
    known.refusal = made.error();
  return made;
}

}  // namespace baton::rmw
