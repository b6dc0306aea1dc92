// SPDX-License-Identifier: Apache-2.0
#include "loan_table.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace baton::rmw {
namespace {

using Loan = std::unique_ptr<int>;

TEST(LoanTable, a_loan_is_handed_out_once) {
  LoanTable<Loan> table;
  auto loan = std::make_unique<int>(7);
  const void* const message = loan.get();
  EXPECT_TRUE(table.add(message, std::move(loan)));
  EXPECT_FALSE(table.empty());
  const std::optional<Loan> ended = table.remove(message);
  ASSERT_TRUE(ended);
  EXPECT_EQ(**ended, 7);
  EXPECT_FALSE(table.remove(message));
  EXPECT_TRUE(table.empty());
}

TEST(LoanTable, a_refused_loan_is_unchanged) {
  LoanTable<Loan> table(2);
  int one = 0, two = 0, three = 0;
  EXPECT_TRUE(table.add(&one, std::make_unique<int>(1)));
  auto again = std::make_unique<int>(2);
  EXPECT_FALSE(table.add(&one, std::move(again))) << "on loan already";
  ASSERT_TRUE(again);
  EXPECT_TRUE(table.add(&two, std::move(again)));
  auto more = std::make_unique<int>(3);
  EXPECT_FALSE(table.add(&three, std::move(more))) << "the table is full";
  ASSERT_TRUE(more);
  EXPECT_EQ(**table.remove(&one), 1);
  EXPECT_TRUE(table.add(&three, std::move(more)));
  EXPECT_EQ(**table.remove(&two), 2);
  EXPECT_EQ(**table.remove(&three), 3);
}

struct Ends {
  explicit Ends(LoanTable<std::unique_ptr<Ends>>& of) : table(of) {}
  ~Ends() { empty = table.empty(); }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  LoanTable<std::unique_ptr<Ends>>& table;
  static inline bool empty = false;
};

TEST(LoanTable, the_end_of_a_loan_may_use_the_table) {
  LoanTable<std::unique_ptr<Ends>> table;
  const int message = 0;
  table.add(&message, std::make_unique<Ends>(table));
  table.remove(&message);
  EXPECT_TRUE(Ends::empty);
}

}  // namespace
}  // namespace baton::rmw
