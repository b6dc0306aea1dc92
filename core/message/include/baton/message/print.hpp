// SPDX-License-Identifier: Apache-2.0
// A message as text for people, by its descriptor: YAML as `ros2 topic echo` prints it.
// Thread rules: pure function; the message may be untrusted (words are fetched once and checked).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

struct PrintOptions {
  /// Elements shown of each array or sequence; the rest is the entry '...'. 0: all.
  std::size_t max_elements = 128;
  /// Bytes shown of each string (a UTF-8 sequence is not cut), followed by '...'. 0: all.
  std::size_t max_string_bytes = 128;
  /// Arrays of scalars and strings as [1, 2, 3] instead of one element a line.
  bool flow_arrays = false;
  /// Leaves out Header.seq, which ROS 2 does not have.
  bool hide_header_seq = false;
};

/// YAML, one field a line, ended by a newline ("{}\n" for a message without fields). Floating-point values are printed
/// with the digits needed to read the same value back. Bytes of strings that are no UTF-8 are shown as U+FFFD. Error:
/// malformed_message, naming the field.
Result<std::string> print(const Type& type, Bytes message, const PrintOptions& options = {});

/// A string as a YAML scalar, in quotes where YAML would read something else. Bytes that are no UTF-8 become U+FFFD, and
/// characters that steer terminals become escapes. `max_bytes` is that of PrintOptions; 0: all.
std::string yaml_of(std::string_view text, std::size_t max_bytes = 0);

}  // namespace baton::message
