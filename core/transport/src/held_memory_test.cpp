// SPDX-License-Identifier: Apache-2.0
#include "held_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

using namespace baton;
using namespace baton::transport;

namespace {

// Beside sets of what each party holds: any number of connections, any number of which hold the same message.
TEST(HeldMemory, AMessageCountsOnceInEachSum) {
  std::minstd_rand random(1);
  HeldMemory held;
  for (int run = 0; run < 500; ++run) {
    held.clear();
    std::map<std::uint64_t, std::set<memory::Handle>> of_party;
    std::set<memory::Handle> of_all;
    const auto bytes_of = [](memory::Handle handle) { return std::size_t{64} * handle; };
    for (std::uint64_t connection = random() % 6; connection > 0; --connection) {
      const Party party{Party::Kind::kProcess, random() % 3};
      const std::uint32_t number = held.number_of(party);
      of_party[party.id];
      for (std::uint64_t message = random() % 5; message > 0; --message) {
        const memory::Handle handle = 1 + random() % 6;
        held.add(number, handle, bytes_of(handle));
        of_party[party.id].insert(handle);
        of_all.insert(handle);
      }
    }
    held.sum();
    const auto sum = [&](const std::set<memory::Handle>& handles) {
      std::size_t bytes = 0;
      for (const memory::Handle each : handles) bytes += bytes_of(each);
      return bytes;
    };
    ASSERT_EQ(held.bytes(), sum(of_all));
    ASSERT_EQ(held.parties().size(), of_party.size()) << "also of parties that hold nothing";
    for (const auto& [id, handles] : of_party)
      ASSERT_EQ(held.bytes_of({Party::Kind::kProcess, id}), sum(handles)) << "party " << id;
  }
  EXPECT_EQ(held.bytes_of({Party::Kind::kUser, 1}), 0U) << "a party without a connection";
}

}  // namespace
