// SPDX-License-Identifier: Apache-2.0
// How topic and service bridges reach the thread that follows the graphs. Thread rules: any thread; ask() and settled() do not block.
#pragma once

namespace baton::bridge {

class Updater {
 public:
  virtual ~Updater() = default;
  /// The graphs are to be looked at again, although none has changed.
  virtual void ask() = 0;
  /// Whether all that the graphs ask for is there. Before that, the answer to a request may cause messages that nobody hears yet: the feedback
  /// of an action, whose client waited for the publisher that the bridge shows.
  virtual bool settled() = 0;
};

}  // namespace baton::bridge
