// SPDX-License-Identifier: Apache-2.0
// Which ROS 2 the libraries of this process are of. A library that was built for another ROS 2 has the same name and
// the same functions, but its structs have other sizes: rmw_context_t is returned by value, and such a call would write
// behind the caller's struct. So the sizes are asked for before the first struct is passed.
//
// Thread rules: all functions from any thread.
#pragma once

#include <string>

#include "rmw/init_options.h"

namespace baton::rmw {

/// Empty if the process's librmw.so is of the ROS 2 that this library was built for; else what is wrong, and the way out.
std::string refusal_of_librmw();
/// The same for another RMW, whose library is `file`, by its two functions of these names.
std::string refusal_of(decltype(&rmw_init_options_init) init, decltype(&rmw_init_options_fini) fini,
                       const std::string& file);
/// What is wrong, and the way out, where `file` is of the ROS 2 `theirs`.
std::string refusal(const std::string& file, const std::string& theirs);

}  // namespace baton::rmw
