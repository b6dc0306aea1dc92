// SPDX-License-Identifier: Apache-2.0
#include "kept_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

using namespace baton;
using namespace baton::transport;

namespace {

// Beside a queue that forgets its oldest message: whatever comes and goes, both have the same messages.
TEST(KeptMessages, AreTheLastOnesWhateverComesAndGoes) {
  for (const std::size_t depth : {1U, 2U, 7U}) {
    std::minstd_rand random(1);
    KeptMessages kept;
    kept.make_room(depth);
    std::deque<std::uint64_t> model;
    std::uint64_t sequence = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<memory::Handle> released, expected;
      const auto release = [&](memory::Handle handle) { released.push_back(handle); };
      switch (random() % 8) {
        case 0:
          kept.clear();
          model.clear();
          break;
        case 1:
          if (model.empty()) break;
          release(kept.remove_oldest());
          expected.push_back(model.front());
          model.pop_front();
          break;
        default:
          sequence += 1 + random() % 3;  // numbers may be missing
          if (model.size() == depth) {
            expected.push_back(model.front());
            model.pop_front();
          }
          model.push_back(sequence);
          kept.add({sequence, 0, sequence}, release);
      }
      ASSERT_EQ(released, expected);
      ASSERT_EQ(kept.size(), model.size());
      ASSERT_EQ(kept.empty(), model.empty());
      for (std::size_t back = 0; back < model.size(); ++back)
        ASSERT_EQ(kept.before_newest(back).sequence, model[model.size() - 1 - back]);
      if (!model.empty()) {
        ASSERT_EQ(kept.oldest().sequence, model.front());
      }
      const std::uint64_t from = sequence - std::min<std::uint64_t>(sequence, random() % 10);
      const std::size_t most = random() % 9;
      const auto later = std::count_if(model.begin(), model.end(), [&](std::uint64_t each) { return each >= from; });
      ASSERT_EQ(kept.count_from(from, most), std::min<std::size_t>(static_cast<std::size_t>(later), most));
    }
  }
}

TEST(KeptMessages, RoomIsMadeOnce) {
  KeptMessages kept;
  kept.make_room(2);
  const auto never = [](memory::Handle) { FAIL() << "there is room"; };
  kept.add({1, 0, 1}, never);
  kept.make_room(2);
  kept.add({2, 0, 2}, never);
  EXPECT_EQ(kept.size(), 2U);
}

}  // namespace
