// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

#include "baton/os/environment.hpp"
#include "rmw_library.hpp"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_c/service_introspection.h"

namespace baton::bridge {
namespace {

/// The library is never closed: endpoints of the RMWs keep pointers into it.
void* open_package(const std::string& package) {
  const std::string file = "lib" + package + "__rosidl_typesupport_c.so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* prefixes = os::environment("AMENT_PREFIX_PATH");
  std::istringstream all(prefixes != nullptr ? prefixes : "");
  for (std::string prefix; library == nullptr && std::getline(all, prefix, ':');)
    library = dlopen((prefix + "/lib/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  return library;
}

/// `kind`: "message" or "service", as in the names of type supports' functions.
template <class Support>
const Support* find_support(const std::string& type, const char* kind) {
  std::string package, folder, name;
  std::istringstream parts(type);
  if (!std::getline(parts, package, '/') || !std::getline(parts, folder, '/') || !std::getline(parts, name))
    throw BridgeError("'" + type + "' is no type of ROS 2");
  void* library = open_package(package);
  if (library == nullptr)
    throw BridgeError("this host does not know the type " + type + ": install the package " + package);
  const std::string symbol = std::string("rosidl_typesupport_c__get_") + kind + "_type_support_handle__" + package +
                             "__" + folder + "__" + name;
  auto* function = reinterpret_cast<const Support* (*)()>(dlsym(library, symbol.c_str()));
  if (function == nullptr) throw BridgeError("this host's package " + package + " has no type " + type);
  return function();
}

using Members = rosidl_typesupport_introspection_c__MessageMembers;

Native make(const void* described) {
  const auto* members = static_cast<const Members*>(described);
  void* memory = std::calloc(1, members->size_of_);
  if (memory == nullptr) return nullptr;
  members->init_function(memory, ROSIDL_RUNTIME_C_MSG_INIT_ALL);
  return {memory, [members](void* message) {
            members->fini_function(message);
            std::free(message);
          }};
}

}  // namespace

const rosidl_message_type_support_t* message_type(const std::string& type) {
  return find_support<rosidl_message_type_support_t>(type, "message");
}

ServiceType service_type(const std::string& type) {
  ServiceType found;
  found.support = find_support<rosidl_service_type_support_t>(type, "service");
  const rosidl_service_type_support_t* introspection =
      found.support->func(found.support, rosidl_typesupport_introspection_c__identifier);
  if (introspection == nullptr)
    throw BridgeError("the type " + type + " has no introspection type support: " + last_rmw_error());
  const auto* members = static_cast<const rosidl_typesupport_introspection_c__ServiceMembers*>(introspection->data);
  found.request_members_ = members->request_members_;
  found.response_members_ = members->response_members_;
  return found;
}

Native ServiceType::make_request() const { return make(request_members_); }
Native ServiceType::make_response() const { return make(response_members_); }

}  // namespace baton::bridge
