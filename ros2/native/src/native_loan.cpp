// SPDX-License-Identifier: Apache-2.0
#include "baton/native/native_loan.hpp"
#include "baton/os/hot_path.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "baton/containers/containers.hpp"
#include "baton/memory/window.hpp"
#include "baton/rosidl/introspection.hpp"

namespace baton::containers {
namespace {

using message::Kind;
using message::Shape;
using rosidl::Introspection;
using rosidl::Members;

/// True for a sequence of scalars whose native elements equal the message's. False for bool: std::vector<bool> is
/// packed, and elsewhere a byte of a message may have any value.
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
      if (const Result<Introspection> nested = rosidl::introspect(member.members_))
        collect(*nested->members, nested->c, *field.type, path + field.name + ".", native + member.offset_,
                words + field.offset, arrays);
    } else if (is_lendable(field)) {
      arrays.push_back({path + field.name, native + member.offset_, words + field.offset, message::element_size(field),
                        field.count, c});
    }
  }
}

}  // namespace

/// The places in a type at which arrays may lie in Baton's memory.
struct NativeLoanPlan::Node {
  struct Leaf {
    std::size_t offset, element_bytes;
  };
  struct Nested {
    const rosidl::Member* member;
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
      const Result<Introspection> nested = rosidl::introspect(member.members_);
      if (!nested) continue;
      if (std::shared_ptr<const Node> inner = node_of(*nested->members, nested->c, *field.type))
        node->nested.push_back({&member, nested->members->size_of_, std::move(inner)});
    } else if (is_lendable(field)) {
      node->leaves.push_back({member.offset_, message::element_size(field)});
    }
  }
  if (node->leaves.empty() && node->nested.empty()) return nullptr;
  return node;
}

/// False: no memory.
BATON_HOT bool detach_all(const Node& node, std::byte* native, std::size_t& bytes) {
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

BATON_HOT AnyArray array_of(void* native, const NativeLoanPlan::Array& array) noexcept {
  return {static_cast<std::byte*>(native) + array.native_offset, array.c, array.element_bytes};
}

}  // namespace

Result<std::shared_ptr<const NativeLoanPlan>> NativeLoanPlan::compile(const rosidl_message_type_support_t* handle,
                                                                      std::shared_ptr<const rosidl::NativePlan> plan) {
  const Result<Introspection> source = rosidl::introspect(handle);  // NativePlan::compile() has checked its layout
  if (!source) return source.error();
  auto made = std::make_shared<NativeLoanPlan>();
  collect(*source->members, source->c, plan->type(), "", 0, 0, made->arrays_);
  made->members_ = source->members;
  made->root_ = node_of(*source->members, source->c, plan->type());
  made->plan_ = std::move(plan);
  return std::shared_ptr<const NativeLoanPlan>(std::move(made));
}

BATON_HOT void* NativeLoanPlan::make() const {
  const auto& members = *static_cast<const Members*>(members_);
  void* native = ::operator new(members.size_of_, std::nothrow);
  // C's initialization functions take an enumeration of the same values.
  if (native == nullptr) return nullptr;
  std::memset(native, 0, members.size_of_);  // C's initialization functions leave fields without a default unchanged
  members.init_function(native, rosidl_runtime_cpp::MessageInitialization::ALL);
  return native;
}

BATON_HOT void NativeLoanPlan::make_at(void* place) const noexcept {
  const auto& members = *static_cast<const Members*>(members_);
  std::memset(place, 0, members.size_of_);  // zeroes the padding between fields, too
  members.init_function(place, rosidl_runtime_cpp::MessageInitialization::DEFAULTS_ONLY);
}

BATON_HOT void NativeLoanPlan::destroy(void* native) const noexcept {
  static_cast<const Members*>(members_)->fini_function(native);
  ::operator delete(native);
}

BATON_HOT Result<std::size_t> NativeLoanPlan::detach(void* native) const {
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

BATON_HOT Result<NativeLoan> NativeLoan::begin(std::shared_ptr<transport::Writer> writer, const NativeLoanPlan& plan,
                                               Capacities& capacities, void* native) {
  Result<memory::Chunk> chunk = writer->loan_growing();
  if (!chunk) return chunk.error();
  Result<Loaned> loaned = Loaned::begin(writer, *chunk);
  if (!loaned) {
    writer->abandon(*chunk);
    return loaned.error();
  }
  NativeLoan made(std::move(*loaned), std::move(writer), &plan, &capacities, native);
  for (std::size_t i = 0; i < plan.arrays().size(); ++i) {
    const NativeLoanPlan::Array& array = plan.arrays()[i];
    const std::size_t capacity = capacities.of(i) / array.element_bytes;
    if (capacity == 0) continue;
    Result<void*> buffer = made.loaned_->buffer(capacity * array.element_bytes, 64);
    if (!buffer) return buffer.error();
    array_of(native, array).replace(*buffer, 0, capacity);
  }
  return made;
}

BATON_HOT NativeLoan::NativeLoan(NativeLoan&& other) noexcept
    : loaned_(std::move(other.loaned_)),
      writer_(std::move(other.writer_)),
      plan_(other.plan_),
      capacities_(other.capacities_),
      native_(std::exchange(other.native_, nullptr)),
      in_place_(std::move(other.in_place_)),
      another_(std::exchange(other.another_, {})) {}

BATON_HOT NativeLoan::~NativeLoan() {
  if (native_ == nullptr) return;
  forget_in_place();
  for (const NativeLoanPlan::Array& array : plan_->arrays()) {
    AnyArray any = array_of(native_, array);
    if (memory::in_window(any.begin())) any.replace(nullptr, 0, 0);
  }
  if (another_.header != nullptr) writer_->abandon(another_);
}

BATON_HOT void NativeLoan::forget_in_place() noexcept {
  for (const InPlace& each : in_place_) array_of(native_, *each.array).forget();
}

BATON_HOT Result<NativeLoan::Filled> NativeLoan::fill() {
  Filled filled;
  const std::vector<NativeLoanPlan::Array>& arrays = plan_->arrays();
  std::vector<InPlace> in_place;
  std::uint64_t all_bytes = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const AnyArray any = array_of(native_, arrays[i]);
    if (arrays[i].bound != 0 && any.size() > arrays[i].bound)
      return Error{Errc::malformed_message, "field '" + arrays[i].name + "' is longer than its bound"};
    capacities_->need(i, any.size_bytes());
    all_bytes += any.size_bytes();
    if (loaned_->owns(any.begin()))
      in_place.push_back({&arrays[i], any.begin(), static_cast<std::uint32_t>(any.size())});
    else
      filled.copied_bytes += any.size_bytes();
  }
  if (loaned_->outstanding() != in_place.size()) return fill_another_chunk(all_bytes);
  in_place_ = std::move(in_place);
  for (const InPlace& each : in_place_) loaned_->reclaim(each.begin, each.count * each.array->element_bytes);
  forget_in_place();
  // The rest is written around the contents that lie in the chunk already; their words are still {0, 0} then.
  auto* const skeleton = static_cast<std::byte*>(loaned_->chunk().message());
  message::LoanBuilder builder(skeleton);
  if (Result<void> written = plan_->plan().write(native_, builder); !written) return written.error();
  for (const InPlace& each : in_place_) {
    if (each.count == 0) continue;
    std::byte* const words = skeleton + each.array->words_offset;
    const auto offset = static_cast<std::int32_t>(static_cast<std::byte*>(each.begin) - (words + 4));
    std::memcpy(words, &each.count, sizeof each.count);
    std::memcpy(words + 4, &offset, sizeof offset);
    array_of(native_, *each.array).replace(each.begin, each.count, each.count);
  }
  filled.chunk = loaned_->chunk();
  filled.in_place = in_place_.size();
  return filled;
}

// The program kept a buffer: it keeps the loan's chunk, and readers get another chunk.
Result<NativeLoan::Filled> NativeLoan::fill_another_chunk(std::uint64_t copied_bytes) {
  Result<memory::Chunk> chunk = writer_->loan_growing();
  if (!chunk) return chunk.error();
  another_ = *chunk;
  message::LoanBuilder builder(another_.message());
  if (Result<void> written = plan_->plan().write(native_, builder); !written) return written.error();
  return Filled{another_, 0, copied_bytes};
}

BATON_HOT void NativeLoan::published() noexcept {
  if (another_.header != nullptr) {
    another_ = {};
    return;
  }
  loaned_->detach();
  loaned_.reset();
}

}  // namespace baton::containers
