// SPDX-License-Identifier: Apache-2.0
#include "testing/messages.hpp"

#include <cstring>
#include <random>
#include <string>

namespace baton::message {
namespace {

using namespace testing;
using K = Kind;

// offsetof on types that are standard-layout; the invalid-offsetof warning would tell otherwise.
#define AT(T, member) static_cast<std::uint32_t>(offsetof(T, member))

template <class T, std::size_t N>
constexpr Type make(const char* name, const Field (&fields)[N], bool fixed) {
  static_assert(std::is_standard_layout_v<T>);
  return {name, sizeof(T), alignof(T), fields, N, fixed, {}, ""};
}
constexpr Field one(const char* name, Kind kind, std::uint32_t offset, const Type* type = nullptr,
                    std::uint32_t bound = 0) {
  return {name, kind, Shape::kSingle, 0, bound, offset, type};
}
constexpr Field array(const char* name, Kind kind, std::uint32_t count, std::uint32_t offset,
                      const Type* type = nullptr) {
  return {name, kind, Shape::kArray, count, 0, offset, type};
}
constexpr Field seq(const char* name, Kind kind, std::uint32_t offset, const Type* type = nullptr,
                    std::uint32_t bound = 0, std::uint32_t string_bound = 0) {
  return {name, kind, Shape::kSequence, bound, string_bound, offset, type};
}

constexpr Field kImageFields[] = {one("encoding", K::kString, AT(Image, encoding)),
                                  one("height", K::kUint32, AT(Image, height)),
                                  one("width", K::kUint32, AT(Image, width)), seq("data", K::kUint8, AT(Image, data))};
constexpr Type kImage = make<Image>("test/Image", kImageFields, false);

constexpr Field kTimeFields[] = {one("sec", K::kInt32, AT(Time, sec)), one("nanosec", K::kUint32, AT(Time, nanosec))};
constexpr Type kTime = make<Time>("test/Time", kTimeFields, true);

constexpr Field kHeaderFields[] = {one("seq", K::kUint32, AT(Header, seq)),
                                   one("stamp", K::kMessage, AT(Header, stamp), &kTime),
                                   one("frame_id", K::kString, AT(Header, frame_id))};
constexpr Type kHeader = make<Header>("test/Header", kHeaderFields, false);

constexpr Field kPointFields[] = {one("x", K::kFloat32, AT(Point32, x)), one("y", K::kFloat32, AT(Point32, y)),
                                  one("z", K::kFloat32, AT(Point32, z))};
constexpr Type kPoint = make<Point32>("test/Point32", kPointFields, true);

constexpr Field kChannelFields[] = {one("name", K::kString, AT(Channel, name)),
                                    seq("values", K::kFloat32, AT(Channel, values))};
constexpr Type kChannel = make<Channel>("test/Channel", kChannelFields, false);

constexpr Field kCloudFields[] = {one("header", K::kMessage, AT(PointCloud, header), &kHeader),
                                  seq("points", K::kMessage, AT(PointCloud, points), &kPoint),
                                  seq("channels", K::kMessage, AT(PointCloud, channels), &kChannel)};
constexpr Type kCloud = make<PointCloud>("test/PointCloud", kCloudFields, false);

constexpr Field kMonsterFields[] = {one("flag", K::kBool, AT(Monster, flag)),
                                    one("i8", K::kInt8, AT(Monster, i8)),
                                    one("u8", K::kUint8, AT(Monster, u8)),
                                    one("i16", K::kInt16, AT(Monster, i16)),
                                    one("u16", K::kUint16, AT(Monster, u16)),
                                    one("i32", K::kInt32, AT(Monster, i32)),
                                    one("u32", K::kUint32, AT(Monster, u32)),
                                    one("i64", K::kInt64, AT(Monster, i64)),
                                    one("u64", K::kUint64, AT(Monster, u64)),
                                    one("f32", K::kFloat32, AT(Monster, f32)),
                                    one("f64", K::kFloat64, AT(Monster, f64)),
                                    one("text", K::kString, AT(Monster, text)),
                                    one("short_text", K::kString, AT(Monster, short_text), nullptr, 8),
                                    one("wide", K::kWString, AT(Monster, wide)),
                                    one("short_wide", K::kWString, AT(Monster, short_wide), nullptr, 4),
                                    one("header", K::kMessage, AT(Monster, header), &kHeader),
                                    array("numbers", K::kUint16, 3, AT(Monster, numbers)),
                                    array("names", K::kString, 2, AT(Monster, names)),
                                    array("pair", K::kMessage, 2, AT(Monster, pair), &kChannel),
                                    array("wides", K::kWString, 2, AT(Monster, wides)),
                                    seq("flags", K::kBool, AT(Monster, flags)),
                                    seq("bytes", K::kUint8, AT(Monster, bytes)),
                                    seq("doubles", K::kFloat64, AT(Monster, doubles)),
                                    seq("few", K::kInt64, AT(Monster, few), nullptr, 4),
                                    seq("lines", K::kString, AT(Monster, lines)),
                                    seq("few_lines", K::kString, AT(Monster, few_lines), nullptr, 3, 5),
                                    seq("wide_lines", K::kWString, AT(Monster, wide_lines)),
                                    seq("points", K::kMessage, AT(Monster, points), &kPoint),
                                    seq("channels", K::kMessage, AT(Monster, channels), &kChannel),
                                    seq("clouds", K::kMessage, AT(Monster, clouds), &kCloud),
                                    seq("headers", K::kMessage, AT(Monster, headers), &kHeader, 2)};
constexpr Type kMonster = make<Monster>("test/Monster", kMonsterFields, false);

constexpr Field kScalarFields[] = {one("flag", K::kBool, AT(Scalars, flag)), one("i8", K::kInt8, AT(Scalars, i8)),
                                   one("u8", K::kUint8, AT(Scalars, u8)),    one("i16", K::kInt16, AT(Scalars, i16)),
                                   one("u16", K::kUint16, AT(Scalars, u16)), one("i32", K::kInt32, AT(Scalars, i32)),
                                   one("u32", K::kUint32, AT(Scalars, u32)), one("i64", K::kInt64, AT(Scalars, i64)),
                                   one("u64", K::kUint64, AT(Scalars, u64)), one("f32", K::kFloat32, AT(Scalars, f32)),
                                   one("f64", K::kFloat64, AT(Scalars, f64))};
constexpr Type kScalars = make<Scalars>("test/Scalars", kScalarFields, true);

constexpr Field kStringFields[] = {one("a", K::kString, AT(Strings, a)),
                                   one("b", K::kString, AT(Strings, b)),
                                   one("c", K::kString, AT(Strings, c)),
                                   one("d", K::kString, AT(Strings, d)),
                                   one("few", K::kString, AT(Strings, few), nullptr, 5),
                                   seq("lines", K::kString, AT(Strings, lines)),
                                   array("pair", K::kString, 2, AT(Strings, pair)),
                                   one("wide", K::kWString, AT(Strings, wide)),
                                   seq("wide_lines", K::kWString, AT(Strings, wide_lines))};
constexpr Type kStrings = make<Strings>("test/Strings", kStringFields, false);

constexpr Field kSequenceFields[] = {seq("flags", K::kBool, AT(Sequences, flags)),
                                     seq("bytes", K::kUint8, AT(Sequences, bytes)),
                                     seq("shorts", K::kInt16, AT(Sequences, shorts)),
                                     seq("doubles", K::kFloat64, AT(Sequences, doubles)),
                                     seq("few", K::kInt64, AT(Sequences, few), nullptr, 4),
                                     array("numbers", K::kUint16, 3, AT(Sequences, numbers)),
                                     seq("points", K::kMessage, AT(Sequences, points), &kPoint),
                                     array("stamps", K::kMessage, 2, AT(Sequences, stamps), &kTime)};
constexpr Type kSequences = make<Sequences>("test/Sequences", kSequenceFields, false);

constexpr Type kEmpty = {"test/Empty", 1, 1, nullptr, 0, true, {}, ""};

}  // namespace

const Type& TypeOf<Image>::get() noexcept { return kImage; }
const Type& TypeOf<Time>::get() noexcept { return kTime; }
const Type& TypeOf<Header>::get() noexcept { return kHeader; }
const Type& TypeOf<Point32>::get() noexcept { return kPoint; }
const Type& TypeOf<Channel>::get() noexcept { return kChannel; }
const Type& TypeOf<PointCloud>::get() noexcept { return kCloud; }
const Type& TypeOf<Monster>::get() noexcept { return kMonster; }
const Type& TypeOf<Scalars>::get() noexcept { return kScalars; }
const Type& TypeOf<Strings>::get() noexcept { return kStrings; }
const Type& TypeOf<Sequences>::get() noexcept { return kSequences; }
const Type& TypeOf<Empty>::get() noexcept { return kEmpty; }

namespace testing {
namespace {

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }
  std::uint32_t below(std::uint32_t n) { return word() % n; }
  std::string text(std::uint32_t longest) {
    std::string s(below(longest + 1), ' ');
    for (char& c : s) c = static_cast<char>(random_());
    return s;
  }
  std::u16string wide(std::uint32_t longest) {
    std::u16string s(below(longest + 1), u' ');
    for (char16_t& c : s) c = static_cast<char16_t>(random_());
    return s;
  }
  template <class V>
  void numbers(V& v, std::uint32_t most) {
    v.resize(below(most + 1));
    for (auto& x : v) x = static_cast<typename V::value_type>(below(1000));
  }
  void fill(Header& h) {
    h.seq = word();
    h.stamp = {static_cast<std::int32_t>(word()), below(1000000000)};
    h.frame_id = text(20);
  }
  void fill(Channel& c) {
    c.name = text(12);
    numbers(c.values, 30);
  }
  void fill(Point32& p) { p = {static_cast<float>(below(100)), static_cast<float>(below(100)), 1.0f}; }
  void fill(PointCloud& c) {
    fill(c.header);
    fill_all(c.points, 10);
    fill_all(c.channels, 4);
  }
  template <class V>
  void fill_all(V& v, std::uint32_t most) {
    v.resize(below(most + 1));
    for (auto& x : v) fill(x);
  }

 private:
  std::mt19937 random_;
};

}  // namespace

Monster make_monster(std::uint32_t seed) {
  Maker make(seed);
  Monster m;
  m.flag = make.below(2) != 0;
  m.i8 = static_cast<std::int8_t>(make.below(256));
  m.u8 = static_cast<std::uint8_t>(make.below(256));
  m.i16 = static_cast<std::int16_t>(make.below(65536));
  m.u16 = static_cast<std::uint16_t>(make.below(65536));
  m.i32 = static_cast<std::int32_t>(make.below(0xffffffff));
  m.u32 = make.below(0xffffffff);
  m.i64 = -static_cast<std::int64_t>(make.below(0xffffffff));
  m.u64 = std::uint64_t{make.below(0xffffffff)} << 20;
  m.f32 = static_cast<float>(make.below(100)) / 8;
  m.f64 = make.below(100) / 16.0;
  m.text = make.text(40);
  m.short_text = make.text(8);
  m.wide = make.wide(20);
  m.short_wide = make.wide(4);
  make.fill(m.header);
  for (auto& n : m.numbers) n = static_cast<std::uint16_t>(make.below(65536));
  for (auto& name : m.names) name = make.text(10);
  for (auto& c : m.pair) make.fill(c);
  for (auto& w : m.wides) w = make.wide(5);
  m.flags.resize(make.below(9));
  for (auto& f : m.flags) f = make.below(2) != 0;
  make.numbers(m.bytes, make.below(8) == 0 ? 9000 : 50);
  make.numbers(m.doubles, make.below(8) == 0 ? 700 : 9);
  make.numbers(m.few, 4);
  m.lines.resize(make.below(6));
  for (auto& l : m.lines) l = make.text(30);
  m.few_lines.resize(make.below(4));
  for (auto& l : m.few_lines) l = make.text(5);
  m.wide_lines.resize(make.below(4));
  for (auto& l : m.wide_lines) l = make.wide(7);
  make.fill_all(m.points, 9);
  make.fill_all(m.channels, 5);
  make.fill_all(m.clouds, 3);
  make.fill_all(m.headers, 2);
  return m;
}

const Type* find_type(const char* name) noexcept {
  static constexpr const Type* kTypes[] = {&kImage,   &kTime,    &kHeader,  &kPoint,     &kChannel, &kCloud,
                                           &kMonster, &kScalars, &kStrings, &kSequences, &kEmpty};
  for (const Type* type : kTypes) {
    if (std::strcmp(type->name, name) == 0) return type;
  }
  return nullptr;
}

}  // namespace testing
}  // namespace baton::message
