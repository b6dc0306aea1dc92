// SPDX-License-Identifier: Apache-2.0
#include "parameter_store.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "baton/os/shortage.hpp"

namespace baton::detail {
namespace {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& values) {
  return std::vector<To>(values.begin(), values.end());
}

/// `value` as a value of type `wanted`, or none. Integers become doubles, an empty list fits every list type, and
/// integers that are bytes become bytes: YAML has no other way to write these.
std::optional<ParameterValue> as_type(const ParameterValue& value, ParameterType wanted) {
  if (value.type() == wanted) return value;
  if (value.type() == ParameterType::kInteger && wanted == ParameterType::kDouble)
    return ParameterValue(static_cast<double>(value.get<std::int64_t>()));
  if (value.type() == ParameterType::kIntegerArray) {
    const auto integers = value.get<std::vector<std::int64_t>>();
    if (wanted == ParameterType::kDoubleArray) return ParameterValue(converted<double>(integers));
    const bool bytes = std::all_of(integers.begin(), integers.end(), [](auto i) { return i >= 0 && i <= 255; });
    if (wanted == ParameterType::kByteArray && bytes) return ParameterValue(converted<std::uint8_t>(integers));
  }
  if (value.type() == ParameterType::kStringArray && value.get<std::vector<std::string>>().empty()) {
    switch (wanted) {
      case ParameterType::kByteArray:
        return ParameterValue(std::vector<std::uint8_t>());
      case ParameterType::kBoolArray:
        return ParameterValue(std::vector<bool>());
      case ParameterType::kIntegerArray:
        return ParameterValue(std::vector<std::int64_t>());
      case ParameterType::kDoubleArray:
        return ParameterValue(std::vector<double>());
      default:
        break;
    }
  }
  return std::nullopt;
}

/// A value for a sentence: long ones are cut, since other processes give them.
std::string shown(const ParameterValue& value) {
  constexpr std::size_t kMost = 100;
  std::string text = value.to_yaml();
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character of UTF-8
  return text.substr(0, end) + "...";
}

std::string text_of(double value) { return ParameterValue(value).to_yaml(); }

/// Why the value is outside of its range, as the end of a sentence; empty: it is inside.
std::string why_outside(const ParameterValue& value, const ParameterDescriptor& descriptor) {
  if (descriptor.integer_range && value.type() == ParameterType::kInteger) {
    const IntegerRange& range = *descriptor.integer_range;
    const auto number = value.get<std::int64_t>();
    if (number < range.from_value || number > range.to_value)
      return "must be from " + std::to_string(range.from_value) + " to " + std::to_string(range.to_value) + ", and " +
             std::to_string(number) + " is not";
    const std::uint64_t above = static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(range.from_value);
    if (range.step != 0 && number != range.to_value && above % range.step != 0)
      return "must be " + std::to_string(range.from_value) + " plus a multiple of " + std::to_string(range.step) +
             ", and " + std::to_string(number) + " is not";
  }
  if (descriptor.floating_point_range && value.type() == ParameterType::kDouble) {
    const FloatingPointRange& range = *descriptor.floating_point_range;
    const auto number = value.get<double>();
    if (!(number >= range.from_value && number <= range.to_value))
      return "must be from " + text_of(range.from_value) + " to " + text_of(range.to_value) + ", and " +
             text_of(number) + " is not";
    if (range.step > 0 && number != range.to_value) {
      const double steps = (number - range.from_value) / range.step;
      if (std::abs(steps - std::round(steps)) * range.step > 1e-9 * std::max(1.0, std::abs(number)))
        return "must be " + text_of(range.from_value) + " plus a multiple of " + text_of(range.step) + ", and " +
               text_of(number) + " is not";
    }
  }
  return "";
}

/// Why the descriptor does not fit a parameter of this type; empty: it does.
std::string why_no_descriptor(const ParameterDescriptor& descriptor, ParameterType type) {
  if (const auto& range = descriptor.integer_range) {
    if (type != ParameterType::kInteger) return "has an integer_range, and is no integer";
    if (range->from_value > range->to_value) return "has an integer_range that begins above its end";
  }
  if (const auto& range = descriptor.floating_point_range) {
    if (type != ParameterType::kDouble) return "has a floating_point_range, and is no double";
    if (!(range->from_value <= range->to_value)) return "has a floating_point_range that begins above its end";
    if (!(range->step >= 0)) return "has a floating_point_range with a negative step";
  }
  return "";
}

/// Refuses a given value.
[[noreturn]] void throw_given(const ParameterAssignment& given, Errc code, const std::string& why) {
  const Exception error({code, given.where + ": " + why});
  if (given.where == kProgramsOwn) throw error;
  throw UsageError(error);
}

}  // namespace

class BATON_LOCK_SCOPE ParameterStore::Changing {
 public:
  explicit Changing(ParameterStore& store) BATON_ACQUIRES(store.changing_) : store_(store) {
    store.check_process();
    // Only this thread writes its own id, so a match is no race.
    if (store.changer_.load(std::memory_order_relaxed) == std::this_thread::get_id())
      throw Exception({Errc::invalid_argument, "a callback of add_on_set_parameters_callback() of node '" +
                                                   store.node_ +
                                                   "' changes parameters; do so in one of "
                                                   "add_post_set_parameters_callback()"});
    store.changing_.lock();
    store.changer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~Changing() BATON_RELEASES() {
    store_.changer_.store(std::thread::id(), std::memory_order_relaxed);
    store_.changing_.unlock();
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  ParameterStore& store_;
};

ParameterStore::ParameterStore(std::string node, const std::vector<ParameterAssignment>& overrides)
    : node_(std::move(node)) {
  for (const ParameterAssignment& one : overrides) {
    const auto [at, is_new] = overrides_.try_emplace(one.name, one);
    if (is_new) continue;
    at->second.use->declared.store(true, std::memory_order_relaxed);  // replaced on purpose: not reported as unused
    at->second = one;
  }
}

void ParameterStore::check_process() const {
  if (generation_ != os::fork_generation())
    throw Exception({Errc::forked, "the parameters of node '" + node_ +
                                       "' belong to the parent process; make a new node in the child"});
}

os::Mutex& ParameterStore::own_mutex() const {
  check_process();
  return mutex_;
}

std::string ParameterStore::named(const std::string& name) const {
  return "parameter '" + name + "' of node '" + node_ + "'";
}

Error ParameterStore::unknown(const std::string& name) const {
  return {Errc::not_found, named(name) + " is not declared; the node's program calls declare_parameter()"};
}

template <class F>
std::vector<std::shared_ptr<F>> ParameterStore::alive(Callbacks<F> ParameterStore::*callbacks) {
  const os::Lock lock(own_mutex());
  std::vector<std::shared_ptr<F>> found;
  (this->*callbacks).remove_if([&](const std::weak_ptr<F>& weak) {
    if (auto callback = weak.lock()) found.push_back(std::move(callback));
    return weak.expired();
  });
  return found;
}

SetParametersResult ParameterStore::allowed(const std::vector<Parameter>& parameters) {
  for (const auto& callback : alive(&ParameterStore::on_set_)) {
    SetParametersResult result = call_program([&] { return (*callback)(parameters); });
    if (result.successful) continue;
    if (result.reason.empty()) result.reason = "a callback of node '" + node_ + "' refused it, and gave no reason";
    return result;
  }
  return {};
}

void ParameterStore::after(const std::vector<Parameter>& set) {
  for (const auto& callback : alive(&ParameterStore::post_set_)) call_program([&] { (*callback)(set); });
}

ParameterValue ParameterStore::declare(const std::string& name, ParameterValue value, ParameterType wanted,
                                       const ParameterDescriptor& descriptor) {
  if (name.empty())
    throw Exception({Errc::invalid_argument, "a parameter of node '" + node_ + "' is declared without a name"});
  if (value.is_set()) wanted = value.type();
  Event event;
  {
    const Changing changing(*this);
    if (has(name)) throw Exception({Errc::already_exists, named(name) + " is declared already"});
    if (const std::string why = why_no_descriptor(descriptor, wanted); !why.empty())
      throw Exception({Errc::invalid_argument, named(name) + " " + why});
    const auto found = overrides_.find(name);
    const bool is_given = found != overrides_.end();
    if (is_given) {
      const ParameterAssignment& given = found->second;
      given.use->declared.store(true, std::memory_order_relaxed);
      const std::optional<ParameterValue> fitting =
          descriptor.dynamic_typing ? given.value : as_type(given.value, wanted);
      if (!fitting)
        throw_given(given, Errc::type_mismatch,
                    named(name) + " is of type " + name_of(wanted) + ", and " + shown(given.value) + " is of type " +
                        name_of(given.value.type()));
      value = *fitting;
      if (const std::string why = why_outside(value, descriptor); !why.empty())
        throw_given(given, Errc::invalid_argument, named(name) + " " + why);
    }
    if (!value.is_set() && !descriptor.dynamic_typing)
      throw UsageError(
          Exception({Errc::invalid_argument, named(name) + " has no default, so it needs a value: --ros-args -p " +
                                                 name + ":=VALUE, or --params-file"}));
    if (const std::string why = why_outside(value, descriptor); !why.empty())
      throw Exception({Errc::invalid_argument, named(name) + " " + why});
    event.added.emplace_back(name, value);
    if (const SetParametersResult result = allowed(event.added); !result.successful) {
      if (is_given) throw_given(found->second, Errc::invalid_argument, named(name) + ": " + result.reason);
      throw Exception({Errc::invalid_argument, named(name) + ": " + result.reason});
    }
    if (prepare_) {
      prepare_();
      prepare_ = nullptr;
    }
    {
      const os::Lock lock(own_mutex());
      entries_[name] = {{value.is_set() ? value.type() : wanted, descriptor}, value};
    }
    if (event_) event_(event);
  }
  after(event.added);
  return value;
}

void ParameterStore::undeclare(const std::string& name) {
  Event event;
  const Changing changing(*this);
  {
    const os::Lock lock(own_mutex());
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw Exception(unknown(name));
    if (found->second.descriptor.read_only)
      throw Exception({Errc::invalid_argument, named(name) + " is read-only, and cannot be undeclared"});
    event.deleted.emplace_back(name, found->second.value);
    entries_.erase(found);
  }
  if (event_) event_(event);
}

bool ParameterStore::has(const std::string& name) const {
  const os::Lock lock(own_mutex());
  return entries_.count(name) != 0;
}

ParameterValue ParameterStore::find(const std::string& name) const {
  const os::Lock lock(own_mutex());
  const auto found = entries_.find(name);
  return found == entries_.end() ? ParameterValue() : found->second.value;
}

ParameterType ParameterStore::type(const std::string& name) const {
  const os::Lock lock(own_mutex());
  const auto found = entries_.find(name);
  return found == entries_.end() ? ParameterType::kNotSet : found->second.value.type();
}

ParameterValue ParameterStore::get(const std::string& name) const {
  const os::Lock lock(own_mutex());
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Exception(unknown(name));
  return found->second.value;
}

ParameterDescriptor ParameterStore::descriptor(const std::string& name) const {
  const os::Lock lock(own_mutex());
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Exception(unknown(name));
  return found->second.descriptor;
}

ListParametersResult ParameterStore::list(const std::vector<std::string>& prefixes, std::uint64_t depth) const {
  const std::set<std::string, std::less<>> wanted(prefixes.begin(), prefixes.end());
  const auto shallow = [&](std::string_view name) {
    return depth == 0 || static_cast<std::uint64_t>(std::count(name.begin(), name.end(), '.')) < depth;
  };
  // Looks for the name's own prefixes, so that the request's length counts little: other processes write it.
  const auto is_wanted = [&](std::string_view name) {
    if (wanted.empty()) return shallow(name);
    if (wanted.count(name) != 0) return true;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
      if (shallow(name.substr(dot + 1)) && wanted.count(name.substr(0, dot)) != 0) return true;
    }
    return false;
  };
  ListParametersResult result;
  std::set<std::string, std::less<>> seen;
  const os::Lock lock(own_mutex());
  for (const auto& [name, entry] : entries_) {
    if (!is_wanted(name)) continue;
    result.names.push_back(name);
    const std::size_t dot = name.rfind('.');
    if (dot != std::string::npos && seen.insert(name.substr(0, dot)).second)
      result.prefixes.push_back(name.substr(0, dot));
  }
  return result;
}

SetParametersResult ParameterStore::set_atomically(std::vector<Parameter> parameters) {
  Event event;
  {
    const Changing changing(*this);
    for (Parameter& parameter : parameters) {
      std::optional<Rule> entry;  // not the value, which may be large, and set often by one request
      {
        const os::Lock lock(own_mutex());
        if (const auto found = entries_.find(parameter.name()); found != entries_.end()) entry = found->second;
      }
      const std::string name = named(parameter.name());
      if (!entry) return {false, unknown(parameter.name()).message};
      if (entry->descriptor.read_only) return {false, name + " is read-only"};
      if (!parameter.value().is_set()) return {false, name + " cannot be unset"};
      std::optional<ParameterValue> fitting =
          entry->descriptor.dynamic_typing ? parameter.value() : as_type(parameter.value(), entry->type);
      if (!fitting)
        return {false, name + " is of type " + name_of(entry->type) + ", and " + shown(parameter.value()) +
                           " is of type " + name_of(parameter.type())};
      if (const std::string why = why_outside(*fitting, entry->descriptor); !why.empty())
        return {false, name + " " + why};
      parameter = Parameter(parameter.name(), std::move(*fitting));
    }
    if (SetParametersResult result = allowed(parameters); !result.successful) return result;
    event.changed = parameters;
    std::vector<ParameterValue> values;  // without memory for all of them none is set
    for (const Parameter& parameter : parameters) values.push_back(parameter.value());
    {
      const os::Lock lock(own_mutex());
      for (std::size_t i = 0; i < values.size(); ++i) entries_[parameters[i].name()].value = std::move(values[i]);
    }
    if (event_ && !parameters.empty()) event_(event);
  }
  if (!parameters.empty()) after(parameters);
  return {};
}

std::shared_ptr<void> ParameterStore::add_on_set(OnSetParameters callback) {
  auto kept = std::make_shared<OnSetParameters>(std::move(callback));
  const os::Lock lock(own_mutex());
  on_set_.push_back(kept);
  return kept;
}

std::shared_ptr<void> ParameterStore::add_post_set(PostSetParameters callback) {
  auto kept = std::make_shared<PostSetParameters>(std::move(callback));
  const os::Lock lock(own_mutex());
  post_set_.push_back(kept);
  return kept;
}

}  // namespace baton::detail
