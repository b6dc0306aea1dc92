// SPDX-License-Identifier: Apache-2.0
// Parameters of a node: their values, and what a node says about them. Node declares, reads and sets them (node.hpp).
// Thread rules: values, no shared state.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "baton/os/result.hpp"

namespace baton {

/// The type of a parameter's value, with the numbers of rcl_interfaces/ParameterType.
enum class ParameterType : std::uint8_t {
  kNotSet = 0,
  kBool = 1,
  kInteger = 2,
  kDouble = 3,
  kString = 4,
  kByteArray = 5,
  kBoolArray = 6,
  kIntegerArray = 7,
  kDoubleArray = 8,
  kStringArray = 9,
};

/// ROS 2's word for a type: "integer", "double_array", "not set". Never null.
const char* name_of(ParameterType type) noexcept;

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

/// The one type in which a parameter keeps a T: bool, std::int64_t, double, std::string, or a vector of one of them or
/// of bytes (std::uint8_t). Void: none.
template <class T>
constexpr auto parameter_storage() {
  using D = std::decay_t<T>;
  if constexpr (std::is_same_v<D, bool>) {
    return std::common_type<bool>{};
  } else if constexpr (std::is_integral_v<D>) {
    return std::common_type<std::int64_t>{};
  } else if constexpr (std::is_floating_point_v<D>) {
    return std::common_type<double>{};
  } else if constexpr (std::is_convertible_v<D, std::string_view>) {
    return std::common_type<std::string>{};
  } else if constexpr (IsVector<D>::value) {
    using E = typename D::value_type;
    if constexpr (std::is_same_v<E, std::uint8_t>) {
      return std::common_type<std::vector<std::uint8_t>>{};
    } else if constexpr (!IsVector<E>::value && !std::is_void_v<typename decltype(parameter_storage<E>())::type>) {
      return std::common_type<std::vector<typename decltype(parameter_storage<E>())::type>>{};
    } else {
      return std::common_type<void>{};
    }
  } else {
    return std::common_type<void>{};
  }
}
template <class T>
using ParameterStorage = typename decltype(parameter_storage<T>())::type;

[[noreturn]] void throw_parameter_type(ParameterType is, ParameterType wanted);
[[noreturn]] void throw_parameter_range(const std::string& value);
/// `refused` again, with the parameter's name in front.
[[noreturn]] void throw_of_parameter(const std::string& name, const Exception& refused);

/// `value` as To. Throws invalid_argument if an integer does not fit.
template <class To, class From>
To parameter_number(From value) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From> && !std::is_same_v<To, bool> &&
                !std::is_same_v<From, bool>) {
    const To narrow = static_cast<To>(value);
    if (static_cast<From>(narrow) != value || (narrow < To{}) != (value < From{}))
      throw_parameter_range(std::to_string(value));
    return narrow;
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace detail

/// One value of one of the nine types, or not set.
class ParameterValue {
 public:
  /// In the order of ParameterType.
  using Storage =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::uint8_t>,
                   std::vector<bool>, std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

  ParameterValue() = default;
  /// Of a bool, an integer, a floating-point number, a string, or a std::vector of them; std::vector<std::uint8_t> is a
  /// byte array. Throws invalid_argument for an unsigned number beyond std::int64_t.
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, ParameterValue> &&
                                              !std::is_void_v<detail::ParameterStorage<T>>>>
  ParameterValue(const T& value) {  // NOLINT(google-explicit-constructor)
    using S = detail::ParameterStorage<T>;
    if constexpr (std::is_same_v<S, std::int64_t> || std::is_same_v<S, double>) {
      value_ = detail::parameter_number<S>(value);
    } else if constexpr (detail::IsVector<S>::value && !std::is_same_v<S, T>) {
      S all;
      all.reserve(value.size());
      for (const auto& one : value) {
        if constexpr (std::is_arithmetic_v<typename S::value_type>) {
          all.push_back(detail::parameter_number<typename S::value_type>(one));
        } else {
          all.push_back(typename S::value_type(one));
        }
      }
      value_ = std::move(all);
    } else {
      value_ = S(value);
    }
  }

  ParameterType type() const noexcept { return static_cast<ParameterType>(value_.index()); }
  bool is_set() const noexcept { return type() != ParameterType::kNotSet; }
  const Storage& storage() const noexcept { return value_; }

  /// The value as a T, which is any type that makes a ParameterValue. Throws type_mismatch if the value is of another
  /// type, and invalid_argument if an integer does not fit T.
  template <class T>
  T get() const {
    using S = detail::ParameterStorage<T>;
    static_assert(!std::is_void_v<S>,
                  "a parameter is a bool, an integer, a double, a string, or a std::vector of them or of std::uint8_t");
    const S* found = std::get_if<S>(&value_);
    if (!found) detail::throw_parameter_type(type(), ParameterValue(S{}).type());
    if constexpr (std::is_same_v<S, T>) {
      return *found;
    } else if constexpr (detail::IsVector<S>::value) {
      T all;
      all.reserve(found->size());
      for (const auto& one : *found) {
        if constexpr (std::is_arithmetic_v<typename S::value_type>) {
          all.push_back(detail::parameter_number<typename T::value_type>(one));
        } else {
          all.push_back(typename T::value_type(one));
        }
      }
      return all;
    } else if constexpr (std::is_arithmetic_v<S>) {
      return detail::parameter_number<T>(*found);
    } else {
      static_assert(std::is_same_v<S, T>, "read a string parameter as std::string");
    }
  }

  /// The value as YAML, e.g. `[1, 2]`; a YAML parser reads back the same value of the same type, byte arrays excepted.
  std::string to_yaml() const;

  friend bool operator==(const ParameterValue& a, const ParameterValue& b) { return a.value_ == b.value_; }
  friend bool operator!=(const ParameterValue& a, const ParameterValue& b) { return !(a == b); }

 private:
  Storage value_;
};

/// A name with its value, as rclcpp::Parameter.
class Parameter {
 public:
  Parameter() = default;
  Parameter(std::string name, ParameterValue value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string& name() const noexcept { return name_; }
  const std::string& get_name() const noexcept { return name_; }
  const ParameterValue& value() const noexcept { return value_; }
  ParameterType type() const noexcept { return value_.type(); }
  ParameterType get_type() const noexcept { return value_.type(); }
  /// As ParameterValue::get(); what is thrown names the parameter.
  template <class T>
  T get_value() const {
    try {
      return value_.get<T>();
    } catch (const Exception& refused) {
      detail::throw_of_parameter(name_, refused);
    }
  }
  bool as_bool() const { return get_value<bool>(); }
  std::int64_t as_int() const { return get_value<std::int64_t>(); }
  double as_double() const { return get_value<double>(); }
  std::string as_string() const { return get_value<std::string>(); }
  std::vector<std::uint8_t> as_byte_array() const { return get_value<std::vector<std::uint8_t>>(); }
  std::vector<bool> as_bool_array() const { return get_value<std::vector<bool>>(); }
  std::vector<std::int64_t> as_integer_array() const { return get_value<std::vector<std::int64_t>>(); }
  std::vector<double> as_double_array() const { return get_value<std::vector<double>>(); }
  std::vector<std::string> as_string_array() const { return get_value<std::vector<std::string>>(); }

 private:
  std::string name_;
  ParameterValue value_;
};

/// Bounds of an integer parameter, both inclusive. `step` > 0: only from_value + n * step, and to_value.
struct IntegerRange {
  std::int64_t from_value = 0;
  std::int64_t to_value = 0;
  std::uint64_t step = 0;
};

/// Bounds of a double parameter, as IntegerRange.
struct FloatingPointRange {
  double from_value = 0;
  double to_value = 0;
  double step = 0;
};

/// The description of a parameter, and the values that it may take.
struct ParameterDescriptor {
  std::string description = {};
  std::string additional_constraints = {};  ///< for people
  bool read_only = false;                   ///< only the declaration, and its override, give a value
  bool dynamic_typing = false;              ///< a set may change the type
  std::optional<IntegerRange> integer_range = {};
  std::optional<FloatingPointRange> floating_point_range = {};
};

/// Whether parameters were set; if not, why.
struct SetParametersResult {
  bool successful = true;
  std::string reason = {};
};

/// Names of parameters, and the prefixes of those that have a dot.
struct ListParametersResult {
  std::vector<std::string> names;
  std::vector<std::string> prefixes;
};

namespace node_interfaces {
/// Keeps a callback of parameters, in rclcpp's words.
struct OnSetParametersCallbackHandle {
  using SharedPtr = std::shared_ptr<void>;
};
using PostSetParametersCallbackHandle = OnSetParametersCallbackHandle;
}  // namespace node_interfaces

}  // namespace baton
