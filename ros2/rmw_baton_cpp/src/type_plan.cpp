// SPDX-License-Identifier: Apache-2.0
#include "type_plan.hpp"

#include <map>
#include <mutex>

namespace baton::rmw {

Result<std::shared_ptr<const TypePlan>> plan_of(const rosidl_message_type_support_t* handle) {
  static std::mutex mutex;
  // Leaked: publishers of static objects may outlive static destruction. Type supports are static objects themselves.
  static auto* const plans = new std::map<const rosidl_message_type_support_t*, std::shared_ptr<const TypePlan>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const TypePlan>& known = (*plans)[handle];
  if (known) return known;
  Result<std::shared_ptr<const rosidl::NativePlan>> native = rosidl::NativePlan::compile(handle);
  if (!native) return native.error();
  Result<std::shared_ptr<const heap::NativeLoanPlan>> loans = heap::NativeLoanPlan::compile(handle, *native);
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
  known = std::make_shared<const TypePlan>(TypePlan{std::move(*native), std::move(*loans), std::move(*cdr), std::move(info)});
  return known;
}

}  // namespace baton::rmw
