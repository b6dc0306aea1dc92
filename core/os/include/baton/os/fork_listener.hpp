// SPDX-License-Identifier: Apache-2.0
// Objects that take part in a fork(): they stay unchanged during the fork, and drop what the child must not have.
// Thread rules: construction and destruction from any thread. The functions run on the thread that calls fork().
#pragma once

namespace baton::os {

class ForkListener {
 public:
  /// Before fork(): typically locks the object. Must not make or destroy ForkListeners.
  virtual void before_fork() = 0;
  /// After fork(), in the parent and in the child. The child has only the calling thread. Typically both functions
  /// unlock.
  virtual void after_fork_in_parent() = 0;
  virtual void after_fork_in_child() = 0;

  ForkListener(const ForkListener&) = delete;
  ForkListener& operator=(const ForkListener&) = delete;

 protected:
  ForkListener() = default;
  ~ForkListener() = default;
  /// Between start_listening() and stop_listening() the functions above may run.
  void start_listening();
  void stop_listening();
};

}  // namespace baton::os
