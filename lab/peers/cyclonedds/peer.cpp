// SPDX-License-Identifier: Apache-2.0
// Cyclone DDS through its C API: a sequence of octets over UDP or TCP, or an array of octets with loans over iceoryx.
#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/features.h>

#include <mutex>
#include <stdexcept>

#include "arrivals.hpp"
#include "keeper.hpp"
#include "peer.hpp"

#if defined(DDS_HAS_SHM) && defined(BATON_CYCLONEDDS_ROUDI)
#define BATON_CYCLONEDDS_SHM 1
#include <dds/ddsc/dds_loan_api.h>
#include <dds/ddsi/ddsi_shm_transport.h>

#include "roudi.hpp"
#else
#define BATON_CYCLONEDDS_SHM 0
#endif

namespace baton::perf {
namespace {

/// The struct that idlc generates for `sequence<octet> payload`.
struct Sequence {
  std::uint32_t maximum, length;
  std::uint8_t* buffer;
  bool release;
};

dds_entity_t checked(dds_entity_t entity, const char* what) {
  if (entity < 0) throw std::runtime_error(std::string(what) + ": " + dds_strretcode(-entity));
  return entity;
}

bool shared(const RunPlan& plan) { return plan.variant == "iceoryx"; }

/// The port of the process with that number, in a run over TCP: below the range of outgoing connections.
std::string port_of(const RunPlan& plan, unsigned process) {
  return std::to_string(14000 + run_number(plan, 250) * 64 + process % 64);
}

/// Cyclone's TCP has no multicast: each process is told of all others.
std::string other_processes(const RunPlan& plan) {
  std::string peers;
  for (unsigned process = 0; process < plan.publishers + plan.subscribers; ++process)
    if (process != plan.process)
      peers += "<Peer address='" + plan.process_address(process) + ":" + port_of(plan, process) + "'/>";
  return peers;
}

std::string configuration(const RunPlan& plan) {
  const bool tcp = plan.variant == "tcp";
  std::string xml = "<General><Interfaces><NetworkInterface address='" + plan.address() +
                    "' multicast='true'/></Interfaces><AllowMulticast>" + (tcp ? "false" : "true") +
                    "</AllowMulticast>";
  if (tcp) xml += "<Transport>tcp</Transport>";
  if (plan.variant != "default") xml += "<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize>";
  xml +=
      "</General><Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>120</"
      "MaxAutoParticipantIndex>";
  if (tcp) xml += "<Peers>" + other_processes(plan) + "</Peers>";
  xml += "</Discovery>";
  if (tcp) xml += "<TCP><Port>" + port_of(plan, plan.process) + "</Port><NoDelay>true</NoDelay></TCP>";
  if (plan.variant != "default")
    xml +=
        "<Internal><SocketReceiveBufferSize min='default' max='64MB'/><SocketSendBufferSize min='default' "
        "max='64MB'/><Watermarks><WhcHigh>256MB</WhcHigh></Watermarks></Internal>";
  xml += "<Tracing><Verbosity>severe</Verbosity><OutputFile>stderr</OutputFile></Tracing>";
  if (shared(plan)) xml += "<SharedMemory><Enable>true</Enable><LogLevel>fatal</LogLevel></SharedMemory>";
  return xml;
}

/// The process's participant: made once, ended with the process's last end.
class Participant {
 public:
  static std::shared_ptr<Participant> of(const RunPlan& plan) {
    static std::mutex mutex;
    static std::weak_ptr<Participant> current;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Participant> participant = current.lock();
    if (!participant) current = participant = std::make_shared<Participant>(plan);
    return participant;
  }

  explicit Participant(const RunPlan& plan) {
    if (shared(plan)) {
#if BATON_CYCLONEDDS_SHM
      join_roudi(plan);
#else
      throw std::runtime_error("this Cyclone DDS has no shared memory, or there is no RouDi");
#endif
    }
    const std::uint32_t id = 1 + run_number(plan, 99);  // higher domains use ports of outgoing connections
    domain_ = checked(dds_create_domain(id, configuration(plan).c_str()), "dds_create_domain");
    entity_ = checked(dds_create_participant(id, nullptr, nullptr), "dds_create_participant");
  }
  ~Participant() { dds_delete(domain_); }
  Participant(const Participant&) = delete;

  /// The type is built at run time because the array's length is not known earlier; its members are as idlc makes them.
  dds_entity_t topic(const RunPlan& plan) const {
    const std::uint32_t array[] = {DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_1BY, 0,
                                   static_cast<std::uint32_t>(plan.bytes), DDS_OP_RTS};
    const std::uint32_t sequence[] = {DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY, 0, DDS_OP_RTS};
    const bool fixed = shared(plan);
    const dds_topic_descriptor_t type = {
        fixed ? static_cast<std::uint32_t>(plan.bytes) : static_cast<std::uint32_t>(sizeof(Sequence)),
        fixed ? 1U : static_cast<std::uint32_t>(alignof(Sequence)),
        fixed ? DDS_TOPIC_FIXED_SIZE : 0,
        0,
        fixed ? "baton_perf::Array" : "baton_perf::Bytes",
        nullptr,
        2,
        fixed ? array : sequence,
        "",
        {nullptr, 0},
        {nullptr, 0},
        0};
    return checked(dds_create_topic(entity_, &type, (run_id(plan) + "_" + plan.topic).c_str(), nullptr, nullptr),
                   "dds_create_topic");
  }
  dds_entity_t entity() const { return entity_; }

 private:
  dds_entity_t domain_ = 0, entity_ = 0;
};

dds_qos_t* qos_of(const RunPlan& plan) {
  dds_qos_t* qos = dds_create_qos();
  dds_qset_reliability(qos, plan.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(10));
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, static_cast<std::int32_t>(plan.depth));
  return qos;
}

class CyclonePublisher : public PublisherEnd {
 public:
  explicit CyclonePublisher(const RunPlan& plan)
      : participant_(Participant::of(plan)), loans_(shared(plan)), buffer_(loans_ ? 0 : plan.bytes) {
    dds_qos_t* qos = qos_of(plan);
    writer_ = checked(dds_create_writer(participant_->entity(), participant_->topic(plan), qos, nullptr),
                      "dds_create_writer");
    dds_delete_qos(qos);
#if BATON_CYCLONEDDS_SHM
    if (loans_ && !dds_is_loan_available(writer_)) throw std::runtime_error("Cyclone DDS gives no loans");
#endif
  }
  ~CyclonePublisher() override { dds_delete(writer_); }

  std::byte* begin(std::size_t bytes) override {
    if (!loans_) {
      buffer_.resize(bytes);
      return buffer_.data();
    }
#if BATON_CYCLONEDDS_SHM
    checked(dds_loan_sample(writer_, &loan_), "dds_loan_sample");
#endif
    return static_cast<std::byte*>(loan_);
  }
  void publish(std::size_t bytes) override {
    const auto size = static_cast<std::uint32_t>(bytes);
    const Sequence sequence{size, size, reinterpret_cast<std::uint8_t*>(buffer_.data()), false};
    checked(dds_write(writer_, loans_ ? loan_ : &sequence), "dds_write");
  }

 private:
  std::shared_ptr<Participant> participant_;
  const bool loans_;
  dds_entity_t writer_ = 0;
  void* loan_ = nullptr;
  std::vector<std::byte> buffer_;
};

/// Sleeping: the listener delivers messages on Cyclone's receiving thread, which avoids a wake-up. Spinning: by take().
class CycloneSubscriber : public SubscriberEnd {
 public:
  CycloneSubscriber(const RunPlan& plan, Receiver& receiver)
      : participant_(Participant::of(plan)), plan_(plan), receiver_(receiver), arrivals_(plan) {
    dds_listener_t* listener = nullptr;
    if (!plan.spin) {
      listener = dds_create_listener(this);
      dds_lset_data_available(
          listener, [](dds_entity_t reader, void* self) { static_cast<CycloneSubscriber*>(self)->take_all(reader); });
    }
    dds_qos_t* qos = qos_of(plan);
    reader_ = checked(dds_create_reader(participant_->entity(), participant_->topic(plan), qos, listener),
                      "dds_create_reader");
    dds_delete_qos(qos);
    dds_delete_listener(listener);
  }
  ~CycloneSubscriber() override { dds_delete(reader_); }

  void receive(std::chrono::nanoseconds timeout) override {
    if (plan_.spin) return take_all(reader_);
    arrivals_.wait(timeout);
  }

 private:
  void take_all(dds_entity_t reader) {
    {
      const std::lock_guard<std::mutex> one_at_a_time(taking_);
      if (shared(plan_)) {
#if BATON_CYCLONEDDS_SHM
        take_chunks(reader);
#endif
      } else {
        take_sequences(reader);
      }
    }
    arrivals_.notify();
  }
  void take_sequences(dds_entity_t reader) {
    void* sample = nullptr;
    dds_sample_info_t info;
    while (dds_take(reader, &sample, &info, 1, 1) == 1) {
      const auto* sequence = static_cast<const Sequence*>(sample);
      if (info.valid_data) receiver_.message(reinterpret_cast<const std::byte*>(sequence->buffer), sequence->length);
      dds_return_loan(reader, &sample, 1);
      sample = nullptr;
    }
  }
#if BATON_CYCLONEDDS_SHM
  /// dds_take() copies out of the chunk even into a loan; this function does not.
  void take_chunks(dds_entity_t reader) {
    ddsi_serdata* data = nullptr;
    dds_sample_info_t info;
    while (dds_takecdr(reader, &data, 1, &info, DDS_ANY_STATE) == 1) {
      if (info.valid_data && data->iox_chunk != nullptr)
        receiver_.message(static_cast<const std::byte*>(data->iox_chunk),
                          iceoryx_header_from_chunk(data->iox_chunk)->data_size);
      ddsi_serdata_unref(data);
    }
  }
#endif

  std::shared_ptr<Participant> participant_;
  const RunPlan plan_;
  Receiver& receiver_;
  Arrivals arrivals_;
  std::mutex taking_;
  dds_entity_t reader_ = 0;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"Cyclone DDS",
                BATON_CYCLONEDDS_VERSION,
                "udp: datagrams and fragments of 64 KB, large socket buffers, high watermark raised, taken with reader "
                "loans; default: UDP as installed; tcp: as udp, over Cyclone's TCP; "
                "iceoryx: loans of a "
                "fixed-size type, taken without a copy (dds_takecdr); listener on the receiving thread, or polling",
                {"udp", "default", "tcp"}};
  info.network_variants = {"udp", "default", "tcp"};
  if (BATON_CYCLONEDDS_SHM) info.variants.emplace_back("iceoryx");
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<CyclonePublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<CycloneSubscriber>(plan, receiver);
}

}  // namespace baton::perf
