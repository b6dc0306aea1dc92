// SPDX-License-Identifier: Apache-2.0
// The handles that the application holds, and the underlying RMW's handle behind each.
//
// Thread rules: handles are immutable from creation to destruction, except events, which rcl fills before it waits, and
// members that have locks of their own.
// Invariants: (1) handles for the application carry this RMW's identifier; handles for the underlying RMW carry its
// own; (2) inner() of a handle that is not ours returns the handle unchanged. So calls of the underlying RMW to itself
// that arrive by symbol interposition work, and the underlying RMW reports the error for a foreign handle.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>

#include "baton/os/clock.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/hot_path.hpp"
#include "baton_context.hpp"
#include "event.hpp"
#include "failure.hpp"
#include "graph_watch.hpp"
#include "publisher_path.hpp"
#include "ready_signal.hpp"
#include "rmw/error_handling.h"
#include "rmw/visibility_control.h"
#include "service_path.hpp"
#include "subscription_path.hpp"
#include "underlying.hpp"

namespace baton::rmw {

// For the files of RMW functions, which are in the global namespace.
namespace os = ::baton::os;
namespace transport = ::baton::transport;
using ::baton::kInfinite;
using ::baton::Result;

inline constexpr const char* kIdentifier = "rmw_baton_cpp";

/// By address, as in every RMW, and by text, because two copies of a library have two tables of identifiers.
BATON_HOT inline bool is_ours(const char* identifier) noexcept {
  return identifier == kIdentifier || (identifier != nullptr && std::strcmp(identifier, kIdentifier) == 0);
}

struct Context {
  rmw_context_t inner;
  std::shared_ptr<BatonContext> baton_context;  // null: only the underlying RMW is used
  std::mutex mutex;
  std::unique_ptr<GraphWatch> graph_watch;  // while there are nodes
  std::size_t nodes = 0;
};

struct Guard {
  rmw_guard_condition_t outer{};
  rmw_guard_condition_t* inner = nullptr;
  std::shared_ptr<transport::GuardCondition> baton;  // null: without Baton, `inner` is used
};

struct Node {
  rmw_node_t outer{};
  rmw_node_t* inner = nullptr;
  Guard graph;
};

struct Publisher : os::Hot {
  rmw_publisher_t* inner = nullptr;
  bool watched = false;  // the underlying RMW uses our signals, since our wait sets do not sleep there
  Events events;
  rmw_publisher_t outer{};              // each message touches the last two
  std::unique_ptr<PublisherPath> path;  // null: not served by Baton
};

struct Subscription : os::Hot {
  std::shared_ptr<SubscriptionPath> path;  // null: not served by Baton
  rmw_subscription_t outer{};              // each message touches the beginnings of these three
  ReadySignal signal;
  rmw_subscription_t* inner = nullptr;
  bool watched = false;
  Events events;
  std::size_t depth = 1;
  std::shared_ptr<SubscriptionPath>
      lender;  // used while it was served, until a content filter was set while the application had loans
};

struct Service {
  rmw_service_t outer{};
  rmw_service_t* inner = nullptr;
  bool watched = false;
  ReadySignal signal;
  std::unique_ptr<ServerPath> path;  // null: not served by Baton
};

struct Client {
  rmw_client_t outer{};
  rmw_client_t* inner = nullptr;
  const rmw_node_t* inner_node = nullptr;
  bool watched = false;
  ReadySignal signal;
  std::unique_ptr<ClientPath> path;  // null: not served by Baton
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

/// The object of ours behind a handle, or null if the handle is null or not ours.
template <class Handle>
typename OursOf<std::remove_const_t<Handle>>::type* ours(Handle* handle) noexcept {
  if (handle == nullptr || !is_ours(handle->implementation_identifier)) return nullptr;
  return static_cast<typename OursOf<std::remove_const_t<Handle>>::type*>(handle->data);
}

/// The path of an endpoint, service or client that Baton serves; else null.
template <class Handle>
auto path_of(const Handle* handle) noexcept {
  const auto* own = ours(handle);
  return own != nullptr ? own->path.get() : nullptr;
}

/// The underlying RMW's handle (invariant 2).
template <class Handle>
Handle* inner(Handle* handle) noexcept {
  const auto* own = ours(handle);
  return own != nullptr ? own->inner : handle;
}

/// Makes a handle of ours in front of the underlying RMW's.
template <class Own, class Handle>
std::unique_ptr<Own> in_front_of(Handle* made) {
  auto own_handle = std::make_unique<Own>();
  own_handle->inner = made;
  own_handle->outer = *made;
  own_handle->outer.implementation_identifier = kIdentifier;
  own_handle->outer.data = own_handle.get();
  return own_handle;
}

template <class T, class = void>
inline constexpr bool kIsHandle = false;
template <class T>
inline constexpr bool kIsHandle<T*, std::void_t<typename OursOf<std::remove_const_t<T>>::type>> = true;

/// Calls a function of the underlying RMW with its handles in place of ours.
template <class Function, class... Arguments>
auto forward(Function Underlying::*function, Arguments... arguments) {
  const auto translated = [](auto argument) {
    if constexpr (kIsHandle<decltype(argument)>)
      return inner(argument);
    else
      return argument;
  };
  using Returned = decltype((underlying()->*function)(translated(arguments)...));
  if (const Underlying* rmw = underlying()) return (rmw->*function)(translated(arguments)...);
  if constexpr (std::is_same_v<Returned, rmw_ret_t>)
    return RMW_RET_ERROR;
  else
    return Returned{};
}

/// The underlying RMW's context, or null when `context` is not an initialised one of ours.
inline Context* ours(const rmw_context_t* context) noexcept {
  if (context == nullptr || !is_ours(context->implementation_identifier)) return nullptr;
  return reinterpret_cast<Context*>(context->impl);
}

/// The BatonContext of a node's context; null without Baton.
inline const std::shared_ptr<BatonContext>& baton_context_of(const Node& node) noexcept {
  return ours(node.outer.context)->baton_context;
}

/// The underlying RMW has filled `info` with its identifier. Replaces it by this RMW's identifier.
BATON_HOT inline void own(rmw_message_info_t* info) noexcept {
  if (info != nullptr) info->publisher_gid.implementation_identifier = kIdentifier;
}

}  // namespace baton::rmw
