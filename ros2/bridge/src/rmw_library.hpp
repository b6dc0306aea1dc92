// SPDX-License-Identifier: Apache-2.0
// An RMW by its name, loaded beside another one: its functions are called through a table, since both libraries define the same symbols.
// Thread rules: immutable once loaded. Never unloaded, for an RMW's threads may outlive main().
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "baton/rosidl/ros2_version.hpp"
#include "rmw/get_service_names_and_types.h"
#include "rmw/get_topic_endpoint_info.h"
#include "rmw/get_topic_names_and_types.h"
#include "rmw/init.h"
#include "rmw/rmw.h"

namespace baton::bridge {

/// What an RMW, or this process's surroundings, refused; the text is for people.
class BridgeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RmwLibrary {
  std::string identifier;  ///< what the RMW calls itself: rmw_fastrtps_cpp
#define BATON_RMW_FUNCTION(name) decltype(&::name) name = nullptr;
#include "rmw_functions.def"
#undef BATON_RMW_FUNCTION
};

/// `name`: an RMW as in RMW_IMPLEMENTATION, or the path of its library. Throws BridgeError.
RmwLibrary load_rmw(const std::string& name);

/// The text of the last error of rmw's functions in this thread, which is forgotten with that.
std::string last_rmw_error();
/// For a function whose failure changes nothing for the caller: its error is not left for the next one.
inline void forget(rmw_ret_t result) {
  if (result != RMW_RET_OK) last_rmw_error();
}
/// Throws BridgeError with `what` and the last error unless `result` is RMW_RET_OK.
void require(rmw_ret_t result, const std::string& what);
/// The same for a function that returns an object, null after an error.
template <class T>
T* require(T* made, const std::string& what) {
  if (made == nullptr) throw BridgeError(what + ": " + last_rmw_error());
  return made;
}
/// An object of an RMW, with the function that ends it.
template <class T>
using Owned = std::unique_ptr<T, std::function<void(T*)>>;

}  // namespace baton::bridge
