// SPDX-License-Identifier: Apache-2.0
// What Publisher<T> and Subscriber<T> take from each type of ROS 1's packages.
#pragma once

#include <baton/ros1/ros1.hpp>
#include <map>
#include <string>

namespace api_types {

struct Type {
  const baton::message::Type* own;
  baton::ros1::detail::StockType (*stock)();
};
using Types = std::map<std::string, Type>;

template <class T>
void add(Types& types, const char* name) {
  types[name] = {&baton::message::type_of<T>(), &baton::ros1::detail::stock_type<T>};
}

}  // namespace api_types
