// SPDX-License-Identifier: Apache-2.0
// Any generated message object as text, wherever it lives: what `std::cout << message` calls.
// Thread rules: reads the object; nobody may change it meanwhile.
#pragma once

#include <iosfwd>

#include "baton/message/type.hpp"

namespace baton::message {

struct PrintOptions;

/// Writes the YAML of print.hpp with its default options, so long arrays and strings are cut. `object` is a message of `type`
/// on the stack, on the heap, in a loan or received. Cost: what is shown, not what is there. Sets badbit if memory is short.
std::ostream& print_object(std::ostream& out, const Type& type, const void* object);
/// With other options than the default ones.
std::ostream& print_object(std::ostream& out, const Type& type, const void* object, const PrintOptions& options);

}  // namespace baton::message
