// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: serialization, and the preallocation objects.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <memory>

#include "baton/message/builder.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_ret_t rmw_serialize(const void* ros_message, const rosidl_message_type_support_t* type_support,
                        rmw_serialized_message_t* serialized_message) try {
  if (const rmw_ret_t bad = checked(ros_message, type_support, serialized_message); bad != RMW_RET_OK) return bad;
  const Result<std::shared_ptr<const TypeSupport>> type = type_support_of(type_support);
  if (!type) return failed(type.error());
  baton::message::FlatBuffer buffer;
  baton::message::FlatBuilder builder(buffer);
  Result<void> done = (*type)->native->write(ros_message, builder);
  if (done) done = write_cdr((*type)->cdr, buffer.bytes(), *serialized_message);
  return done ? RMW_RET_OK : failed(done.error());
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_deserialize(const rmw_serialized_message_t* serialized_message,
                          const rosidl_message_type_support_t* type_support, void* ros_message) try {
  if (const rmw_ret_t bad = checked(serialized_message, type_support, ros_message); bad != RMW_RET_OK) return bad;
  const Result<std::shared_ptr<const TypeSupport>> type = type_support_of(type_support);
  if (!type) return failed(type.error());
  baton::message::FlatBuffer buffer;
  baton::message::FlatBuilder builder(buffer);
  const Result<std::size_t> used =
      (*type)->cdr.decode({serialized_message->buffer, serialized_message->buffer_length}, builder);
  if (!used) return failed(used.error());
  baton::rosidl::ArrayCopier arrays;
  const Result<void> read = (*type)->native->read(buffer.bytes(), ros_message, arrays);
  return read ? RMW_RET_OK : failed(read.error());
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_serialized_message_size(const rosidl_message_type_support_t*,
                                          const rosidl_runtime_c__Sequence__bound*, size_t*) {
  return unsupported("rmw_baton_cpp does not compute the size of serialized messages in advance");
}

rmw_ret_t rmw_init_publisher_allocation(const rosidl_message_type_support_t*, const rosidl_runtime_c__Sequence__bound*,
                                        rmw_publisher_allocation_t*) {
  return unsupported("rmw_baton_cpp needs no preallocation: messages lie in the publisher's memory");
}

rmw_ret_t rmw_fini_publisher_allocation(rmw_publisher_allocation_t*) {
  return unsupported("rmw_baton_cpp makes no preallocation");
}

rmw_ret_t rmw_init_subscription_allocation(const rosidl_message_type_support_t*,
                                           const rosidl_runtime_c__Sequence__bound*, rmw_subscription_allocation_t*) {
  return unsupported("rmw_baton_cpp needs no preallocation: messages lie in the publisher's memory");
}

rmw_ret_t rmw_fini_subscription_allocation(rmw_subscription_allocation_t*) {
  return unsupported("rmw_baton_cpp makes no preallocation");
}

}  // extern "C"
