// SPDX-License-Identifier: Apache-2.0
// Ten names of the ROS tutorials that Baton does not have. The compiler warns with the words to write, before its error that the
// type is incomplete or the function deleted. docs/guides/from-ros.md has all others; `baton migrate report` finds them in sources.
// Thread rules: declarations only.
#pragma once

namespace baton {

struct [[deprecated("write baton::Node node(\"camera\"); with a namespace: Node(\"camera\", \"left\")")]] NodeHandle;
struct [[deprecated("write auto, or baton::Subscription<T>")]] Subscriber;
struct [[deprecated("write auto, or baton::Service<S>")]] ServiceServer;
struct [[deprecated("write auto, or baton::Client<S>")]] ServiceClient;
struct [[deprecated("write baton::Executor executor(4), and let a std::thread call its spin()")]] AsyncSpinner;
struct [[deprecated("a timer's callback takes no argument: write void f(), and baton::now() in it")]] TimerEvent;
[[deprecated("write baton::spin_some(node): of each subscription the oldest message")]] void spinOnce() = delete;

struct TimerBase {
  struct [[deprecated("write baton::Timer")]] SharedPtr;
};
namespace executors {
struct [[deprecated("write baton::Executor executor;")]] SingleThreadedExecutor;
struct [[deprecated("write baton::Executor executor(4);")]] MultiThreadedExecutor;
}  // namespace executors

}  // namespace baton
