// SPDX-License-Identifier: Apache-2.0
#include "rosout.hpp"

#include <atomic>
#include <baton/msg/rcl_interfaces/log.hpp>
#include <utility>

#include "baton/node/publisher.hpp"
#include "baton/node/time.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"
#include "node_core.hpp"

namespace baton::detail {
namespace {

using Log = msg::rcl_interfaces::Log;

/// For a thousand lines of ordinary length many times over; with longer ones, the oldest are given up earlier.
constexpr std::size_t kMemoryLimit = std::size_t{16} << 20;

QoS rosout_qos() {
  QoS qos = QoS(1000).reliable().transient_local();
  qos.lifespan = std::chrono::seconds(10);
  return qos;
}

class Rosout final : public LogSink {
 public:
  Rosout(std::shared_ptr<transport::Participant> participant, std::string topic, std::string node)
      : participant_(std::move(participant)), topic_(std::move(topic)), node_(std::move(node)) {}

  void publish(const LogLine& line) noexcept override {
    if (generation_ != os::fork_generation()) return;  // the parent's node, whose mutex may be locked for ever
    try {
      const Result<void> published = try_publish(line);
      if (!published.ok()) say(published.error());
    } catch (const Exception& error) {
      say({error.code(), error.what()});
    } catch (...) {
      say(no_memory());
    }
  }

 private:
  Result<void> try_publish(const LogLine& line) {
    Log message;
    message.stamp = Time(line.time);
    message.level = static_cast<std::uint8_t>(line.level);
    message.name = line.name;
    message.msg = line.text;
    message.file = line.site.file;
    message.function = line.site.function;
    message.line = line.site.line;
    Result<Publisher<Log>> publisher = this->publisher();
    if (!publisher.ok()) return publisher.error();
    const Result<std::uint64_t> sequence = publisher->try_publish_copy(message);
    if (!sequence.ok()) return sequence.error();
    return {};
  }

  Result<Publisher<Log>> publisher() {
    const os::Lock lock(mutex_);
    if (!publisher_) {
      memory::PoolOptions options;
      options.memory_limit_bytes = kMemoryLimit;
      auto writer =
          participant_->create_writer({topic_, node_, type_info(message::type_of<Log>()), rosout_qos(), options});
      if (!writer.ok()) return writer.error();
      publisher_ = Publisher<Log>(std::make_shared<PublisherCore>(std::move(*writer), topic_));
    }
    return publisher_;
  }

  /// Once in a node's life: the line itself is on stderr.
  void say(const Error& error) noexcept {
    if (said_.exchange(true, std::memory_order_relaxed)) return;  // orders nothing
    try {
      log_of_baton(Logger::Level::kWarn, "lines of node '" + node_ + "' do not reach '" + topic_ +
                                             "' now: " + errc_name(error.code) + ": " + error.message);
    } catch (...) {
      // There is no memory to say it.
    }
  }

  const std::shared_ptr<transport::Participant> participant_;
  const std::string topic_, node_;
  const std::uint32_t generation_ = os::fork_generation();
  os::Mutex mutex_;
  Publisher<Log> publisher_ BATON_GUARDED_BY(mutex_);  // empty before the first line
  std::atomic<bool> said_{false};
};

}  // namespace

std::shared_ptr<LogSink> make_rosout(std::shared_ptr<transport::Participant> participant, std::string topic,
                                     std::string node) {
  return std::make_shared<Rosout>(std::move(participant), std::move(topic), std::move(node));
}

}  // namespace baton::detail
