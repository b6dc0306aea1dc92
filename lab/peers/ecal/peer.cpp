// SPDX-License-Identifier: Apache-2.0
// eCAL 6. zero_copy: a publisher writes into the memory file, and a subscriber reads in it, in a callback. tcp: eCAL's TCP
// layer alone.
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "arrivals.hpp"
#include "ecal.hpp"
#include "keeper.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

/// Publisher and subscriber, without monitoring and services.
constexpr unsigned kComponents = 0x1 | 0x2;
/// Memory files per publisher: one can be written while another is read.
constexpr unsigned kBuffers = 2;

bool over_tcp(const RunPlan& plan) { return plan.variant == "tcp"; }

/// Writes the part of eCAL's configuration that publishers' defaults do not contain, and has eCAL read it: the mode (it
/// leaves the host only in mode "network") and the layers of subscribers.
void write_configuration(const RunPlan& plan) {
  const std::string folder = plan.directory + "/ecal_" + std::to_string(plan.process);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/ecal.yaml") << "communication_mode: \"" << (plan.hosts.empty() ? "local" : "network")
                                       << "\"\nsubscriber:\n  layer:\n    shm:\n      enable: "
                                       << (over_tcp(plan) ? "false" : "true")
                                       << "\n    udp:\n      enable: false\n    tcp:\n      enable: "
                                       << (over_tcp(plan) ? "true" : "false") << "\n";
  ::setenv("ECAL_DATA", folder.c_str(), 1);
}

/// The process's eCAL session: begins with its first end, ends with its last.
class Session {
 public:
  static std::shared_ptr<Session> of(const RunPlan& plan) {
    static std::mutex mutex;
    static std::weak_ptr<Session> current;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Session> session = current.lock();
    if (!session) current = session = std::make_shared<Session>(plan);
    return session;
  }
  explicit Session(const RunPlan& plan) {
    KeeperTask task;
    task.leftovers = {"/dev/shm/ecal_*", "/dev/shm/sem.ecal_*"};
    task.own = {"/dev/shm/*" + run_id(plan) + "*"};
    join_keeper(plan, task);
    ::setenv("ECAL_LOG_DIR", plan.directory.c_str(), 1);
    write_configuration(plan);
    if (!eCAL::Initialize("baton_perf", kComponents)) throw std::runtime_error("eCAL does not start");
    // The initial configuration of all publishers of the process.
    auto& defaults = const_cast<eCAL::Publisher::Configuration&>(eCAL::GetPublisherConfiguration());
    if (!defaults.shm.enable || defaults.shm.memfile_buffer_count != 1 || defaults.shm.memfile_reserve_percent != 50)
      throw std::runtime_error("this eCAL is not laid out as ecal.hpp says, or a configuration of the user's applies");
    defaults.shm.enable = defaults.shm.zero_copy_mode = !over_tcp(plan);
    defaults.shm.memfile_buffer_count = kBuffers;
    defaults.shm.memfile_min_size_bytes = static_cast<unsigned>(plan.bytes + 4096);
    defaults.udp_enable = false;
    defaults.tcp_enable = over_tcp(plan);
  }
  ~Session() { eCAL::Finalize(); }
  Session(const Session&) = delete;
};

std::string topic_of(const RunPlan& plan) { return run_id(plan) + "_" + plan.topic; }
const eCAL::SDataTypeInformation kType{"bytes", "raw", ""};

/// eCAL requests the payload within Send(), but the runner writes it before publish(). So Send() runs on a stack of its
/// own: it is suspended when it hands out the buffer, and continues at publish(). Both run on the thread that calls
/// begin().
class EcalPublisher : public PublisherEnd, eCAL::CPayloadWriter {
 public:
  explicit EcalPublisher(const RunPlan& plan)
      : session_(Session::of(plan)),
        publisher_(topic_of(plan), kType, eCAL::GetPublisherConfiguration()),
        spare_(plan.bytes),
        stack_(kStackBytes) {}
  ~EcalPublisher() override {
    if (buffer_ != nullptr) go_on();
  }

  std::byte* begin(std::size_t bytes) override {
    if (buffer_ != nullptr) go_on();
    size_ = bytes;
    ::getcontext(&sending_);
    sending_.uc_stack.ss_sp = stack_.data();
    sending_.uc_stack.ss_size = stack_.size();
    sending_.uc_link = &caller_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&sending_, reinterpret_cast<void (*)()>(&EcalPublisher::send), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
    ::swapcontext(&caller_, &sending_);
    if (buffer_ != nullptr) return buffer_;
    spare_.resize(bytes);  // no subscriber exists yet
    return spare_.data();
  }
  void publish(std::size_t) override {
    if (buffer_ != nullptr) go_on();
  }

 private:
  static constexpr std::size_t kStackBytes = 1 << 20;

  static void send(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<EcalPublisher*>(static_cast<std::uintptr_t>(high) << 32 | low);
    try {
      self->publisher_.Send(*self, -1);  // now, by its own clock
    } catch (...) {
      // No exception may leave a stack; the message is lost, and counted as lost.
    }
  }
  void go_on() {
    buffer_ = nullptr;
    ::swapcontext(&caller_, &sending_);
  }
  bool WriteFull(void* buffer, std::size_t size) override {
    if (size < size_) return false;
    buffer_ = static_cast<std::byte*>(buffer);
    ::swapcontext(&sending_, &caller_);
    return true;
  }
  std::size_t GetSize() override { return size_; }

  std::shared_ptr<Session> session_;
  eCAL::CPublisher publisher_;
  std::vector<std::byte> spare_;
  std::vector<char> stack_;
  ucontext_t caller_{}, sending_{};
  std::byte* buffer_ = nullptr;
  std::size_t size_ = 0;
};

class EcalSubscriber : public SubscriberEnd {
 public:
  EcalSubscriber(const RunPlan& plan, Receiver& receiver)
      : session_(Session::of(plan)),
        arrivals_(plan),
        subscriber_(topic_of(plan), kType, eCAL::GetSubscriberConfiguration()) {
    subscriber_.SetReceiveCallback(
        [&](const eCAL::STopicId&, const eCAL::SDataTypeInformation&, const eCAL::SReceiveCallbackData& data) {
          {
            // Each publisher calls this on a thread of its own.
            const std::lock_guard<std::mutex> one_at_a_time(delivering_);
            receiver.message(static_cast<const std::byte*>(data.buffer), data.buffer_size);
          }
          arrivals_.notify();
        });
  }
  ~EcalSubscriber() override { subscriber_.RemoveReceiveCallback(); }
  void receive(std::chrono::nanoseconds timeout) override { arrivals_.wait(timeout); }

 private:
  std::shared_ptr<Session> session_;
  Arrivals arrivals_;
  std::mutex delivering_;
  eCAL::CSubscriber subscriber_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{
      "eCAL",
      "6.1.1",
      "zero_copy: over two memory files, written by a payload writer, read in the receive callback; no queue: "
      "a slow subscriber "
      "misses messages; tcp: the TCP layer alone",
      {"zero_copy", "tcp"}};
  info.network_variants = {"tcp"};
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<EcalPublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<EcalSubscriber>(plan, receiver);
}

}  // namespace baton::perf
