// SPDX-License-Identifier: Apache-2.0
// docs/format/shared-heap.md and the code say the same: structures, offsets, sizes, values, size classes, version.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "baton/objects/event_count.hpp"
#include "baton/objects/guarded.hpp"
#include "heap_state.hpp"

namespace baton::objects::detail {
namespace {

using Lines = std::set<std::string>;

template <class... Parts>
std::string line(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts << ' '), ...);
  return out.str();
}

/// What the page says: "structure bytes", "structure field offset bytes", "table name value", "class number bytes objects first".
Lines on_page() {
  static const std::regex heading("### `?([A-Za-z:]+)`?.*?(?:, ([0-9]+) bytes)?"), title("# .* version ([0-9]+)");
  static const std::regex field(R"(\| ([0-9]+) \| ([0-9]+) \| `([a-z_]+)` \|.*)");
  static const std::regex value(R"(\| ([0-9a-fx]+) \| `(k[A-Za-z]+)` \|.*)");
  static const std::regex size_class(R"(\| ([0-9]+) \| ([0-9]+) \| ([0-9]+) \| ([0-9]+) \|)");
  std::ifstream page(BATON_OBJECTS_HEAP_PAGE);
  Lines out;
  std::string table;
  for (std::string text; std::getline(page, text);) {
    std::smatch match;
    if (std::regex_match(text, match, title)) out.insert(line("version", match[1]));
    if (std::regex_match(text, match, heading)) {
      table = match[1];
      if (match[2].matched) out.insert(line(table, match[2]));
    } else if (std::regex_match(text, match, size_class)) {
      out.insert(line("class", match[1], match[2], match[3], match[4]));
    } else if (std::regex_match(text, match, field)) {
      out.insert(line(table, match[3], match[1], match[2]));
    } else if (std::regex_match(text, match, value)) {
      out.insert(line(table, match[2], std::stoul(match[1], nullptr, 0)));
    }
  }
  return out;
}

}  // namespace

struct LayoutOf {
  static Lines in_code();
};

#define STRUCTURE(type) out.insert(line(#type, sizeof(type)))
#define FIELD(type, name) out.insert(line(#type, #name, offsetof(type, name), sizeof(type::name)))
#define VALUE(table, type, name) out.insert(line(table, #name, static_cast<std::uint32_t>(type::name)))

Lines LayoutOf::in_code() {
  Lines out;
  out.insert(line("version", kHeapVersion));
  STRUCTURE(HeapHeader);
  FIELD(HeapHeader, magic);
  FIELD(HeapHeader, version);
  FIELD(HeapHeader, header_bytes);
  FIELD(HeapHeader, limit);
  FIELD(HeapHeader, spans);
  FIELD(HeapHeader, allocations);
  FIELD(HeapHeader, processes);
  FIELD(HeapHeader, waiters);
  FIELD(HeapHeader, blocks);
  FIELD(HeapHeader, names);
  STRUCTURE(SpanWords);
  FIELD(SpanWords, count);
  FIELD(SpanWords, first);
  FIELD(SpanWords, backed);
  FIELD(SpanWords, reserved);
  FIELD(SpanWords, lock);
  STRUCTURE(AllocationWords);
  FIELD(AllocationWords, pin_lock);
  FIELD(AllocationWords, pinned);
  FIELD(AllocationWords, claims);
  STRUCTURE(Claims);
  FIELD(Claims, spans);
  STRUCTURE(ProcessWords);
  FIELD(ProcessWords, confined);
  FIELD(ProcessWords, slots);
  STRUCTURE(ProcessSlot);
  FIELD(ProcessSlot, state);
  FIELD(ProcessSlot, epoch);
  FIELD(ProcessSlot, pid_namespace);
  FIELD(ProcessSlot, pid);
  VALUE("ProcessSlot::State", ProcessSlot, kNobody);
  VALUE("ProcessSlot::State", ProcessSlot, kInUse);
  VALUE("ProcessSlot::State", ProcessSlot, kRecovering);
  STRUCTURE(NameWords);
  FIELD(NameWords, lock);
  FIELD(NameWords, objects);
  STRUCTURE(NamedObject);
  FIELD(NamedObject, name);
  FIELD(NamedObject, type);
  FIELD(NamedObject, object);
  STRUCTURE(ProcessLock);
  FIELD(ProcessLock, word_);
  FIELD(ProcessLock, distance_);
  STRUCTURE(EventCount);
  FIELD(EventCount, words_);
  FIELD(EventCount, notifier_cpu_);
  VALUE("SpanKind", SpanKind, kFree);
  VALUE("SpanKind", SpanKind, kPending);
  VALUE("SpanKind", SpanKind, kSmall);
  VALUE("SpanKind", SpanKind, kLargeRaw);
  VALUE("SpanKind", SpanKind, kLargeBlock);
  VALUE("SpanKind", SpanKind, kRest);
  VALUE("SpanKind", SpanKind, kLargeOwned);
  for (std::size_t c = 0; c < kClasses.size(); ++c)
    out.insert(line("class", c, kClasses[c], objects_of(c), first_object(c)));
  VALUE("Slot", detail, kSlotFree);
  VALUE("Slot", detail, kSlotRaw);
  VALUE("Slot", detail, kSlotBlock);
  VALUE("Slot", detail, kSlotPinned);
  VALUE("Slot", detail, kSlotPinnedFreed);
  VALUE("Slot", detail, kSlotOwned);
  VALUE("Slot", detail, kSlotPending);
  STRUCTURE(Block);
  FIELD(Block, lock);
  FIELD(Block, state);
  FIELD(Block, holds);
  FIELD(Block, weak_holds);
  FIELD(Block, count);
  FIELD(Block, weak_count);
  FIELD(Block, type);
  FIELD(Block, undo_target);
  FIELD(Block, undo_count);
  FIELD(Block, worker);
  FIELD(Block, place);
  FIELD(Block, next_due);
  VALUE("BlockState", BlockState, kAlive);
  VALUE("BlockState", BlockState, kConstructing);
  VALUE("BlockState", BlockState, kEnding);
  VALUE("BlockState", BlockState, kDestroyed);
  VALUE("BlockState", BlockState, kDead);
  VALUE("BlockState", BlockState, kOrphan);
  VALUE("BlockState", BlockState, kDue);
  STRUCTURE(StoredWords);
  FIELD(StoredWords, pointer);
  FIELD(StoredWords, block);
  STRUCTURE(GuardWords);
  FIELD(GuardWords, buffers);
  FIELD(GuardWords, content);
  return out;
}

TEST(SharedLayout, ThePageAndTheCodeSayTheSame) {
  const Lines page = on_page(), code = LayoutOf::in_code();
  for (const std::string& text : page) EXPECT_EQ(code.count(text), 1U) << "only on the page: " << text;
  for (const std::string& text : code) EXPECT_EQ(page.count(text), 1U) << "only in the code: " << text;
}

TEST(SharedLayout, AHeapBeginsWithThePagesMagic) {
  HeapOptions options;
  options.limit_bytes = std::size_t{1} << 20;
  const Heap heap = Heap::create(options).or_throw();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(heap.base()), 8), "LOTHEAP1");
  const auto& header = *reinterpret_cast<const HeapHeader*>(heap.base());
  EXPECT_EQ(header.version, kHeapVersion);
  EXPECT_EQ(header.limit, options.limit_bytes);
  EXPECT_EQ(header.spans.count, 16U);
  EXPECT_EQ(header.spans.first, 1U);
}

}  // namespace baton::objects::detail
