// SPDX-License-Identifier: Apache-2.0
#include "baton/os/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace baton {
namespace {

/// Counts its living objects.
struct Counted {
  static int living;
  int value = 0;

  explicit Counted(int given) : value(given) { ++living; }
  Counted(const Counted& other) : value(other.value) { ++living; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++living; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --living; }
};
int Counted::living = 0;

// Longer than what a std::string keeps in itself.
const std::string kText = "a text of an error that needs memory of its own";

TEST(Result, IsAValueOrAnError) {
  const Result<int> value = 7;
  EXPECT_TRUE(value.ok() && value);
  EXPECT_EQ(value.value(), 7);
  EXPECT_EQ(*value, 7);
  const Result<int> error = Error{Errc::forked, kText};
  EXPECT_FALSE(error.ok() || error);
  EXPECT_EQ(error.error().code, Errc::forked);
  EXPECT_EQ(error.error().message, kText);
}

TEST(Result, IsCopiedAndMovedAsItsValueIs) {
  using Moved = Result<std::unique_ptr<int>>;
  static_assert(!std::is_copy_constructible_v<Moved> && !std::is_copy_assignable_v<Moved>);
  static_assert(std::is_nothrow_move_constructible_v<Moved> && std::is_nothrow_move_assignable_v<Moved>);
  static_assert(std::is_copy_constructible_v<Result<int>> && std::is_copy_assignable_v<Result<int>>);
  Moved first = std::make_unique<int>(3);
  Moved second = std::move(first);
  EXPECT_EQ(**second, 3);
  EXPECT_EQ(*first, nullptr);
}

TEST(Result, AnAssignmentTakesWhatTheOtherHasAndEndsWhatWasThere) {
  {
    Result<Counted> value(std::in_place, 1);
    Result<Counted> other(std::in_place, 2);
    Result<Counted> error = Error{Errc::not_found, kText};
    EXPECT_EQ(Counted::living, 2);
    value = other;  // a value for a value
    EXPECT_EQ(value->value, 2);
    EXPECT_EQ(other->value, 2);
    value = error;  // an error for a value
    EXPECT_EQ(value.error().message, kText);
    EXPECT_EQ(error.error().message, kText);
    EXPECT_EQ(Counted::living, 1);
    value = Error{Errc::forked, "another"};  // an error for an error
    EXPECT_EQ(value.error().code, Errc::forked);
    value = std::move(other);  // a value for an error
    EXPECT_EQ(value->value, 2);
    EXPECT_EQ(other->value, -1);
    EXPECT_EQ(Counted::living, 2);
    Result<Counted>& itself = value;
    value = itself;
    value = std::move(itself);
    EXPECT_EQ(value->value, 2);
  }
  EXPECT_EQ(Counted::living, 0);
}

TEST(Result, OrThrowThrowsTheErrorAndMovesTheValueOut) {
  EXPECT_EQ(*Result<std::unique_ptr<int>>(std::make_unique<int>(5)).or_throw(), 5);
  try {
    static_cast<void>(Result<int>(Error{Errc::timed_out, "no answer"}).or_throw());
    FAIL() << "no exception";
  } catch (const Exception& e) {
    EXPECT_EQ(e.code(), Errc::timed_out);
    EXPECT_STREQ(e.what(), "timed_out: no answer");
  }
}

TEST(Result, OfNothingIsSuccessOrAnError) {
  Result<void> result;
  EXPECT_TRUE(result.ok());
  EXPECT_NO_THROW(result.or_throw());
  result = Error{Errc::forked, kText};
  EXPECT_EQ(result.error().message, kText);
  EXPECT_THROW(result.or_throw(), Exception);
  const Result<void> copy = result;
  result = {};
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(copy.error().message, kText);
}

}  // namespace
}  // namespace baton
