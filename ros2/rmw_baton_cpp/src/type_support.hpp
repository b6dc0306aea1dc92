// SPDX-License-Identifier: Apache-2.0
// The knowledge of a message type that a topic needs: the plan between native structs and chunks, the codec for
// serialized messages, and the type information for Baton's handshake. Compiled once per type support.
// Thread rules: all functions from any thread; a TypeSupport is immutable.
#pragma once

#include <memory>

#include "baton/message/cdr_codec.hpp"
#include "baton/native/native_loan.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "baton/transport/transport.hpp"
#include "rmw/serialized_message.h"

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

/// Writes the SFM message to `serialized`, as CDR. Makes it large enough, with zeros up to a multiple of `unit` bytes. Errors:
/// malformed_message, out_of_memory.
Result<void> write_cdr(const message::CdrCodec& codec, message::Bytes bytes, rmw_serialized_message_t& serialized,
                       std::size_t unit = 1);

/// What DDS receives comes in whole words, and programs that compare bytes of several RMWs see that.
inline constexpr std::size_t kReceivedUnit = 4;

}  // namespace baton::rmw
