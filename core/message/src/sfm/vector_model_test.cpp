// SPDX-License-Identifier: Apache-2.0
// Property tests: random programs run on an sfm::Vector in each place and on a std::vector, which must agree after each step.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <tuple>
#include <vector>

#include "baton/message/validate.hpp"
#include "baton/os/result.hpp"
#include "baton/sfm/size.hpp"
#include "testing/messages.hpp"
#include "testing/test_chunk.hpp"

using namespace baton;
using namespace baton::message::testing;

namespace {

// What stands for an element in the model, and how a number becomes an element.
template <class T>
struct Sample;
template <>
struct Sample<std::uint8_t> {
  using Model = std::uint8_t;
  static Model make(unsigned n) { return static_cast<std::uint8_t>(n); }
};
template <>
struct Sample<double> {
  using Model = double;
  static Model make(unsigned n) { return n * 0.5; }
};
template <>
struct Sample<sfm::String> {
  using Model = std::string;
  static Model make(unsigned n) { return std::string(n % 13, static_cast<char>('a' + n % 26)); }
};
template <>
struct Sample<Channel> {
  struct Model {
    Model() = default;
    Model(unsigned n) : name(n % 9, 'x'), values(n % 5, static_cast<float>(n)) {}
    operator Channel() const {
      Channel c;
      c.name = name;
      c.values = values;
      return c;
    }
    std::string name;
    std::vector<float> values;
  };
  static Model make(unsigned n) { return Model(n); }
};
bool operator==(const Channel& a, const Sample<Channel>::Model& b) { return a.name == b.name && a.values == b.values; }

struct Step {
  unsigned code, a, b, value;
};

template <class T>
struct Holder {
  sfm::String before;
  sfm::Vector<T> v;
  sfm::String after;
};

template <class T>
using ModelVector = std::vector<typename Sample<T>::Model>;

template <class T>
void check_equal(const sfm::Vector<T>& v, const ModelVector<T>& model) {
  RC_ASSERT(v.size() == model.size());
  RC_ASSERT(v.capacity() >= v.size());
  for (std::size_t i = 0; i < model.size(); ++i) RC_ASSERT(v[i] == model[i]);
}

// One step on both; returns false if the step changes nothing on failure (strong guarantee).
template <class T>
void run_step(const Step& s, sfm::Vector<T>& v, ModelVector<T>& m, sfm::Vector<T>& other, ModelVector<T>& other_model) {
  const std::size_t n = m.size();
  const std::size_t i = n == 0 ? 0 : s.a % n;
  const std::size_t j = n == 0 ? 0 : i + s.b % (n - i + 1);
  const auto value = Sample<T>::make(s.value);
  const T element = value;
  const auto at = [&](auto& c, std::size_t k) { return c.begin() + static_cast<std::ptrdiff_t>(k); };
  switch (s.code % 26) {
    case 0:
      v.push_back(element), m.push_back(value);
      break;
    case 1:
      v.push_back(T(element)), m.push_back(value);
      break;
    case 2:
      v.emplace_back(value), m.emplace_back(value);
      break;
    case 3:
      if (n != 0) {
        v.push_back(v[i]);
        m.push_back(typename Sample<T>::Model(m[i]));
      }
      break;
    case 4:
      if (n != 0) {
        v.pop_back(), m.pop_back();
      }
      break;
    case 5:
      v.insert(at(v, i), element), m.insert(at(m, i), value);
      break;
    case 6:
      if (n != 0) {
        v.insert(at(v, i), v[j % n]);
        m.insert(at(m, i), typename Sample<T>::Model(m[j % n]));
      }
      break;
    case 7:
      v.insert(at(v, i), s.b % 5, element), m.insert(at(m, i), s.b % 5, value);
      break;
    case 8:
      if (n != 0) {
        const auto copy = m[j % n];
        v.insert(at(v, i), std::size_t{s.b % 4}, v[j % n]);
        m.insert(at(m, i), s.b % 4, copy);
      }
      break;
    case 9: {
      const ModelVector<T> more(s.b % 7, value);
      v.insert(at(v, i), more.begin(), more.end()), m.insert(at(m, i), more.begin(), more.end());
      break;
    }
    case 10:
      if (n != 0) {
        v.erase(at(v, i)), m.erase(at(m, i));
      }
      break;
    case 11:
      v.erase(at(v, i), at(v, j)), m.erase(at(m, i), at(m, j));
      break;
    case 12:
      v.resize(s.a % 40), m.resize(s.a % 40);
      break;
    case 13:
      v.resize(s.a % 40, element), m.resize(s.a % 40, value);
      break;
    case 14:
      v.reserve(s.a % 60), m.reserve(s.a % 60);
      break;
    case 15:
      v.clear(), m.clear();
      break;
    case 16:
      v.assign(s.a % 20, element), m.assign(s.a % 20, value);
      break;
    case 17: {
      const ModelVector<T> more(s.a % 30, value);
      v = more, m = more;
      break;
    }
    case 18: {
      v.assign(v.data() + i, v.data() + j);
      m = ModelVector<T>(at(m, i), at(m, j));
      break;
    }
    case 19:
      v.shrink_to_fit();
      break;
    case 20:
      v.swap(other), m.swap(other_model);
      break;
    case 21:
      v = other, m = other_model;
      break;
    case 22:
      other = v, other_model = m;
      break;
    case 23: {
      sfm::Vector<T> out = std::move(v);
      v = std::move(out);
      break;
    }
    case 24:
      if (n != 0) {
        v[i] = v[j % n];
        m[i] = typename Sample<T>::Model(m[j % n]);
      }
      break;
    case 25: {
      v = std::as_const(v);
      if (n != 0) {
        v.insert(at(v, i), v.begin() + i, v.begin() + j);
        const ModelVector<T> part(at(m, i), at(m, j));
        m.insert(at(m, i), part.begin(), part.end());
      }
      break;
    }
    default:
      break;
  }
}

rc::Gen<std::vector<Step>> program() {
  return rc::gen::container<std::vector<Step>>(
      rc::gen::map(rc::gen::tuple(rc::gen::inRange(0u, 26u), rc::gen::inRange(0u, 100u), rc::gen::inRange(0u, 100u),
                                  rc::gen::inRange(0u, 1000u)),
                   [](const std::tuple<unsigned, unsigned, unsigned, unsigned>& t) {
                     return Step{std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
                   }));
}

template <class T>
void run_program(Holder<T>& here, sfm::Vector<T>& other, const std::vector<Step>& steps) {
  ModelVector<T> model, other_model;
  here.before = "before";
  for (const Step& s : steps) {
    run_step(s, here.v, model, other, other_model);
    check_equal(here.v, model);
    check_equal(other, other_model);
    if (s.code % 5 == 0) here.after = std::string(s.value % 50, 'z');  // contents alternate
  }
  RC_ASSERT(here.before == "before");
  const Holder<T> copy = here;
  check_equal(copy.v, model);
}

template <class T>
class VectorModel : public ::testing::Test {};
using Elements = ::testing::Types<std::uint8_t, double, sfm::String, Channel>;
TYPED_TEST_SUITE(VectorModel, Elements);

TYPED_TEST(VectorModel, PrivateVectorAgreesWithStd) {
  EXPECT_TRUE(rc::check([] {
    Holder<TypeParam> here;
    sfm::Vector<TypeParam> other;
    run_program(here, other, *program());
  }));
}

TYPED_TEST(VectorModel, VectorInALoanAgreesWithStdAndGivesEveryBlockBack) {
  EXPECT_TRUE(rc::check([] {
    Loaned<Holder<TypeParam>> here;
    sfm::Vector<TypeParam> other;  // swaps and assignments go to private memory
    run_program(*here, other, *program());
    here->v.clear();
    here->v.shrink_to_fit();
    here->before = here->after = {};
    here->before.shrink_to_fit();
    here->after.shrink_to_fit();
    if (TestChunk::is_fake()) RC_ASSERT(here.chunk().blocks() == 0);
  }));
}

TYPED_TEST(VectorModel, VectorsInTwoLoansAgreeWithStd) {
  EXPECT_TRUE(rc::check([] {
    Loaned<Holder<TypeParam>> here;
    Loaned<Holder<TypeParam>> there;
    run_program(*here, there->v, *program());
  }));
}

TYPED_TEST(VectorModel, TwoVectorsOfOneLoanAgreeWithStd) {
  struct Two {
    Holder<TypeParam> a;
    sfm::Vector<TypeParam> b;
  };
  EXPECT_TRUE(rc::check([] {
    Loaned<Two> here;
    run_program(here->a, here->b, *program());
  }));
}

// Growth that fails leaves the vector as it was; every other step leaves it valid.
TYPED_TEST(VectorModel, FailedGrowthLosesNothing) {
  if (!TestChunk::is_fake()) GTEST_SKIP() << "failures are injected by the model arena";
  EXPECT_TRUE(rc::check([] {
    Loaned<Holder<TypeParam>> here;
    ModelVector<TypeParam> model;
    sfm::Vector<TypeParam> other;
    ModelVector<TypeParam> other_model;
    for (const Step& s : *program()) {
      const unsigned code = s.code % 26;
      if (code >= 20 && code <= 22) continue;
      const ModelVector<TypeParam> before = model;
      fail_allocations(static_cast<int>(s.b % 3));
      try {
        run_step(s, here->v, model, other, other_model);
        fail_allocations(-1);
        check_equal(here->v, model);
      } catch (const Exception& e) {
        fail_allocations(-1);
        RC_ASSERT(e.code() == Errc::message_too_large);
        model = before;
        const bool strong = code <= 3 || code == 12 || code == 14;
        if (strong) {
          check_equal(here->v, model);
        } else {
          here->v = model;  // valid, whatever it holds
        }
      }
    }
    here->v.clear();
    here->v.shrink_to_fit();
    RC_ASSERT(here.chunk().blocks() == 0);
  }));
}

}  // namespace
