// SPDX-License-Identifier: Apache-2.0
// In the place of ROS's header of this name, whose declarations fit only its own generator's messages: a recompiled
// message is an instance of a template for another argument.
#ifndef ROSLIB_MESSAGE_FORWARD_H
#define ROSLIB_MESSAGE_FORWARD_H
#define BATON_ROS1_RECOMPILED
// The iterators of fields are those of std::vector (baton/sfm/vector.hpp).
#define BATON_SFM_STD_ITERATORS

#include <cstddef>
#include <memory>

#include "baton/ros1/recompiled/allocator.hpp"

namespace boost {
template <typename T>
class shared_ptr;
}

#define ROS_DECLARE_MESSAGE_WITH_ALLOCATOR(msg, new_name, alloc) \
  template <class Allocator>                                     \
  struct msg##_;                                                 \
  typedef msg##_<alloc<void> > new_name;                         \
  typedef boost::shared_ptr<new_name> new_name##Ptr;             \
  typedef boost::shared_ptr<new_name const> new_name##ConstPtr;

#define ROS_DECLARE_MESSAGE(msg)                             \
  template <class Allocator>                                 \
  struct msg##_;                                             \
  typedef msg##_< ::baton::ros1::recompiled::Allocator> msg; \
  typedef boost::shared_ptr<msg> msg##Ptr;                   \
  typedef boost::shared_ptr<msg const> msg##ConstPtr;

#endif
