// SPDX-License-Identifier: Apache-2.0
#include "baton/heap/native_loan.hpp"

#include <cstring>
#include <utility>

#include "baton/heap/containers.hpp"
#include "baton/memory/window.hpp"
#include "rcutils/error_handling.h"
#include "rosidl_typesupport_introspection_c/field_types.h"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "rosidl_typesupport_introspection_cpp/message_introspection.hpp"

namespace baton::heap {
namespace {

// The introspections of C++ and C have the same layout in what is read here (native_plan.cpp).
using Members = rosidl_typesupport_introspection_cpp::MessageMembers;

const Members* introspect(const rosidl_message_type_support_t* handle, bool* c) {
  *c = false;
  const auto* found = handle->func(handle, rosidl_typesupport_introspection_cpp::typesupport_identifier);
  if (found == nullptr) {
    rcutils_reset_error();
    found = handle->func(handle, rosidl_typesupport_introspection_c__identifier);
    *c = true;
  }
  if (found == nullptr) rcutils_reset_error();
  return found != nullptr ? static_cast<const Members*>(found->data) : nullptr;
}

using message::Kind;
using message::Shape;

/// A sequence of scalars whose native elements are what the message holds: not of bool (std::vector<bool> is packed; elsewhere a byte
/// of a message may be any).
bool is_lendable(const message::Field& field) noexcept {
  return field.shape == Shape::kSequence && field.kind < Kind::kString && field.kind != Kind::kBool;
}

void collect(const Members& members, bool c, const message::Type& type, const std::string& path, std::size_t native,
             std::size_t words, std::vector<NativeLoanPlan::Array>& arrays) {
  if (type.field_count < members.member_count_) return;                  // the placeholder of an empty message
  const std::uint32_t first = type.field_count - members.member_count_;  // 1 for Header's seq, else 0
  for (std::uint32_t i = 0; i < members.member_count_; ++i) {
    const auto& member = members.members_[i];
    const message::Field& field = type.fields[first + i];
    if (field.kind == Kind::kMessage && field.shape == Shape::kSingle) {
      bool nested_c = c;
      if (const Members* nested = introspect(member.members_, &nested_c))
        collect(*nested, nested_c, *field.type, path + field.name + ".", native + member.offset_, words + field.offset,
                arrays);
    } else if (is_lendable(field)) {
      arrays.push_back({path + field.name, native + member.offset_, words + field.offset, message::element_size(field),
                        field.count, c});
    }
  }
}

}  // namespace

/// Where in a type arrays may be that lie in Baton's memory.
struct NativeLoanPlan::Node {
  struct Leaf {
    std::size_t offset, element_bytes;
  };
  struct Nested {
    const rosidl_typesupport_introspection_cpp::MessageMember* member;
    std::size_t element_bytes;
    std::shared_ptr<const Node> node;
  };
  bool c = false;
  std::vector<Leaf> leaves;
  std::vector<Nested> nested;
};

namespace {

using Node = NativeLoanPlan::Node;

/// Null if there are none. `type` is that of `members`, for the sizes of scalars.
std::shared_ptr<const Node> node_of(const Members& members, bool c, const message::Type& type) {
  if (type.field_count < members.member_count_) return nullptr;
  const std::uint32_t first = type.field_count - members.member_count_;
  auto node = std::make_shared<Node>();
  node->c = c;
  for (std::uint32_t i = 0; i < members.member_count_; ++i) {
    const auto& member = members.members_[i];
    const message::Field& field = type.fields[first + i];
    if (field.kind == Kind::kMessage) {
      bool nested_c = c;
      const Members* nested = introspect(member.members_, &nested_c);
      if (nested == nullptr) continue;
      if (std::shared_ptr<const Node> inner = node_of(*nested, nested_c, *field.type))
        node->nested.push_back({&member, nested->size_of_, std::move(inner)});
    } else if (is_lendable(field)) {
      node->leaves.push_back({member.offset_, message::element_size(field)});
    }
  }
  if (node->leaves.empty() && node->nested.empty()) return nullptr;
  return node;
}

/// False: no memory.
bool detach_all(const Node& node, std::byte* native, std::size_t& bytes) {
  for (const Node::Leaf& leaf : node.leaves) {
    AnyArray any(native + leaf.offset, node.c, leaf.element_bytes);
    if (!memory::in_window(any.begin())) continue;
    const std::size_t size = any.size_bytes();
    if (!any.move_to_heap()) return false;
    bytes += size;
  }
  for (const Node::Nested& nested : node.nested) {
    std::byte* element = native + nested.member->offset_;
    std::size_t count = 1;
    if (nested.member->is_array_) {
      count =
          nested.member->size_function != nullptr ? nested.member->size_function(element) : nested.member->array_size_;
      if (count == 0) continue;
      if (nested.member->get_function != nullptr)
        element = static_cast<std::byte*>(nested.member->get_function(element, 0));
    }
    for (std::size_t i = 0; i < count; ++i, element += nested.element_bytes) {
      if (!detach_all(*nested.node, element, bytes)) return false;
    }
  }
  return true;
}

AnyArray array_of(void* native, const NativeLoanPlan::Array& array) noexcept {
  return {static_cast<std::byte*>(native) + array.native_offset, array.c, array.element_bytes};
}

/// Takes what is left of a loan out of the native message, however its publication ends.
class Emptier {
 public:
  Emptier(const NativeLoanPlan& plan, void* native) noexcept : plan_(plan), native_(native) {}
  ~Emptier() {
    for (const NativeLoanPlan::Array& array : plan_.arrays()) {
      AnyArray any = array_of(native_, array);
      if (memory::in_window(any.begin())) any.replace(nullptr, 0, 0);
    }
  }
  Emptier(const Emptier&) = delete;
  Emptier& operator=(const Emptier&) = delete;

 private:
  const NativeLoanPlan& plan_;
  void* native_;
};

}  // namespace

Result<std::shared_ptr<const NativeLoanPlan>> NativeLoanPlan::compile(const rosidl_message_type_support_t* handle,
                                                                      std::shared_ptr<const rosidl::NativePlan> plan) {
  bool c = false;
  const Members* members = introspect(handle, &c);
  if (members == nullptr) return Error{Errc::unsupported, "the message's type support has no introspection"};
  auto made = std::make_shared<NativeLoanPlan>();
  collect(*members, c, plan->type(), "", 0, 0, made->arrays_);
  made->root_ = node_of(*members, c, plan->type());
  made->plan_ = std::move(plan);
  return std::shared_ptr<const NativeLoanPlan>(std::move(made));
}

Result<std::size_t> NativeLoanPlan::detach(void* native) const {
  std::size_t bytes = 0;
  if (root_ != nullptr && !detach_all(*root_, static_cast<std::byte*>(native), bytes))
    return Error{Errc::out_of_memory, std::string("no memory for the arrays of a ") + plan_->type().name};
  return bytes;
}

void Capacities::need(std::size_t array, std::size_t bytes) noexcept {
  std::size_t known = bytes_[array].load(std::memory_order_relaxed);
  while (known < bytes && !bytes_[array].compare_exchange_weak(known, bytes, std::memory_order_relaxed)) {
  }
}

Result<NativeLoan> NativeLoan::begin(std::shared_ptr<transport::Writer> writer, const NativeLoanPlan& plan,
                                     Capacities& capacities, void* native) {
  Result<memory::Chunk> chunk = writer->loan_growing();
  if (!chunk) return chunk.error();
  Result<Loaned> loaned = Loaned::begin(writer, *chunk);
  if (!loaned) {
    writer->abandon(*chunk);
    return loaned.error();
  }
  NativeLoan made(std::move(*loaned), std::move(writer), &plan, &capacities);
  for (std::size_t i = 0; i < plan.arrays().size(); ++i) {
    const NativeLoanPlan::Array& array = plan.arrays()[i];
    const std::size_t capacity = capacities.of(i) / array.element_bytes;
    if (capacity == 0) continue;
    Result<void*> buffer = made.loaned_.buffer(capacity * array.element_bytes, 64);
    if (!buffer) {
      const Emptier emptier(plan, native);
      return buffer.error();
    }
    array_of(native, array).replace(*buffer, 0, capacity);
  }
  return made;
}

Result<NativeLoan::Published> NativeLoan::publish(void* native) && {
  const Emptier emptier(*plan_, native);
  struct InPlace {
    const NativeLoanPlan::Array* array;
    void* begin;
    std::uint32_t count;
  };
  std::vector<InPlace> in_place;
  Published published;
  const std::vector<NativeLoanPlan::Array>& arrays = plan_->arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const AnyArray any = array_of(native, arrays[i]);
    if (arrays[i].bound != 0 && any.size() > arrays[i].bound)
      return Error{Errc::malformed_message, "field '" + arrays[i].name + "' is longer than its bound"};
    capacities_->need(i, any.size_bytes());
    if (loaned_.owns(any.begin()))
      in_place.push_back({&arrays[i], any.begin(), static_cast<std::uint32_t>(any.size())});
    else
      published.copied_bytes += any.size_bytes();
  }
  if (loaned_.outstanding() != in_place.size()) {
    // The program kept a buffer: this chunk stays its own, and readers get another.
    for (const InPlace& each : in_place) published.copied_bytes += each.count * each.array->element_bytes;
    Result<memory::Chunk> chunk = writer_->loan_growing();
    if (!chunk) return chunk.error();
    message::LoanBuilder builder(chunk->message());
    Result<void> written = plan_->plan().write(native, builder);
    Result<std::uint64_t> sequence = written ? writer_->publish(*chunk) : Result<std::uint64_t>(written.error());
    if (!sequence) {
      writer_->abandon(*chunk);
      return sequence.error();
    }
    published.sequence = *sequence;
    return published;
  }
  for (const InPlace& each : in_place) {
    array_of(native, *each.array).forget();
    loaned_.reclaim(each.begin, each.count * each.array->element_bytes);
  }
  // The rest is written around what lies in the chunk already, whose words are still {0, 0} then.
  auto* const skeleton = static_cast<std::byte*>(loaned_.chunk().message());
  message::LoanBuilder builder(skeleton);
  if (Result<void> written = plan_->plan().write(native, builder); !written) return written.error();
  for (const InPlace& each : in_place) {
    if (each.count == 0) continue;
    std::byte* const words = skeleton + each.array->words_offset;
    const auto offset = static_cast<std::int32_t>(static_cast<std::byte*>(each.begin) - (words + 4));
    std::memcpy(words, &each.count, sizeof each.count);
    std::memcpy(words + 4, &offset, sizeof offset);
  }
  Result<std::uint64_t> sequence = writer_->publish(loaned_.chunk());
  if (!sequence) return sequence.error();
  loaned_.detach();
  published.sequence = *sequence;
  published.in_place = in_place.size();
  return published;
}

}  // namespace baton::heap
