// SPDX-License-Identifier: Apache-2.0
// A pointer that counts from its own address, with arithmetic: for containers and structures in a shared heap. It owns
// nothing. It is Boost.Interprocess's pointer, since Boost.Container is tested with it. Thread rules: a value, like a
// plain pointer.
#pragma once

#include <boost/interprocess/offset_ptr.hpp>

namespace baton::objects {

/// See boost::interprocess::offset_ptr. Pointer and pointee lie in one heap.
template <class T>
using offset_ptr = boost::interprocess::offset_ptr<T>;

}  // namespace baton::objects
