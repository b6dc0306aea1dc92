// SPDX-License-Identifier: Apache-2.0
#include "testing/messages.hpp"

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
constexpr Field one(const char* name, Kind kind, std::uint32_t offset, const Type* type = nullptr, std::uint32_t bound = 0) {
  return {name, kind, Shape::kSingle, 0, bound, offset, type};
}
constexpr Field array(const char* name, Kind kind, std::uint32_t count, std::uint32_t offset, const Type* type = nullptr) {
  return {name, kind, Shape::kArray, count, 0, offset, type};
}
constexpr Field seq(const char* name, Kind kind, std::uint32_t offset, const Type* type = nullptr, std::uint32_t bound = 0,
                    std::uint32_t string_bound = 0) {
  return {name, kind, Shape::kSequence, bound, string_bound, offset, type};
}

constexpr Field kImageFields[] = {one("encoding", K::kString, AT(Image, encoding)),
                                  one("height", K::kUint32, AT(Image, height)),
                                  one("width", K::kUint32, AT(Image, width)),
                                  seq("data", K::kUint8, AT(Image, data))};
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

constexpr Field kMonsterFields[] = {
    one("flag", K::kBool, AT(Monster, flag)),
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

constexpr Type kEmpty = {"test/Empty", 1, 1, nullptr, 0, true, {}, ""};

}  // namespace

const Type& TypeOf<Image>::get() noexcept { return kImage; }
const Type& TypeOf<Time>::get() noexcept { return kTime; }
const Type& TypeOf<Header>::get() noexcept { return kHeader; }
const Type& TypeOf<Point32>::get() noexcept { return kPoint; }
const Type& TypeOf<Channel>::get() noexcept { return kChannel; }
const Type& TypeOf<PointCloud>::get() noexcept { return kCloud; }
const Type& TypeOf<Monster>::get() noexcept { return kMonster; }
const Type& TypeOf<Empty>::get() noexcept { return kEmpty; }

}  // namespace baton::message
