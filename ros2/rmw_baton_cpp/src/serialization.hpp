// SPDX-License-Identifier: Apache-2.0
// Serialized messages: CDR.
// Thread rules: pure functions.
#pragma once

#include "baton/message/cdr_codec.hpp"
#include "rmw/serialized_message.h"

namespace baton::rmw {

/// Writes the SFM message to `serialized`, which it makes large enough. Errors: malformed_message, out_of_memory.
Result<void> write_cdr(const message::CdrCodec& codec, message::Bytes bytes, rmw_serialized_message_t& serialized);

}  // namespace baton::rmw
