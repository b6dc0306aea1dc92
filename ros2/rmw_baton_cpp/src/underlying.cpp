// SPDX-License-Identifier: Apache-2.0
#include "underlying.hpp"

#include <dlfcn.h>

#include <string>

#include "baton/os/environment.hpp"
#include "baton/os/hot_path.hpp"
#include "distribution.hpp"
#include "failure.hpp"
#include "handles.hpp"
#include "rmw/error_handling.h"

namespace baton::rmw {
namespace {

struct Loaded {
  Underlying functions;
  std::string error;
};

int load_flags() {
#if defined(__SANITIZE_ADDRESS__)
  return RTLD_NOW | RTLD_LOCAL;
#else
  return RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
}

Loaded load() {
  Loaded loaded;
  loaded.error = refusal_of_librmw();
  if (!loaded.error.empty()) return loaded;
  const char* wanted = os::environment("BATON_RMW");
  const std::string name = wanted != nullptr && *wanted != '\0' ? wanted : "rmw_fastrtps_cpp";
  const std::string file = "lib" + name + ".so";
  void* library = dlopen(file.c_str(), load_flags());
  if (library == nullptr) {
    loaded.error = "rmw_baton_cpp cannot load its underlying RMW (BATON_RMW=" + name + "): " + dlerror();
    return loaded;
  }
  Underlying& functions = loaded.functions;
#define BATON_RMW_FUNCTION(function)                                                       \
  functions.function = reinterpret_cast<decltype(&::function)>(dlsym(library, #function)); \
  if (functions.function == nullptr && loaded.error.empty())                               \
    loaded.error = file + " has no function " #function ": it is of another ROS 2 version";
#include "underlying_functions.def"
#undef BATON_RMW_FUNCTION
  if (!loaded.error.empty()) return loaded;
  functions.identifier = functions.rmw_get_implementation_identifier();
  loaded.error = is_ours(functions.identifier)
                     ? "BATON_RMW=" + name + " is rmw_baton_cpp itself: name another RMW"
                     : refusal_of(functions.rmw_init_options_init, functions.rmw_init_options_fini, file);
  return loaded;
}

}  // namespace

BATON_HOT const Underlying* underlying() noexcept try {
  // Leaked: threads of the underlying RMW may outlive static destruction.
  static const Loaded* const loaded = new Loaded(load());
  if (loaded->error.empty()) return &loaded->functions;
  RMW_SET_ERROR_MSG(loaded->error.c_str());
  return nullptr;
} catch (const std::exception& error) {  // the next call tries again
  return failure(error);
}

}  // namespace baton::rmw
