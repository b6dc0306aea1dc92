// SPDX-License-Identifier: Apache-2.0
// Fast DDS: a sequence of octets over its default transports or over a large shared-memory segment; or an array of
// octets, a plain type, through data-sharing with loans at both ends.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fastdds/config.hpp>
#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.hpp>
#include <mutex>
#include <stdexcept>

#include "arrivals.hpp"
#include "keeper.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastdds::rtps;

constexpr std::uint32_t kHeader = rtps::SerializedPayload_t::representation_header_size;

bool loans(const RunPlan& plan) { return plan.variant == "data_sharing"; }

void write_header(rtps::SerializedPayload_t& payload) {
  static constexpr std::uint8_t kLittleEndian[kHeader] = {0, 1, 0, 0};
  payload.encapsulation = CDR_LE;
  std::memcpy(payload.data, kLittleEndian, kHeader);
}

/// The common part of both types: no key.
class KeylessType : public dds::TopicDataType {
 public:
  bool compute_key(rtps::SerializedPayload_t&, rtps::InstanceHandle_t&, bool) override { return false; }
  bool compute_key(const void* const, rtps::InstanceHandle_t&, bool) override { return false; }
};

/// struct { sequence<octet> payload; }
struct Sequence {
  std::vector<std::byte> payload;
};

class SequenceType : public KeylessType {
 public:
  explicit SequenceType(std::size_t bytes) {
    set_name("baton_perf::Bytes");
    max_serialized_type_size = static_cast<std::uint32_t>(bytes + 2 * kHeader);
  }
  bool serialize(const void* const data, rtps::SerializedPayload_t& to, dds::DataRepresentationId_t) override {
    const auto& payload = static_cast<const Sequence*>(data)->payload;
    const auto size = static_cast<std::uint32_t>(payload.size());
    if (to.max_size < 2 * kHeader + size) return false;
    write_header(to);
    std::memcpy(to.data + kHeader, &size, sizeof size);
    std::memcpy(to.data + 2 * kHeader, payload.data(), size);
    to.length = 2 * kHeader + size;
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t& from, void* data) override {
    std::uint32_t size = 0;
    if (from.length < 2 * kHeader) return false;
    std::memcpy(&size, from.data + kHeader, sizeof size);
    if (from.length - 2 * kHeader < size) return false;
    const auto* begin = reinterpret_cast<const std::byte*>(from.data + 2 * kHeader);
    static_cast<Sequence*>(data)->payload.assign(begin, begin + size);
    return true;
  }
  std::uint32_t calculate_serialized_size(const void* const data, dds::DataRepresentationId_t) override {
    return static_cast<std::uint32_t>(static_cast<const Sequence*>(data)->payload.size() + 2 * kHeader);
  }
  void* create_data() override { return new Sequence; }
  void delete_data(void* data) override { delete static_cast<Sequence*>(data); }
};

/// struct { octet payload[bytes]; }: the same bytes in memory and on the wire.
struct Array {
  std::byte first;
};

class ArrayType : public KeylessType {
 public:
  explicit ArrayType(std::size_t bytes) : bytes_(static_cast<std::uint32_t>((bytes + 3) / 4 * 4)) {
    set_name("baton_perf::Array");
    max_serialized_type_size = bytes_ + kHeader;
  }
  bool serialize(const void* const data, rtps::SerializedPayload_t& to, dds::DataRepresentationId_t) override {
    if (to.max_size < max_serialized_type_size) return false;
    write_header(to);
    std::memcpy(to.data + kHeader, data, bytes_);
    to.length = max_serialized_type_size;
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t& from, void* data) override {
    if (from.length < max_serialized_type_size) return false;
    std::memcpy(data, from.data + kHeader, bytes_);
    return true;
  }
  std::uint32_t calculate_serialized_size(const void* const, dds::DataRepresentationId_t) override {
    return max_serialized_type_size;
  }
  void* create_data() override { return std::calloc(1, bytes_); }
  void delete_data(void* data) override { std::free(data); }
  bool is_bounded() const override { return true; }
  bool is_plain(dds::DataRepresentationId_t) const override { return true; }
  bool construct_sample(void*) const override { return true; }

 private:
  const std::uint32_t bytes_;
};

template <class T>
T* made(T* entity, const char* what) {
  if (entity == nullptr) throw std::runtime_error(std::string("Fast DDS does not create a ") + what);
  return entity;
}

/// An end's participant with its topic.
class Participant {
 public:
  explicit Participant(const RunPlan& plan) {
    KeeperTask task;
    task.leftovers = {"/dev/shm/fast*", "/dev/shm/sem.fast*"};
    join_keeper(plan, task);
    for (const char* name :
         {"FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_BUILTIN_TRANSPORTS"})
      ::unsetenv(name);
    dds::Log::SetVerbosity(dds::Log::Kind::Error);
    dds::DomainParticipantQos qos = dds::PARTICIPANT_QOS_DEFAULT;
    if (plan.variant == "shm_tuned") {
      // Room for all messages that may be unread, each in one piece.
      const std::size_t message = plan.bytes + 4096, room = std::max<std::size_t>(64 << 20, message * (plan.depth + 6));
      auto transport = std::make_shared<rtps::SharedMemTransportDescriptor>();
      transport->segment_size(static_cast<std::uint32_t>(std::min<std::size_t>(room, 3U << 30)));
      transport->max_message_size(transport->segment_size());
      qos.transport().use_builtin_transports = false;
      qos.transport().user_transports.push_back(transport);
    }
    const std::uint32_t domain = 1 + run_number(plan, 99);  // higher domains use ports of outgoing connections
    factory_ = dds::DomainParticipantFactory::get_shared_instance();
    participant_ = made(factory_->create_participant(domain, qos), "participant");
    dds::TypeSupport type(loans(plan) ? static_cast<dds::TopicDataType*>(new ArrayType(plan.bytes))
                                      : new SequenceType(plan.bytes));
    type.register_type(participant_);
    topic_ =
        made(participant_->create_topic(run_id(plan) + "_" + plan.topic, type.get_type_name(), dds::TOPIC_QOS_DEFAULT),
             "topic");
  }
  ~Participant() {
    participant_->delete_contained_entities();
    factory_->delete_participant(participant_);
  }
  Participant(const Participant&) = delete;
  dds::DomainParticipant* operator->() const { return participant_; }
  dds::Topic* topic() const { return topic_; }

 private:
  std::shared_ptr<dds::DomainParticipantFactory> factory_;
  dds::DomainParticipant* participant_ = nullptr;
  dds::Topic* topic_ = nullptr;
};

template <class Qos>
Qos with_plan(Qos qos, const RunPlan& plan) {
  qos.reliability().kind = plan.reliable ? dds::RELIABLE_RELIABILITY_QOS : dds::BEST_EFFORT_RELIABILITY_QOS;
  qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
  qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
  qos.history().depth = static_cast<std::int32_t>(plan.depth);
  if (loans(plan)) {
    qos.data_sharing().on("");
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_MEMORY_MODE;
  } else {
    qos.data_sharing().off();
  }
  if (plan.variant != "default") {
    // The pools hold the messages of the history and the loans.
    qos.resource_limits().max_samples = qos.resource_limits().max_samples_per_instance =
        static_cast<std::int32_t>(plan.depth);
    qos.resource_limits().max_instances = 1;
    qos.resource_limits().allocated_samples = static_cast<std::int32_t>(plan.depth);
    qos.resource_limits().extra_samples = 8;
  }
  return qos;
}

class FastPublisher : public PublisherEnd {
 public:
  explicit FastPublisher(const RunPlan& plan) : participant_(plan), loans_(loans(plan)) {
    dds::Publisher* publisher = made(participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "publisher");
    writer_ = made(publisher->create_datawriter(participant_.topic(), with_plan(dds::DATAWRITER_QOS_DEFAULT, plan)),
                   "writer");
    sample_.payload.resize(loans_ ? 0 : plan.bytes);
  }
  std::byte* begin(std::size_t bytes) override {
    if (!loans_) {
      sample_.payload.resize(bytes);
      return sample_.payload.data();
    }
    if (writer_->loan_sample(loan_) != dds::RETCODE_OK) throw std::runtime_error("Fast DDS has no sample to loan");
    return static_cast<std::byte*>(loan_);
  }
  void publish(std::size_t) override {
    if (writer_->write(loans_ ? loan_ : &sample_) != dds::RETCODE_OK)
      ++refused_;  // best effort under load; the message counts as lost
  }

 private:
  Participant participant_;
  const bool loans_;
  dds::DataWriter* writer_ = nullptr;
  Sequence sample_;
  void* loan_ = nullptr;
  std::uint64_t refused_ = 0;
};

/// Sleeping: the listener delivers messages on Fast DDS's receiving thread, which avoids a wake-up. Spinning: by
/// take().
class FastSubscriber : public SubscriberEnd, dds::DataReaderListener {
 public:
  FastSubscriber(const RunPlan& plan, Receiver& receiver)
      : plan_(plan), receiver_(receiver), arrivals_(plan), participant_(plan) {
    dds::Subscriber* subscriber = made(participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "subscriber");
    reader_ = made(subscriber->create_datareader(participant_.topic(), with_plan(dds::DATAREADER_QOS_DEFAULT, plan),
                                                 plan.spin ? nullptr : this, dds::StatusMask::data_available()),
                   "reader");
  }
  ~FastSubscriber() override { reader_->set_listener(nullptr); }
  void receive(std::chrono::nanoseconds timeout) override {
    if (plan_.spin) return take_all(reader_);
    arrivals_.wait(timeout);
  }

 private:
  void on_data_available(dds::DataReader* reader) override { take_all(reader); }
  void take_all(dds::DataReader* reader) {
    {
      const std::lock_guard<std::mutex> one_at_a_time(taking_);
      if (loans(plan_)) {
        take<Array>(reader, [&](const Array& array) { receiver_.message(&array.first, plan_.bytes); });
      } else {
        take<Sequence>(reader, [&](const Sequence& it) { receiver_.message(it.payload.data(), it.payload.size()); });
      }
    }
    arrivals_.notify();
  }
  template <class Sample, class Deliver>
  static void take(dds::DataReader* reader, Deliver&& deliver) {
    dds::LoanableSequence<Sample, std::false_type> samples;
    dds::SampleInfoSeq infos;
    while (reader->take(samples, infos) == dds::RETCODE_OK) {
      for (dds::LoanableCollection::size_type i = 0; i < infos.length(); ++i)
        if (infos[i].valid_data) deliver(samples[i]);
      reader->return_loan(samples, infos);
    }
  }

  const RunPlan plan_;
  Receiver& receiver_;
  Arrivals arrivals_;
  std::mutex taking_;
  Participant participant_;
  dds::DataReader* reader_ = nullptr;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"Fast DDS",
                FASTDDS_VERSION_STR,
                "listener on the receiving thread, or polling take(); default: a sequence over what it uses out of the "
                "box; shm_tuned: "
                "shared memory only, segment for all unread messages, not fragmented; data_sharing: plain type, loans "
                "at both ends",
                {"default", "shm_tuned", "data_sharing"}};
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<FastPublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<FastSubscriber>(plan, receiver);
}

}  // namespace baton::perf
