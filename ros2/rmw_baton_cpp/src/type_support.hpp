// SPDX-License-Identifier: Apache-2.0
// The knowledge of a message type that a topic needs: the plan between native structs and chunks, the codec for
// serialized messages, and the type information for Baton's handshake. Compiled once per type support.
// Thread rules: type_support_of() from any thread; a TypeSupport is immutable.
#pragma once

#include <memory>

#include "baton/message/cdr_codec.hpp"
#include "baton/native/native_loan.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "baton/transport/transport.hpp"

namespace baton::rmw {

struct TypeSupport {
  std::shared_ptr<const rosidl::NativePlan> native;
  std::shared_ptr<const containers::NativeLoanPlan> loans;
  message::CdrCodec cdr;
  transport::TypeInfo info;
};

/// Errors: unsupported for a type that cannot be in a chunk, or whose native struct has an unknown layout
/// (baton/rosidl/introspection.hpp).
Result<std::shared_ptr<const TypeSupport>> type_support_of(const rosidl_message_type_support_t* handle);

}  // namespace baton::rmw
