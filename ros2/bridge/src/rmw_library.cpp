// SPDX-License-Identifier: Apache-2.0
#include "rmw_library.hpp"

#include <dlfcn.h>

#include "rmw/error_handling.h"

namespace baton::bridge {

RmwLibrary load_rmw(const std::string& name) {
  const std::string file = name.find('/') == std::string::npos ? "lib" + name + ".so" : name;
  // RTLD_DEEPBIND: the library's calls of its own functions stay in it.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr) throw BridgeError("cannot load the RMW " + name + ": " + dlerror());
  RmwLibrary loaded;
#define BATON_RMW_FUNCTION(function)                                                    \
  loaded.function = reinterpret_cast<decltype(&::function)>(dlsym(library, #function)); \
  if (loaded.function == nullptr)                                                       \
    throw BridgeError(file + " has no function " #function ": it is no RMW of this ROS 2");
#include "rmw_functions.def"
#undef BATON_RMW_FUNCTION
  loaded.identifier = loaded.rmw_get_implementation_identifier();
  return loaded;
}

std::string last_rmw_error() {
  std::string text = rmw_error_is_set() ? rmw_get_error_string().str : "no reason is known";
  rmw_reset_error();
  return text;
}

void require(rmw_ret_t result, const std::string& what) {
  if (result != RMW_RET_OK) throw BridgeError(what + ": " + last_rmw_error());
}

}  // namespace baton::bridge
