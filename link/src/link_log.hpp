// SPDX-License-Identifier: Apache-2.0
// The link's diagnostics, with a limited rate. Names in them come from other hosts and other processes: bytes that could control a terminal or
// forge a line of a log become '?'.
// Thread rules: any thread.
// Invariants: (1) a rate belongs to an About, so no other host or process can create further rates; (2) whatever the texts are, a process
// writes at most kBurst lines of one About and kBurstOfAll lines in all at once, then one line each kPause and each kPauseOfAll; (3) lines that
// are left out are counted, and the next line of the same About has their number.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "baton/os/lock.hpp"
#include "baton/os/printable.hpp"
#include "baton/transport/diagnostic.hpp"

namespace baton::link {

/// What a diagnostic is about.
enum class About : std::uint8_t {
  kLeader,          ///< the leader lock, and the state of the link's own parts
  kNetwork,         ///< the network, and its interfaces
  kSecurity,        ///< the link's own certificate and key
  kHosts,           ///< hosts that come and go
  kIdentities,      ///< two hosts with the same name, id or publisher
  kPeers,           ///< hosts that are called and not reached
  kStrangers,       ///< programs that are no link, or that this host refuses
  kVersions,        ///< links of another version or domain
  kViolations,      ///< hosts that break a rule of the protocol
  kLimits,          ///< what is left out because there is too much
  kAdvertisements,  ///< what a host advertises
  kMatches,         ///< endpoints that do not match
  kTypes,           ///< types that are not known
  kPublishers,      ///< publishers and receivers for other hosts' publishers
  kSubscriptions,   ///< the link's subscriptions
  kArrivals,        ///< messages of other hosts that are lost
  kDomain,          ///< diagnostics of the domain
};
inline constexpr std::size_t kAbouts = static_cast<std::size_t>(About::kDomain) + 1;

class LinkLog {
 public:
  using Level = transport::Diagnostic::Level;
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kBurst = 40;
  static constexpr std::size_t kBurstOfAll = 200;
  static constexpr std::chrono::seconds kPause{5};
  static constexpr std::chrono::seconds kPauseOfAll{1};

  explicit LinkLog(std::function<void(const transport::Diagnostic&)> call,
                   std::function<Clock::time_point()> now = Clock::now)
      : call_(std::move(call)), now_(std::move(now)), all_(kBurstOfAll) {
    for (Subject& each : subjects_) each.rate = LineAllowance(kBurst);
  }
  /// The same text about the same subject is written once in kPause.
  void write(About about, Level level, Errc code, std::string text) {
    if (!call_) return;
    text = os::without_controls(std::move(text));
    {
      const os::Lock lock(mutex_);
      Subject& subject = subjects_[static_cast<std::size_t>(about)];
      const Clock::time_point now = now_();
      const bool again = text == subject.last && now - subject.said < kPause;
      if (again || !subject.rate.has(kBurst, kPause, now) || !all_.has(kBurstOfAll, kPauseOfAll, now)) {
        ++subject.left_out;
        return;
      }
      subject.rate.take();
      all_.take();
      subject.last = text;
      subject.said = now;
      if (const std::uint64_t left_out = std::exchange(subject.left_out, 0); left_out != 0)
        text += " (and " + std::to_string(left_out) + " more like it before)";
    }
    call_({level, code, std::move(text)});
  }

 private:
  /// Lines that may be written now: one more each pause, up to the burst.
  class LineAllowance {
   public:
    explicit LineAllowance(std::size_t burst = 0) : left_(burst) {}
    bool has(std::size_t burst, std::chrono::seconds pause, Clock::time_point now) {
      if (left_ == burst) since_ = now;
      const auto more = (now - since_) / pause;
      since_ += pause * more;
      left_ = std::min(burst, left_ + static_cast<std::size_t>(more));
      return left_ > 0;
    }
    void take() { --left_; }

   private:
    std::size_t left_;
    Clock::time_point since_{};
  };
  struct Subject {
    LineAllowance rate;
    std::string last;
    Clock::time_point said{};
    std::uint64_t left_out = 0;
  };
  const std::function<void(const transport::Diagnostic&)> call_;
  const std::function<Clock::time_point()> now_;
  os::Mutex mutex_;
  LineAllowance all_ BATON_GUARDED_BY(mutex_);
  std::array<Subject, kAbouts> subjects_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link
