// SPDX-License-Identifier: Apache-2.0
// Any generated message object as text, in whatever memory it lies: `std::cout << message` calls it.
// Thread rules: reads the object; no other thread may change it meanwhile.
#pragma once

#include <iosfwd>

#include "baton/message/type.hpp"

namespace baton::message {

struct PrintOptions;

/// Writes the YAML of print.hpp with its default options, so long arrays and strings are cut. `object` is a message of
/// `type` on the stack, on the heap, in a loan or received. The cost depends on the bytes shown, not on the message's
/// size. Sets badbit if memory is short.
std::ostream& print_object(std::ostream& out, const Type& type, const void* object);
/// Writes with other options than the default ones.
std::ostream& print_object(std::ostream& out, const Type& type, const void* object, const PrintOptions& options);

}  // namespace baton::message
