// SPDX-License-Identifier: Apache-2.0
// Property tests: random programs run on an sfm::String in each place and on a std::string, which must agree after each step.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "baton/sfm/sfm.hpp"
#include "testing/test_chunk.hpp"

using namespace baton;
using namespace baton::message::testing;

namespace {

struct Two {
  sfm::String s;
  sfm::String t;
  sfm::WString w;
};

using Step = std::tuple<unsigned, unsigned, unsigned, std::string>;

void run_program(Two& here, sfm::String& other, const std::vector<Step>& steps) {
  std::string m, other_m;
  sfm::String& s = here.s;
  for (const auto& [code, a, b, text] : steps) {
    const std::size_t i = a % (m.size() + 1);
    const std::size_t n = b % 30;
    switch (code) {
      case 0:
        s = text, m = text;
        break;
      case 1:
        s = text.c_str(), m = text.c_str();
        break;
      case 2:
        s = std::string_view(text), m = text;
        break;
      case 3:
        s += text, m += text;
        break;
      case 4:
        s += 'q', m += 'q';
        break;
      case 5:
        s.append(s), m.append(std::string(m));
        if (m.size() > 5000) {
          s.clear();
          m.clear();
        }
        break;
      case 6:
        s.assign(s.c_str() + i, m.size() - i), m = m.substr(i);
        break;
      case 7:
        s.insert(i, text), m.insert(i, text);
        break;
      case 8:
        s.erase(i, n), m.erase(i, n);
        break;
      case 9:
        s.replace(i, n, text), m.replace(i, n, text);
        break;
      case 10:
        s.replace(i, n, s.view().substr(0, s.size() / 2)), m.replace(i, n, std::string(m.substr(0, m.size() / 2)));
        break;
      case 11:
        s.resize(n * 3, 'r'), m.resize(n * 3, 'r');
        break;
      case 12:
        s.reserve(n * 5), m.reserve(n * 5);
        break;
      case 13:
        s.clear(), m.clear();
        break;
      case 14:
        if (!m.empty()) s.pop_back(), m.pop_back();
        break;
      case 15:
        s.swap(other), m.swap(other_m);
        break;
      case 16:
        s = other, m = other_m;
        break;
      case 17:
        other = s, other_m = m;
        break;
      case 18:
        here.t = std::string(b, 't');
        break;  // contents alternate
      case 19:
        s.assign(n, '\0'), m.assign(n, '\0');
        break;
      case 20:
        s = std::as_const(s);
        break;
      case 21:
        if (!m.empty()) s[i % m.size()] = '#', m[i % m.size()] = '#';
        break;
      case 22:
        s.shrink_to_fit();
        break;
      default: {
        sfm::String out = std::move(s);
        s = std::move(out);
        break;
      }
    }
    RC_ASSERT(s.view() == m);
    RC_ASSERT(s.size() == m.size());
    RC_ASSERT(s.empty() == m.empty());
    RC_ASSERT(s.c_str()[s.size()] == '\0');
    RC_ASSERT(s == m && m == s && !(s != m) && s <= m && !(s < m));
    RC_ASSERT(s.capacity() >= s.size());
    RC_ASSERT(s.find("q") == m.find("q"));
    RC_ASSERT(s.substr(m.size() / 2) == m.substr(m.size() / 2));
    RC_ASSERT(std::hash<sfm::String>()(s) == std::hash<std::string>()(m));
    RC_ASSERT(other.view() == other_m);
    if (s.cell().in_chunk() && !s.empty()) {
      const auto* bytes = s.cell().content();
      const std::size_t padded = s.cell().chunk_length();
      RC_ASSERT(padded % 4 == 0);
      RC_ASSERT(std::to_integer<std::size_t>(bytes[padded - 1]) == padded - 1 - s.size());
      for (std::size_t k = s.size(); k + 1 < padded; ++k) RC_ASSERT(bytes[k] == std::byte{0});
    }
  }
}

rc::Gen<std::vector<Step>> program() {
  return rc::gen::container<std::vector<Step>>(rc::gen::tuple(rc::gen::inRange(0u, 24u), rc::gen::inRange(0u, 200u),
                                                              rc::gen::inRange(0u, 200u),
                                                              rc::gen::arbitrary<std::string>()));
}

TEST(StringModel, PrivateStringAgreesWithStd) {
  EXPECT_TRUE(rc::check([] {
    Two here;
    sfm::String other;
    run_program(here, other, *program());
  }));
}

TEST(StringModel, StringInALoanAgreesWithStd) {
  EXPECT_TRUE(rc::check([] {
    Loaned<Two> here;
    sfm::String other;
    run_program(*here, other, *program());
  }));
}

TEST(StringModel, StringsInTwoLoansAgreeWithStd) {
  EXPECT_TRUE(rc::check([] {
    Loaned<Two> here;
    Loaned<sfm::String> there;
    run_program(*here, *there, *program());
  }));
}

TEST(StringModel, Utf16RoundTrips) {
  EXPECT_TRUE(rc::check([](const std::u16string& text) {
    sfm::WString w = text;
    RC_ASSERT(w == text && w.str() == text && w.view() == text);
    bool paired = true;
    for (char16_t c : text) paired = paired && (c < 0xD800 || c >= 0xE000);
    if (paired) RC_ASSERT(sfm::to_utf16(sfm::to_utf8(text)) == text);
    (void)sfm::to_utf8(text);
  }));
  EXPECT_EQ(sfm::to_utf8(u"a\u00e9\u20ac\U0001F600"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(sfm::to_utf16("\xF0\x9F\x98\x80\xFFz\xED\xA0\x80"), u"\U0001F600\xFFFDz\xFFFD");
}

TEST(String, IsEditedThroughIteratorsAndPositionsLikeStd) {
  for (const bool in_chunk : {false, true}) {
    Loaned<sfm::String> loan;
    sfm::String stack;
    sfm::String& s = in_chunk ? *loan : stack;
    std::string model = "a b  c";
    s = model;
    s.erase(std::remove(s.begin(), s.end(), ' '), s.end());
    EXPECT_EQ(s, "abc");
    EXPECT_EQ(*s.erase(s.begin() + 1), 'c');
    EXPECT_EQ(s, "ac");
    EXPECT_EQ(*s.insert(s.cbegin() + 1, 'b'), 'b');
    s.insert(0, 2, '>').append(model.rbegin(), model.rend());
    EXPECT_EQ(s, ">>abcc  b a");
    EXPECT_EQ(std::string(s.crbegin(), s.crend()), "a b  ccba>>");
    EXPECT_EQ(s.compare(2, 3, "abc"), 0);
    EXPECT_THROW((void)s.compare(99, 1, "x"), std::out_of_range);
    s.erase(5).erase(0, 0);
    EXPECT_EQ(s, ">>abc");
    s.erase(0);
    EXPECT_TRUE(s.empty());
  }
}

TEST(String, IsReadFromAStreamLikeStd) {
  std::istringstream in("one two three\nfour");
  sfm::String word;
  sfm::String line;
  in >> word;
  getline(in, line);
  EXPECT_EQ(word, "one");
  EXPECT_EQ(line, " two three");
  in >> line >> word;
  EXPECT_EQ(line, "four");
  EXPECT_EQ(word, "one") << "nothing was left to read";
}

TEST(String, ComparesHashesAndConcatenatesLikeStd) {
  sfm::String s = "map";
  EXPECT_TRUE("map" == s && s == "map" && s != "mop" && s < "mop" && s > std::string("lap"));
  EXPECT_EQ(s + "/x", "map/x");
  EXPECT_EQ("/" + s, "/map");
  EXPECT_EQ(s + s, "mapmap");
  EXPECT_EQ('/' + s + '/', "/map/");
  EXPECT_EQ(std::string("a ") + s + " b", "a map b");
  EXPECT_EQ(s.at(1), 'a');
  EXPECT_THROW(s.at(3), std::out_of_range);
  std::unordered_set<sfm::String> set{s, "a"};
  EXPECT_EQ(set.count("map"), 1u);
  sfm::BoundedString<4> b = "abcd";
  EXPECT_THROW(b += "e", std::length_error);
  EXPECT_EQ(b, "abcd");
  EXPECT_THROW(b = "abcde", std::length_error);
  EXPECT_THROW(sfm::BoundedString<2>("abc"), std::length_error);
  s = b;
  EXPECT_EQ(s, b);
  s = {};
  EXPECT_TRUE(s.empty());
  EXPECT_STREQ(s.c_str(), "");
  s = nullptr == nullptr ? "x" : "y";
  s = 'c';
  EXPECT_EQ(s, "c");
}

}  // namespace
