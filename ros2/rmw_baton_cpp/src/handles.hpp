// SPDX-License-Identifier: Apache-2.0
// The handles that the application holds, the object behind each, and how a function of rmw.h checks its arguments.
//
// Thread rules: handles are immutable from creation to destruction.
// Invariants: (1) every handle carries kIdentifier, and its `data` is the object behind it. A wait set gets these objects (rcl stores `data`).
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "baton/os/hot_memory.hpp"
#include "baton/os/hot_path.hpp"
#include "context.hpp"
#include "failure.hpp"
#include "publisher_path.hpp"
#include "qos_profile.hpp"
#include "rmw/event.h"
#include "rmw/rmw.h"
#include "service_end.hpp"
#include "subscription_path.hpp"

namespace baton::rmw {

// For the files of RMW functions, which are in the global namespace.
namespace os = ::baton::os;
namespace transport = ::baton::transport;
using ::baton::Error;
using ::baton::kInfinite;
using ::baton::QoS;
using ::baton::Result;

struct Guard {
  rmw_guard_condition_t outer{};
  const std::shared_ptr<transport::GuardCondition> baton = std::make_shared<transport::GuardCondition>();
};

struct Node {
  rmw_node_t outer{};
  std::string name, space;
  Guard graph;
};

struct Publisher : os::Hot {
  rmw_publisher_t outer{};
  std::unique_ptr<PublisherPath> path;
  std::string topic;
};

struct Subscription : os::Hot {
  rmw_subscription_t outer{};
  std::shared_ptr<SubscriptionPath> path;
  std::string topic;
};

struct Service {
  rmw_service_t outer{};
  std::shared_ptr<ServiceEnd> path;
  std::string name;
};

struct Client {
  rmw_client_t outer{};
  std::shared_ptr<ServiceEnd> path;
  std::string name;
};

struct WaitSet;

// clang-format off
inline Node* own(const rmw_node_t* handle) noexcept { return static_cast<Node*>(handle->data); }
inline Guard* own(const rmw_guard_condition_t* handle) noexcept { return static_cast<Guard*>(handle->data); }
inline Publisher* own(const rmw_publisher_t* handle) noexcept { return static_cast<Publisher*>(handle->data); }
inline Subscription* own(const rmw_subscription_t* handle) noexcept { return static_cast<Subscription*>(handle->data); }
inline Service* own(const rmw_service_t* handle) noexcept { return static_cast<Service*>(handle->data); }
inline Client* own(const rmw_client_t* handle) noexcept { return static_cast<Client*>(handle->data); }
inline WaitSet* own(const rmw_wait_set_t* handle) noexcept { return static_cast<WaitSet*>(handle->data); }
// clang-format on
inline Context* own(const rmw_context_t* handle) noexcept { return reinterpret_cast<Context*>(handle->impl); }
inline Context& context_of(const rmw_node_t* node) noexcept { return *own(node->context); }

/// By address, as in every RMW, and by text, because two copies of a library have two tables of identifiers.
BATON_HOT inline bool is_ours(const char* identifier) noexcept {
  return identifier == kIdentifier || (identifier != nullptr && std::strcmp(identifier, kIdentifier) == 0);
}

template <class T, class = void>
inline constexpr bool kIsHandle = false;
template <class T>
inline constexpr bool kIsHandle<T, std::void_t<decltype(own(static_cast<const T*>(nullptr)))>> = true;

/// RMW_RET_OK, or the result, with a text, for the first argument that is null or a handle of another RMW. A `const rmw_event_t*` is a
/// handle, and a `rmw_event_t*` only where it is the one argument.
template <class T>
BATON_HOT rmw_ret_t checked_one(T* argument, bool event) noexcept {
  if (argument == nullptr) return refuse_null();
  if constexpr (kIsHandle<std::remove_const_t<T>>) {
    if (!is_ours(argument->implementation_identifier)) return refuse_foreign();
  } else if constexpr (std::is_same_v<std::remove_const_t<T>, rmw_event_t>) {
    if (event && !is_ours(argument->implementation_identifier)) return refuse_foreign();
  }
  return RMW_RET_OK;
}
template <class First, class... More>
BATON_HOT rmw_ret_t checked(First* first, More*... more) noexcept {
  rmw_ret_t result = checked_one(first, std::is_const_v<First> || sizeof...(More) == 0);
  static_cast<void>(((result == RMW_RET_OK && (result = checked_one(more, false)) != RMW_RET_OK) || ...));
  return result;
}

/// Fills in what all handles have.
template <class Own>
void begin_handle(Own& own_handle) noexcept {
  own_handle.outer.implementation_identifier = kIdentifier;
  own_handle.outer.data = &own_handle;
}

}  // namespace baton::rmw
