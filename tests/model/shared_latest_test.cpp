// SPDX-License-Identifier: Apache-2.0
// LatestCell of baton/objects: the newest value without locks, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/objects/latest.hpp"
#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// Writers (one after another, by a lock) and readers of a value of two words.
class Newest : public Scenario {
 public:
  explicit Newest(int writes) : writes_(writes) {}
  using Cell = objects::LatestCell<ModelPlatform, 2, 2>;
  void setup(World& world) override {
    cell_ = std::make_unique<Cell>(
        Cell{Atomic<std::uint64_t>("version"), {{A("word"), A("word")}, {A("word"), A("word")}}});
    world.spawn(0, "writer", [this] {
      for (int i = 1; i <= writes_; ++i) {
        const std::uint64_t value[2] = {static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i) + 100};
        World::current().require(cell_->write(value) == static_cast<std::uint64_t>(i), "a version is missing");
      }
    });
    world.spawn(1, "reader", [this] {
      std::uint64_t last = 0;
      for (int i = 0; i < 2; ++i) {
        std::uint64_t value[2] = {};
        const std::uint64_t version = cell_->read(value);
        World::current().require(version >= last, "went back");
        if (version != 0) World::current().require(value[0] == version && value[1] == version + 100, "torn");
        last = version;
      }
    });
  }

 private:
  using A = Atomic<std::uint64_t>;
  int writes_;
  std::unique_ptr<Cell> cell_;
};

TEST(LatestModel, AValueIsNeverTornAndNeverOlderThanTheLast) {
  expect_correct("latest: 4 writes, 2 reads, 2 slots", scenario<Newest>(4));
  Options options;
  options.kills = 1;
  options.killable = 1U << 0;
  expect_correct("latest: the writer is killed", scenario<Newest>(3), options);
}
class WeakenedLatest : public testing::TestWithParam<WeakenedOperation> {};
TEST_P(WeakenedLatest, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Newest>(4), options);
}
INSTANTIATE_TEST_SUITE_P(LatestModel, WeakenedLatest,
                         testing::Values(WeakenedOperation{"version store relaxed", {"version", Op::kStore, 0}},
                                         WeakenedOperation{"version load relaxed", {"version", Op::kLoad, 1}},
                                         WeakenedOperation{"word store relaxed", {"word", Op::kStore, 0}},
                                         WeakenedOperation{"word load relaxed", {"word", Op::kLoad, 1}}));

}  // namespace
}  // namespace baton::model
