// SPDX-License-Identifier: Apache-2.0
// Which ROS 2 the libraries of this process are of. A library that was built for another ROS 2 has the same name and
// the same functions, but its structs have other sizes: rmw_context_t is returned by value, and such a call would write
// behind the caller's struct. So the sizes are asked for before the first struct is passed.
//
// Thread rules: all functions from any thread.
#pragma once

#include <string>

#include "underlying.hpp"

namespace baton::rmw {

/// Empty if the process's librmw.so is of the ROS 2 that this library was built for; else what is wrong, and the way out.
std::string refusal_of_librmw();
/// The same for the underlying RMW, whose library is `file`.
std::string refusal_of(const Underlying& rmw, const std::string& file);

}  // namespace baton::rmw
