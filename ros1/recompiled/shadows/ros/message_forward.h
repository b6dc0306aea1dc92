// SPDX-License-Identifier: Apache-2.0
// In the place of ROS's header of this name, whose declarations fit only its own generator's messages: a recompiled
// message is a struct, and not an instance of a template.
#ifndef ROSLIB_MESSAGE_FORWARD_H
#define ROSLIB_MESSAGE_FORWARD_H
#define BATON_ROS1_RECOMPILED

#include <cstddef>
#include <memory>

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

#define ROS_DECLARE_MESSAGE(msg)           \
  struct [[gnu::abi_tag("baton")]] msg;    \
  typedef boost::shared_ptr<msg> msg##Ptr; \
  typedef boost::shared_ptr<msg const> msg##ConstPtr;

#endif
