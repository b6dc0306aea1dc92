// SPDX-License-Identifier: Apache-2.0
// The parameters of one node: their values, rules and callbacks. Knows no topics and no services.
// Thread rules: all functions are thread-safe. Invariants: (1) `changing_` is held while values change, and while on-set
// callbacks run, so that a set is checked against the values that it replaces; (2) `mutex_` is innermost and never held
// during a callback, so callbacks may read parameters; (3) an on-set callback that sets parameters is refused, since it
// would wait for itself; (4) in a forked child every function throws forked, because the parent's threads may hold the
// locks for ever.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "baton/node/arguments.hpp"
#include "baton/node/parameter.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"

namespace baton::detail {

using OnSetParameters = std::function<SetParametersResult(const std::vector<Parameter>&)>;
using PostSetParameters = std::function<void(const std::vector<Parameter>&)>;

/// ParameterAssignment::where of a value that the program itself gives.
inline constexpr const char* kProgramsOwn = "NodeOptions::parameter_overrides";

class ParameterStore {
 public:
  /// What happened, for the topic /parameter_events.
  struct Event {
    std::vector<Parameter> added, changed, deleted;
  };

  /// `overrides`: values for declarations to come, the last one of a name counts.
  ParameterStore(std::string node, const std::vector<ParameterAssignment>& overrides);

  /// Called once, before the first declaration takes effect; throws what it throws.
  void on_first_declaration(std::function<void()> prepare) { prepare_ = std::move(prepare); }
  /// Called after every change, one change at a time.
  void on_event(std::function<void(const Event&)> event) { event_ = std::move(event); }

  /// The value: the override if there is one, else `value`. A `value` that is not set gives only the type `wanted`, and
  /// needs an override. Throws already_exists, type_mismatch, invalid_argument (refused by its range or a callback); as a
  /// UsageError, if the override is not the program's own.
  ParameterValue declare(const std::string& name, ParameterValue value, ParameterType wanted,
                         const ParameterDescriptor& descriptor);
  /// Throws not_found, invalid_argument (read-only).
  bool has_override(const std::string& name) const { return overrides_.count(name) > 0; }
  void undeclare(const std::string& name);

  bool has(const std::string& name) const;
  /// Not set: there is no such parameter.
  ParameterValue find(const std::string& name) const;
  /// Of find(), without a copy of the value.
  ParameterType type(const std::string& name) const;
  /// Throws not_found.
  ParameterValue get(const std::string& name) const;
  ParameterDescriptor descriptor(const std::string& name) const;
  ListParametersResult list(const std::vector<std::string>& prefixes, std::uint64_t depth) const;

  /// All or none.
  SetParametersResult set_atomically(std::vector<Parameter> parameters);

  /// Called in the order of registration while the returned handle lives.
  [[nodiscard]] std::shared_ptr<void> add_on_set(OnSetParameters callback);
  [[nodiscard]] std::shared_ptr<void> add_post_set(PostSetParameters callback);

 private:
  struct Rule {
    ParameterType type = ParameterType::kNotSet;
    ParameterDescriptor descriptor;
  };
  struct Entry : Rule {
    ParameterValue value;
  };
  template <class F>
  using Callbacks = std::list<std::weak_ptr<F>>;
  class Changing;

  void check_process() const;
  os::Mutex& own_mutex() const BATON_RETURNS_LOCK(mutex_);  // throws forked
  std::string named(const std::string& name) const;         // "parameter 'rate' of node '/camera'"
  Error unknown(const std::string& name) const;
  /// What the callbacks say.
  SetParametersResult allowed(const std::vector<Parameter>& parameters) BATON_REQUIRES(changing_);
  /// These callbacks may set parameters.
  void after(const std::vector<Parameter>& set) BATON_EXCLUDES(changing_);
  template <class F>
  std::vector<std::shared_ptr<F>> alive(Callbacks<F> ParameterStore::*callbacks);

  const std::string node_;
  const std::uint32_t generation_ = os::fork_generation();
  std::map<std::string, ParameterAssignment> overrides_;  // constant
  std::function<void()> prepare_;
  std::function<void(const Event&)> event_;

  os::Mutex changing_;
  std::atomic<std::thread::id> changer_{};  // the thread that holds changing_
  mutable os::Mutex mutex_;
  std::map<std::string, Entry> entries_ BATON_GUARDED_BY(mutex_);
  Callbacks<OnSetParameters> on_set_ BATON_GUARDED_BY(mutex_);
  Callbacks<PostSetParameters> post_set_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::detail
