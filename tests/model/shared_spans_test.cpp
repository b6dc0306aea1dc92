// SPDX-License-Identifier: Apache-2.0
// The giving back of spans of baton/objects, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/objects/span_claim.hpp"
#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// A process makes and frees an object in span 1, goes on to 2 and 3, and comes back; another gives span 1 back and uses its memory.
class GivingBack : public Scenario {
 public:
  static constexpr std::uint32_t kSmall = 1, kClosing = 2, kOther = 4;
  explicit GivingBack(bool frees, bool look_at_objects = true) : frees_(frees), look_at_objects_(look_at_objects) {}

  void setup(World& world) override {
    published_ = std::make_unique<Pair>();
    word_ = std::make_unique<Atomic<std::uint32_t>>("span", kSmall);
    object_ = std::make_unique<Atomic<std::uint32_t>>("object");
    memory_ = std::make_unique<Data<int>>("memory");
    world.spawn(0, "claimer", [this] {
      std::uint32_t now = 0;
      for (const std::uint32_t span : {1U, 2U, 3U, 1U}) {
        objects::detail::publish_span<ModelPlatform>(published_->spans, now, span);
        now = span;
        if (span != 1) continue;
        if (word_->load(std::memory_order_acquire) != kSmall) {
          published_->spans[0].store(0, std::memory_order_relaxed);
          now = 0;
          continue;
        }
        if (object_->load(std::memory_order_relaxed) != 0) continue;
        object_->store(1, std::memory_order_relaxed);  // an exchange in the heap, where others claim, too
        memory_->write(7);
        if (frees_) object_->store(0, std::memory_order_release);
      }
    });
    world.spawn(1, "giver", [this] {
      if (object_->load(std::memory_order_acquire) != 0) return;
      objects::detail::close_span<ModelPlatform>(*word_, kClosing);
      if (objects::detail::claims_in(published_->spans, 1) ||
          (look_at_objects_ && object_->load(std::memory_order_acquire) != 0)) {
        word_->fetch_add(~kClosing + 1, std::memory_order_relaxed);
        return;
      }
      word_->fetch_add(kOther - kClosing - kSmall, std::memory_order_release);  // no other thread writes it now
      memory_->write(8);                                                        // another's now
      given_ = true;
    });
  }
  void finish(World& world) override {
    world.require(!given_ || world.latest(object_->id()) == 0, "an object lives in a span that was given back");
  }

 private:
  struct Pair {
    Atomic<std::uint32_t> spans[2] = {Atomic<std::uint32_t>("published"), Atomic<std::uint32_t>("published before")};
  };
  bool frees_, look_at_objects_, given_ = false;
  std::unique_ptr<Pair> published_;
  std::unique_ptr<Atomic<std::uint32_t>> word_, object_;
  std::unique_ptr<Data<int>> memory_;
};

TEST(SpanModel, NobodyClaimsInASpanThatWasGivenBack) {
  expect_correct("span: given back while claimed in", scenario<GivingBack>(true));
  expect_correct("span: not given back with an object in it", scenario<GivingBack>(false));
}
TEST(SpanModel, NotLookingAtTheObjectsIsFound) {
  expect_violation("span: objects not looked at", scenario<GivingBack>(false, false));
}
class WeakenedSpan : public testing::TestWithParam<WeakenedOperation> {};
TEST_P(WeakenedSpan, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<GivingBack>(true), options);
}
INSTANTIATE_TEST_SUITE_P(SpanModel, WeakenedSpan,
                         testing::Values(WeakenedOperation{"claimer's fence missing", {"fence", Op::kFence, 0}},
                                         WeakenedOperation{"giver's fence missing", {"fence", Op::kFence, 1}},
                                         WeakenedOperation{"publication relaxed", {"published", Op::kStore, 0}},
                                         WeakenedOperation{"look at the publication relaxed",
                                                           {"published", Op::kLoad, 1}}));

}  // namespace
}  // namespace baton::model
