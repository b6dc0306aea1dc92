// SPDX-License-Identifier: Apache-2.0
// The handles that the application holds, and the underlying RMW's handle behind each.
//
// Thread rules: handles are immutable from creation to destruction, except Endpoint::events, which rcl fills before it waits.
// Invariants: (1) what the application gets carries this RMW's identifier; what the underlying RMW gets carries its own;
// (2) inner() of a handle that is not ours returns it unchanged: the underlying RMW's calls of itself that arrive here by symbol
// interposition work, and for a stranger's handle it is the underlying RMW that reports the error.
#pragma once

#include <array>
#include <string>

#include "rmw/error_handling.h"
#include "rmw/visibility_control.h"
#include "underlying.hpp"

namespace baton::rmw {

inline constexpr const char* kIdentifier = "rmw_baton_cpp";

/// By address, as every RMW does, and by text: the table of identifiers is not the same in two copies of a library.
bool is_ours(const char* identifier) noexcept;

/// Events live as long as their endpoint: rmw_event_fini() is rmw's, not ours, and would free nothing.
using Events = std::array<rmw_event_t, RMW_EVENT_TYPE_MAX>;

struct Context {
  rmw_context_t inner;
};

struct Guard {
  rmw_guard_condition_t outer{};
  rmw_guard_condition_t* inner = nullptr;
};

struct Node {
  rmw_node_t outer{};
  rmw_node_t* inner = nullptr;
  Guard graph;
};

struct Publisher {
  rmw_publisher_t outer{};
  rmw_publisher_t* inner = nullptr;
  Events events{};
};

struct Subscription {
  rmw_subscription_t outer{};
  rmw_subscription_t* inner = nullptr;
  Events events{};
};

struct Service {
  rmw_service_t outer{};
  rmw_service_t* inner = nullptr;
};

struct Client {
  rmw_client_t outer{};
  rmw_client_t* inner = nullptr;
};

template <class Handle>
struct OursOf;
template <>
struct OursOf<rmw_node_t> {
  using type = Node;
};
template <>
struct OursOf<rmw_publisher_t> {
  using type = Publisher;
};
template <>
struct OursOf<rmw_subscription_t> {
  using type = Subscription;
};
template <>
struct OursOf<rmw_service_t> {
  using type = Service;
};
template <>
struct OursOf<rmw_client_t> {
  using type = Client;
};
template <>
struct OursOf<rmw_guard_condition_t> {
  using type = Guard;
};

/// Ours behind a handle, or null if the handle is null or not ours.
template <class Handle>
typename OursOf<std::remove_const_t<Handle>>::type* ours(Handle* handle) noexcept {
  if (handle == nullptr || !is_ours(handle->implementation_identifier)) return nullptr;
  return static_cast<typename OursOf<std::remove_const_t<Handle>>::type*>(handle->data);
}

/// The underlying RMW's handle (invariant 2).
template <class Handle>
Handle* inner(Handle* handle) noexcept {
  const auto* own = ours(handle);
  return own != nullptr ? own->inner : handle;
}

/// The underlying RMW's context, or null when `context` is not an initialised one of ours.
Context* ours(const rmw_context_t* context) noexcept;

/// What the underlying RMW filled in names it: name this one instead.
void own(rmw_message_info_t* info) noexcept;

}  // namespace baton::rmw
