// SPDX-License-Identifier: Apache-2.0
// Messages between places: private, in one loan, in another, with contents that somebody else provides.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/os/result.hpp"
#include "testing/messages.hpp"
#include "testing/test_chunk.hpp"

using namespace baton;
using namespace baton::message::testing;

TEST(Places, AssignmentBetweenAnyTwoPlacesCopiesTheWholeMessage) {
  Loaned<Monster> a, b;
  Monster stack;
  const auto heap = std::make_unique<Monster>();
  const std::array<Monster*, 4> places = {&*a, &*b, &stack, heap.get()};
  std::uint32_t seed = 1;
  for (int round = 0; round < 5; ++round) {
    for (Monster* from : places) {
      for (Monster* to : places) {
        if (from == to) continue;
        const Monster value = make_monster(seed++);
        *from = value;
        *to = *from;
        ASSERT_EQ(*to, value);
        *from = make_monster(seed++);  // the copy stands alone
        ASSERT_EQ(*to, value);
        const Monster other = *from;
        std::swap(*from, *to);
        ASSERT_EQ(*from, value);
        ASSERT_EQ(*to, other);
        *to = std::move(*from);
        ASSERT_EQ(*to, value);
      }
    }
  }
}

// Not inline: the compiler must not know that a message is read after its end, as readers in other processes do.
[[gnu::noinline]] static void destroy(Monster* message) { std::destroy_at(message); }

TEST(Places, DestroyingAPublishedMessageChangesNothingThatReadersSee) {
  Loaned<Monster> loan;
  *loan = make_monster(7);
  loan.chunk().publish();
  destroy(&*loan);
  EXPECT_EQ(*loan, make_monster(7));
}

TEST(Places, AMemberTakenOutOfALoanOutlivesIt) {
  Header header;
  {
    Loaned<PointCloud> loan;
    loan->header.frame_id = "a frame id that is longer than any small buffer";
    auto h = loan->header;
    header = h;
  }
  EXPECT_EQ(header.frame_id, "a frame id that is longer than any small buffer");
}

TEST(Places, StandardContainersHoldMessages) {
  std::vector<Image> images;
  for (int i = 0; i < 100; ++i) {
    Image image;
    image.encoding = std::to_string(i);
    image.data.assign(static_cast<std::size_t>(i), static_cast<std::uint8_t>(i));
    const auto* content = image.data.data();
    images.push_back(std::move(image));
    if (i != 0) {
      EXPECT_EQ(images.back().data.data(), content) << "moving between private places copies nothing";
    }
  }
  std::reverse(images.begin(), images.end());
  images.erase(images.begin() + 10, images.begin() + 20);
  EXPECT_EQ(images.size(), 90u);
  EXPECT_EQ(images.front().encoding, "99");
  std::map<sfm::String, Image> by_name;
  for (const Image& i : images) by_name[i.encoding] = i;
  EXPECT_EQ(by_name.at("7").data.size(), 7u);
  std::optional<Image> maybe = images[3];
  EXPECT_EQ(maybe->data, images[3].data);
  const std::set<std::string> names = {images[0].encoding, images[1].encoding};
  EXPECT_EQ(names.count("98"), 1u);
}

TEST(Places, AlgorithmsWorkOnElementsInALoan) {
  Loaned<Strings> loan;
  for (const char* word : {"pear", "apple", "fig", "a much longer word than the others", "banana", "cherry"})
    loan->lines.push_back(word);
  std::sort(loan->lines.begin(), loan->lines.end());
  EXPECT_TRUE(std::is_sorted(loan->lines.begin(), loan->lines.end()));
  std::rotate(loan->lines.begin(), loan->lines.begin() + 2, loan->lines.end());
  loan->lines.erase(std::remove(loan->lines.begin(), loan->lines.end(), "fig"), loan->lines.end());
  EXPECT_EQ(loan->lines.size(), 5u);
  EXPECT_NE(std::find(loan->lines.begin(), loan->lines.end(), "cherry"), loan->lines.end());
}

TEST(Places, GrowingAVectorNeverMovesTheMessageNorOtherContents) {
  Loaned<PointCloud> loan(std::size_t{32} << 20);
  loan->header.frame_id = "map";
  loan->channels.resize(2);
  const char* frame = loan->header.frame_id.c_str();
  const Channel* first = &loan->channels[0];
  loan->channels[0].name = "intensity";
  const char* name = first->name.c_str();
  for (int i = 0; i < 100000; ++i) {
    loan->points.push_back({static_cast<float>(i), 0, 0});
    if (i % 100 == 0) loan->channels[1].values.push_back(static_cast<float>(i));
  }
  EXPECT_EQ(loan->header.frame_id.c_str(), frame);
  EXPECT_EQ(&loan->channels[0], first);
  EXPECT_EQ(first->name.c_str(), name);
  EXPECT_EQ(loan->points[99999].x, 99999.0f);
  EXPECT_EQ(loan->channels[1].values.size(), 1000u);
  // Dead space is bounded: at most what doubling leaves behind.
  const std::size_t live = sizeof(PointCloud) + 100000 * sizeof(Point32) + 1000 * sizeof(float) + 200;
  EXPECT_LT(loan.chunk().used_bytes(), 4 * live);
}

TEST(Places, AReservedVectorKeepsItsPlaceWhileItIsFilled) {
  Loaned<Image> loan;
  loan->data.reserve(1000);
  const std::uint8_t* place = loan->data.data();
  ASSERT_NE(place, nullptr);
  loan->encoding = "mono8";
  for (int i = 0; i < 1000; ++i) loan->data.push_back(static_cast<std::uint8_t>(i));
  EXPECT_EQ(loan->data.data(), place);
  loan->data.clear();
  EXPECT_GE(loan->data.capacity(), 1000u);
  EXPECT_TRUE(loan->data.empty());
}

TEST(Places, BigContentsAreAlignedTo64AlsoWhenTheyGrewThere) {
  Loaned<Image> loan;
  loan->encoding = "rgb8";
  for (int i = 0; i < 20000; ++i) {
    loan->data.push_back(1);
    if (loan->data.size() >= 4096) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(loan->data.data()) % 64, 0u) << loan->data.size();
    }
  }
  loan->encoding.resize(5000, 'x');
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loan->encoding.data()) % 64, 0u);
}

TEST(Places, AMessageThatOutgrowsItsChunkIsAnErrorAndStaysAsItWas) {
  Loaned<Image> loan(std::size_t{1} << 16);
  loan->encoding = "rgb8";
  loan->data.resize(1000, 7);
  try {
    loan->data.resize(std::size_t{1} << 24);
    FAIL();
  } catch (const Exception& e) {
    EXPECT_EQ(e.code(), Errc::message_too_large);
  }
  EXPECT_EQ(loan->data, sfm::Vector<std::uint8_t>(1000, 7));
  EXPECT_EQ(loan->encoding, "rgb8");
  EXPECT_THROW(loan->data.resize(std::size_t{3} << 30), std::length_error);
  sfm::Vector<std::uint8_t> heap;
  EXPECT_THROW(heap.resize(std::size_t{3} << 30), std::length_error);
  EXPECT_TRUE(heap.empty());
}

TEST(Places, BoundsHoldInEveryPlace) {
  Loaned<Sequences> loan;
  Sequences stack;
  for (Sequences* m : {&*loan, &stack}) {
    m->few = {1, 2, 3, 4};
    EXPECT_THROW(m->few.push_back(5), std::length_error);
    EXPECT_THROW(m->few.resize(5), std::length_error);
    EXPECT_THROW(m->few.insert(m->few.begin(), 2, 9), std::length_error);
    EXPECT_THROW((m->few = std::vector<std::int64_t>(5)), std::length_error);
    EXPECT_THROW(m->few.reserve(5), std::length_error);
    EXPECT_EQ(m->few, (std::vector<std::int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(m->few.max_size(), 4u);
    EXPECT_THROW(m->few.at(4), std::out_of_range);
  }
}

TEST(Places, ACountThatWrapsIsTooLongAndChangesNothing) {
  const auto huge = static_cast<std::size_t>(-1);
  Loaned<Strings> loan;
  Strings stack;
  for (Strings* m : {&*loan, &stack}) {
    m->wide = u"w";
    m->lines = {"line"};
    EXPECT_THROW(m->wide.insert(m->wide.end(), huge, u'x'), std::length_error);
    EXPECT_THROW(m->lines.insert(m->lines.end(), huge, "x"), std::length_error);
    EXPECT_THROW(m->lines[0].append(huge, 'x'), std::length_error);
    EXPECT_EQ(m->wide, u"w");
    EXPECT_EQ(m->lines, (std::vector<std::string>{"line"}));
  }
}

TEST(Places, AnyByteOfABoolIsAValidBool) {
  sfm::Bool flag;
  const unsigned char two = 2;
  std::memcpy(&flag, &two, 1);
  EXPECT_TRUE(flag);
  EXPECT_TRUE(flag == true && flag == sfm::Bool(true) && !(flag != true));
  EXPECT_TRUE(flag == 1 && 0 != flag && !(flag == 0));  // as with ROS 1's uint8
  sfm::Vector<sfm::Bool> flags = {true, false};
  std::vector<bool> bits = flags;
  EXPECT_EQ(bits, (std::vector<bool>{true, false}));
  bits.push_back(true);
  flags = bits;
  EXPECT_EQ(flags.size(), 3u);
  EXPECT_TRUE(flags == bits);
  for (bool b : flags) flag |= b;
  EXPECT_EQ(flags.to_std(), bits);
}

TEST(Places, RangesOfEveryKindAreTaken) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4};
  const std::list<int> numbers = {5, 6};
  const std::vector<bool> bits = {true, false};
  Loaned<Sequences> loan;
  Sequences stack;
  for (Sequences* m : {&*loan, &stack}) {
    m->bytes.assign(bytes.begin(), bytes.end());
    m->bytes.insert(m->bytes.begin() + 1, bytes.data(), bytes.data() + 2);
    m->bytes.insert(m->bytes.end(), numbers.begin(), numbers.end());
    m->bytes.insert(m->bytes.begin() + 2, m->bytes.begin(), m->bytes.begin() + 3);  // its own
    m->bytes.insert(m->bytes.begin(), 2, m->bytes.back());
    std::istringstream words("7 8");
    m->bytes.insert(m->bytes.end(), std::istream_iterator<int>(words), std::istream_iterator<int>());
    EXPECT_EQ(m->bytes, (std::vector<std::uint8_t>{6, 6, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8}));
    m->flags.assign(bits.begin(), bits.end());
    m->flags.insert(m->flags.begin(), bits.begin(), bits.end());
    EXPECT_EQ(m->flags, (std::vector<bool>{true, false, true, false}));
    std::copy(bytes.begin(), bytes.end(), std::back_inserter(m->doubles));
    EXPECT_EQ(m->doubles.back(), 4.0);
  }
}

TEST(Places, SpansSeeTheContent) {
  sfm::Vector<float> v = {1, 2, 3};
  sfm::Span<float> all = v;
  sfm::Span<const float> part = v.span().subspan(1, 2);
  all[1] = 7;
  EXPECT_EQ(part[0], 7.0f);
  EXPECT_EQ(part.size_bytes(), 8u);
  EXPECT_EQ(sfm::Vector<float>(part), (std::vector<float>{7, 3}));
}

namespace {

struct CountingOwner : sfm::ContentOwner {
  int released = 0;
  int given = 0;
  CountingOwner(const void* from, const void* to) {
    begin = from;
    end = to;
    release = [](sfm::ContentOwner* self, void*) noexcept { ++static_cast<CountingOwner*>(self)->released; };
    handed_over = [](sfm::ContentOwner* self, void*) noexcept { ++static_cast<CountingOwner*>(self)->given; };
  }
};

}  // namespace

TEST(AdoptedContent, MovesIntoItsOwnChunkWithoutACopy) {
  Loaned<Image> loan;
  std::byte* chunk = loan.chunk().message();
  CountingOwner owner(chunk, chunk + (std::size_t{8} << 20));
  void* content = memory::content_allocate(chunk, 300, 1);
  Image image;
  image.encoding = "rgb8";
  sfm::adopt_content(image.data, content, 300, &owner);
  EXPECT_EQ(sfm::adopted_owner(image.data), &owner);
  EXPECT_TRUE(image.data.empty());
  image.data.resize(300, 5);
  EXPECT_EQ(image.data.data(), content);
  *loan = std::move(image);
  EXPECT_EQ(loan->data.data(), content);
  EXPECT_EQ(loan->data, std::vector<std::uint8_t>(300, 5));
  EXPECT_EQ(loan->encoding, "rgb8");
  EXPECT_EQ(owner.given, 1);
  EXPECT_EQ(owner.released, 0);
  EXPECT_TRUE(image.data.empty());
  EXPECT_EQ(sfm::adopted_owner(image.data), nullptr);
  loan->data.push_back(6);  // the block belongs to the loan now
  EXPECT_EQ(loan->data.size(), 301u);
}

TEST(AdoptedContent, IsReleasedOnceWhenItsVectorIsDestroyedOrOutgrowsIt) {
  std::uint8_t memory[16];
  CountingOwner owner(nullptr, nullptr);
  {
    sfm::Vector<std::uint8_t> v;
    sfm::adopt_content(v, memory, 16, &owner);
    v.assign(16, 1);
    sfm::Vector<std::uint8_t> moved = std::move(v);
    EXPECT_EQ(moved.data(), memory);
    EXPECT_EQ(owner.released, 0);
  }
  EXPECT_EQ(owner.released, 1);
  sfm::Vector<std::uint8_t> v;
  sfm::adopt_content(v, memory, 16, &owner);
  v.assign(16, 2);
  v.push_back(3);
  EXPECT_EQ(owner.released, 2);
  EXPECT_NE(v.data(), memory);
  EXPECT_EQ(v.size(), 17u);
  EXPECT_EQ(v[15], 2);
  // Into a foreign chunk it is copied.
  Loaned<Image> loan;
  sfm::adopt_content(v, memory, 16, &owner);
  v.assign(4, 9);
  loan->data = std::move(v);
  EXPECT_EQ(loan->data, std::vector<std::uint8_t>(4, 9));
  EXPECT_EQ(owner.given, 0);
}
