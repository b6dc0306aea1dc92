// SPDX-License-Identifier: Apache-2.0
#include "baton/node/parameter.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "baton/message/print.hpp"

namespace baton {

const char* name_of(ParameterType type) noexcept {
  switch (type) {
    case ParameterType::kNotSet:
      return "not set";
    case ParameterType::kBool:
      return "bool";
    case ParameterType::kInteger:
      return "integer";
    case ParameterType::kDouble:
      return "double";
    case ParameterType::kString:
      return "string";
    case ParameterType::kByteArray:
      return "byte_array";
    case ParameterType::kBoolArray:
      return "bool_array";
    case ParameterType::kIntegerArray:
      return "integer_array";
    case ParameterType::kDoubleArray:
      return "double_array";
    case ParameterType::kStringArray:
      return "string_array";
  }
  return "unknown";
}

namespace detail {

void throw_parameter_type(ParameterType is, ParameterType wanted) {
  throw Exception({Errc::type_mismatch, std::string("the parameter's value is of type ") + name_of(is) +
                                            ", and was read as " + name_of(wanted)});
}

void throw_parameter_range(const std::string& value) {
  throw Exception({Errc::invalid_argument, "the integer " + value + " does not fit the type that it is read as"});
}

void throw_of_parameter(const std::string& name, const Exception& refused) {
  const std::string code = std::string(errc_name(refused.code())) + ": ";  // what an Exception's text begins with
  throw Exception({refused.code(), "parameter '" + name + "': " + (refused.what() + code.size())});
}

namespace {

std::string yaml_of(bool value) { return value ? "true" : "false"; }
std::string yaml_of(std::int64_t value) { return std::to_string(value); }
std::string yaml_of(std::uint8_t value) { return std::to_string(value); }

std::string yaml_of(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string result(text.data(), end.ptr);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";  // else an integer
  return result;
}

std::string yaml_of(const std::string& value) { return message::yaml_of(value); }

template <class T>
std::string yaml_of(const std::vector<T>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + yaml_of(static_cast<const T&>(values[i]));
  return text + "]";
}

}  // namespace
}  // namespace detail

std::string ParameterValue::to_yaml() const {
  return std::visit(
      [](const auto& value) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return "";
        } else {
          return detail::yaml_of(value);
        }
      },
      value_);
}

}  // namespace baton
