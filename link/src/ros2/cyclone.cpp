// SPDX-License-Identifier: Apache-2.0
// DDS by Cyclone DDS 0.10, over UDP with ROS 2's ports. The only file of this folder that knows Cyclone, and its internal headers:
// they changed their names after 0.10. Types are names without any description, as those of ROS 2 are, and data is serialized: no
// byte of a message is looked at here.
#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/q_misc.h>
#include <dds/ddsi/q_protocol.h>
#include <dds/ddsi/q_radmin.h>
#include <dds/version.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

#include "ros2/cyclone_log.hpp"
#include "ros2/dds.hpp"

#if DDS_VERSION_MAJOR != 0 || DDS_VERSION_MINOR != 10
#error \
    "baton_link --ros2 needs Cyclone DDS 0.10 (Debian 12: cyclonedds-dev). Its internal headers differ in other versions."
#endif

namespace baton::link::ros2 {
namespace {

using Level = transport::Diagnostic::Level;

constexpr dds_duration_t kMaxBlocking = DDS_MSECS(10);
constexpr std::size_t kEncodingBytes = 4;

struct Data {
  ddsi_serdata base;
  CdrMessage* serialized;
  std::uint64_t sequence;  ///< of one that arrived
};
const Data* of(const ddsi_serdata* data) { return reinterpret_cast<const Data*>(data); }

Data* make_data(const ddsi_sertype* type, CdrMessage serialized) {
  auto* data = new (std::nothrow) Data{};
  if (data == nullptr) return nullptr;
  ddsi_serdata_init(&data->base, type, SDK_DATA);
  data->base.hash = type->serdata_basehash;
  data->serialized = new (std::nothrow) CdrMessage(std::move(serialized));
  if (data->serialized != nullptr) return data;
  delete data;
  return nullptr;
}

// --- operations of data; called by Cyclone, on its threads or in a write ---

bool eqkey(const ddsi_serdata*, const ddsi_serdata*) { return true; }
std::uint32_t get_size(const ddsi_serdata* data) {
  return of(data)->serialized == nullptr ? static_cast<std::uint32_t>(kEncodingBytes)
                                         : static_cast<std::uint32_t>(of(data)->serialized->size_bytes);
}

/// The number that the writer gave, from the submessage in front of the payload, which Cyclone has checked and brought into this
/// machine's byte order.
std::uint64_t sequence_of(const nn_rdata* fragment) {
  const auto* message = reinterpret_cast<const Data_DataFrag_common_t*>(
      NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_SUBMSG_OFF(fragment)));
  return static_cast<std::uint64_t>(fromSN(message->writerSN));
}

/// Fragments may overlap.
ddsi_serdata* from_ser(const ddsi_sertype* type, ddsi_serdata_kind kind, const nn_rdata* chain, std::size_t size) {
  try {
    if (kind != SDK_DATA || size < kEncodingBytes || chain == nullptr) return nullptr;
    CdrMessage serialized(size);
    const std::uint64_t sequence = sequence_of(chain);
    std::size_t offset = 0;
    for (; chain != nullptr && offset < size; chain = chain->nextfrag) {
      if (chain->min > offset || chain->maxp1 <= chain->min) return nullptr;
      if (chain->maxp1 <= offset) continue;
      const std::size_t end = std::min<std::size_t>(chain->maxp1, size);
      const auto* payload = NN_RMSG_PAYLOADOFF(chain->rmsg, NN_RDATA_PAYLOAD_OFF(chain));
      std::memcpy(serialized.bytes.get() + offset, payload + (offset - chain->min), end - offset);
      offset = end;
    }
    if (offset != size) return nullptr;
    Data* data = make_data(type, std::move(serialized));
    if (data == nullptr) return nullptr;
    data->sequence = sequence;
    return &data->base;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// What comes from this process: never, the endpoints of one participant are not matched.
ddsi_serdata* from_ser_iov(const ddsi_sertype*, ddsi_serdata_kind, ddsrt_msg_iovlen_t, const ddsrt_iovec_t*,
                           std::size_t) {
  return nullptr;
}
ddsi_serdata* from_keyhash(const ddsi_sertype*, const ddsi_keyhash*) { return nullptr; }
ddsi_serdata* from_sample(const ddsi_sertype*, ddsi_serdata_kind, const void*) { return nullptr; }

void to_ser(const ddsi_serdata* data, std::size_t offset, std::size_t size, void* buffer) {
  if (of(data)->serialized == nullptr) {
    std::memset(buffer, 0, size);
  } else {
    std::memcpy(buffer, of(data)->serialized->bytes.get() + offset, size);
  }
}

/// May ask up to 3 bytes past the end: CdrMessage::kMore.
ddsi_serdata* to_ser_ref(const ddsi_serdata* data, std::size_t offset, std::size_t size, ddsrt_iovec_t* ref) {
  static std::byte none[8] = {};
  ref->iov_base = of(data)->serialized == nullptr ? none : of(data)->serialized->bytes.get() + offset;
  ref->iov_len = static_cast<ddsrt_iov_len_t>(size);
  return ddsi_serdata_ref(data);
}
void to_ser_unref(ddsi_serdata* data, const ddsrt_iovec_t*) { ddsi_serdata_unref(data); }

bool to_sample(const ddsi_serdata*, void*, void**, void*) { return false; }
ddsi_serdata* to_untyped(const ddsi_serdata* data) {
  auto* untyped = new (std::nothrow) Data{};
  if (untyped == nullptr) return nullptr;
  ddsi_serdata_init(&untyped->base, data->type, SDK_KEY);
  untyped->base.hash = data->hash;
  untyped->base.type = nullptr;
  return &untyped->base;
}
bool untyped_to_sample(const ddsi_sertype*, const ddsi_serdata*, void*, void**, void*) { return false; }
void free_data(ddsi_serdata* base) {
  auto* data = reinterpret_cast<Data*>(base);
  delete data->serialized;
  delete data;
}
std::size_t print(const ddsi_sertype*, const ddsi_serdata* data, char* buffer, std::size_t size) {
  return static_cast<std::size_t>(std::snprintf(buffer, size, "%u bytes", get_size(data)));
}
void get_keyhash(const ddsi_serdata*, ddsi_keyhash* out, bool) { std::memset(out->value, 0, sizeof out->value); }

const ddsi_serdata_ops& data_ops() {
  static const ddsi_serdata_ops ops = [] {
    ddsi_serdata_ops made{};
    made.eqkey = eqkey;
    made.get_size = get_size;
    made.from_ser = from_ser;
    made.from_ser_iov = from_ser_iov;
    made.from_keyhash = from_keyhash;
    made.from_sample = from_sample;
    made.to_ser = to_ser;
    made.to_ser_ref = to_ser_ref;
    made.to_ser_unref = to_ser_unref;
    made.to_sample = to_sample;
    made.to_untyped = to_untyped;
    made.untyped_to_sample = untyped_to_sample;
    made.free = free_data;
    made.print = print;
    made.get_keyhash = get_keyhash;
    return made;
  }();
  return ops;
}

// --- operations of types ---

void free_type(ddsi_sertype* type) {
  ddsi_sertype_fini(type);
  delete type;
}
void zero_samples(const ddsi_sertype*, void*, std::size_t) {}
void realloc_samples(void**, const ddsi_sertype*, void*, std::size_t, std::size_t) {}
void free_samples(const ddsi_sertype*, void**, std::size_t, dds_free_op_t) {}
bool equal_types(const ddsi_sertype*, const ddsi_sertype*) { return true; }  // of one name: the caller compares names
std::uint32_t hash_type(const ddsi_sertype*) { return 0; }

const ddsi_sertype_ops& type_ops() {
  static const ddsi_sertype_ops ops = [] {
    ddsi_sertype_ops made{};
    made.version = ddsi_sertype_v0;
    made.free = free_type;
    made.zero_samples = zero_samples;
    made.realloc_samples = realloc_samples;
    made.free_samples = free_samples;
    made.equal = equal_types;
    made.hash = hash_type;
    return made;
  }();
  return ops;
}

// --- log, errors, handles ---

/// The functions that get the lines of the log.
struct Log {
  std::function<void(Level, std::string)> say;
  std::function<void(RefusedState)> refused;
};

void on_log(void* to, const dds_log_data_t* data) {
  if ((data->priority & (DDS_LC_FATAL | DDS_LC_ERROR | DDS_LC_WARNING)) == 0) return;
  try {
    std::string text(data->message, data->size);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const bool bad = (data->priority & (DDS_LC_FATAL | DDS_LC_ERROR)) != 0;
    const Log& log = *static_cast<const Log*>(to);
    if (std::optional<RefusedState> refused = refused_participant(text, bad); refused && log.refused)
      log.refused(std::move(*refused));
    if (log.say) log.say(bad ? Level::kError : Level::kWarning, "Cyclone DDS: " + text);
  } catch (const std::bad_alloc&) {
    // There is no memory to report the line.
  }
}

Error failed(const std::string& what, dds_return_t code) {
  return {code == DDS_RETCODE_OUT_OF_RESOURCES ? Errc::out_of_memory : Errc::system,
          what + ": Cyclone DDS: " + dds_strretcode(code) +
              (code == DDS_RETCODE_NOT_ALLOWED_BY_SECURITY
                   ? "; the enclave's permissions.p7s and governance.p7s say what is (ros2 security create_permission)"
                   : "")};
}

class Entity {
 public:
  Entity() = default;
  explicit Entity(dds_entity_t handle) : handle_(handle) {}
  Entity(Entity&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Entity& operator=(Entity&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Entity() { reset(); }
  void reset() {
    if (handle_ > 0) dds_delete(handle_);
    handle_ = 0;
  }
  dds_entity_t get() const noexcept { return handle_; }

 private:
  dds_entity_t handle_ = 0;
};

struct QosHandle {
  QosHandle() : qos(dds_create_qos()) {}
  ~QosHandle() { dds_delete_qos(qos); }
  QosHandle(const QosHandle&) = delete;
  QosHandle& operator=(const QosHandle&) = delete;
  dds_qos_t* const qos;
};

Gid gid_of(const dds_guid_t& guid) {
  Gid gid;
  std::memcpy(gid.data(), guid.v, gid.size());
  return gid;
}
Gid gid_of(dds_entity_t entity) {
  dds_guid_t guid{};
  return dds_get_guid(entity, &guid) == DDS_RETCODE_OK ? gid_of(guid) : Gid{};
}

// --- quality of service ---

dds_duration_t duration(std::chrono::nanoseconds value) { return value == kInfinite ? DDS_INFINITY : value.count(); }
std::chrono::nanoseconds duration(dds_duration_t value) {
  return value == DDS_INFINITY ? kInfinite : std::chrono::nanoseconds(value);
}

void fill(dds_qos_t* out, const DdsEndpoint& end) {
  const QoS& qos = end.qos;
  dds_qset_reliability(
      out, qos.reliability == Reliability::kReliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
      kMaxBlocking);
  const bool kept = qos.durability == Durability::kTransientLocal;
  dds_qset_durability(out, kept ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  const auto depth = static_cast<std::int32_t>(std::min<std::uint32_t>(std::max(qos.depth, 1U), 65536U));
  // A KEEP_LAST writer may withdraw messages of which parts have arrived. Readers of Fast DDS 3.2 then take an incomplete message
  // again and again, for ever. So a written message stays until it is acknowledged, up to WhcHigh bytes of a writer.
  const bool all = qos.history == History::kKeepAll || (end.is_writer && qos.reliability == Reliability::kReliable);
  dds_qset_history(out, all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, all ? 0 : depth);
  dds_qset_deadline(out, duration(qos.deadline));
  dds_qset_liveliness(
      out, qos.liveliness == Liveliness::kManualByTopic ? DDS_LIVELINESS_MANUAL_BY_TOPIC : DDS_LIVELINESS_AUTOMATIC,
      duration(qos.lease));
  if (end.is_writer) {
    dds_qset_lifespan(out, duration(qos.lifespan));
    dds_qset_writer_data_lifecycle(out, false);
    if (kept) {
      dds_qset_durability_service(out, 0, DDS_HISTORY_KEEP_LAST, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                                  DDS_LENGTH_UNLIMITED);
    }
  }
  dds_qset_userdata(out, end.user_data.data(), end.user_data.size());
  dds_qset_ignorelocal(out, DDS_IGNORELOCAL_PARTICIPANT);
}

std::string user_data_of(const dds_qos_t* qos) {
  void* data = nullptr;
  std::size_t size = 0;
  if (!dds_qget_userdata(qos, &data, &size) || data == nullptr) return {};
  std::string text(static_cast<const char*>(data), size);
  dds_free(data);
  return text;
}

QoS qos_of(const dds_qos_t* qos) {
  QoS out;
  dds_reliability_kind_t reliability{};
  dds_duration_t time = 0;
  if (dds_qget_reliability(qos, &reliability, &time) && reliability == DDS_RELIABILITY_BEST_EFFORT) out.best_effort();
  dds_durability_kind_t durability{};
  if (dds_qget_durability(qos, &durability) && durability != DDS_DURABILITY_VOLATILE) out.transient_local();
  dds_history_kind_t history{};
  std::int32_t depth = 0;
  // Not every DDS sends its history setting: then the history is that of durability, or 1.
  if (dds_qget_history(qos, &history, &depth) && depth > 0) out.depth = static_cast<std::uint32_t>(depth);
  dds_duration_t cleanup = 0;
  std::int32_t samples = 0, instances = 0, each = 0;
  if (out.durability == Durability::kTransientLocal &&
      dds_qget_durability_service(qos, &cleanup, &history, &depth, &samples, &instances, &each) && depth > 0) {
    out.depth = std::max(out.depth, static_cast<std::uint32_t>(depth));
  }
  if (dds_qget_deadline(qos, &time)) out.deadline = duration(time);
  if (dds_qget_lifespan(qos, &time)) out.lifespan = duration(time);
  dds_liveliness_kind_t liveliness{};
  if (dds_qget_liveliness(qos, &liveliness, &time)) {
    if (liveliness == DDS_LIVELINESS_MANUAL_BY_TOPIC) out.liveliness = Liveliness::kManualByTopic;
    out.lease = duration(time);
  }
  return out;
}

const char* policy_name(std::uint32_t id) {
  switch (id) {
    case DDS_DURABILITY_QOS_POLICY_ID:
      return "durability";
    case DDS_DEADLINE_QOS_POLICY_ID:
      return "deadline";
    case DDS_LIVELINESS_QOS_POLICY_ID:
      return "liveliness";
    case DDS_RELIABILITY_QOS_POLICY_ID:
      return "reliability";
    default:
      return "quality of service";
  }
}

// --- endpoints ---

class CycloneWriter final : public DdsWriter {
 public:
  CycloneWriter(Entity topic, Entity writer, const ddsi_sertype* type)
      : topic_(std::move(topic)), writer_(std::move(writer)), type_(type), gid_(gid_of(writer_.get())) {}
  const Gid& gid() const override { return gid_; }

  Result<void> write(CdrMessage message, std::int64_t source_time_ns) override {
    Data* data = make_data(type_, std::move(message));
    if (data == nullptr) return Error{Errc::out_of_memory, "there is no memory to send it"};
    data->base.timestamp.v = source_time_ns;
    data->base.statusinfo = 0;
    const dds_return_t written = dds_forwardcdr(writer_.get(), &data->base);
    if (written == DDS_RETCODE_TIMEOUT) return Error{Errc::timed_out, "a reader is too slow"};
    if (written != DDS_RETCODE_OK) return failed("cannot send", written);
    return {};
  }

  std::vector<Gid> matched() const override {
    std::vector<dds_instance_handle_t> handles(64);
    dds_return_t count = 0;
    for (;;) {
      count = dds_get_matched_subscriptions(writer_.get(), handles.data(), handles.size());
      if (count <= 0) return {};
      if (static_cast<std::size_t>(count) <= handles.size()) break;
      handles.resize(static_cast<std::size_t>(count));
    }
    std::vector<Gid> out;
    for (dds_return_t i = 0; i < count; ++i) {
      dds_builtintopic_endpoint_t* found =
          dds_get_matched_subscription_data(writer_.get(), handles[static_cast<std::size_t>(i)]);
      if (found == nullptr) continue;
      out.push_back(gid_of(found->key));
      dds_builtintopic_free_endpoint(found);
    }
    return out;
  }

  std::string refused() override {
    dds_offered_incompatible_qos_status_t status{};
    if (dds_get_offered_incompatible_qos_status(writer_.get(), &status) != DDS_RETCODE_OK ||
        status.total_count_change == 0) {
      return {};
    }
    return policy_name(status.last_policy_id);
  }

 private:
  Entity topic_, writer_;  // the writer ends first
  const ddsi_sertype* const type_;
  const Gid gid_;
};

class CycloneReader final : public DdsReader {
 public:
  explicit CycloneReader(std::function<void(DdsMessage)> arrived) : arrived_(std::move(arrived)) {}
  /// Waits for a call that is under way.
  ~CycloneReader() override { reader_.reset(); }
  const Gid& gid() const override { return gid_; }

  Result<void> open(dds_entity_t participant, Entity topic, const dds_qos_t* qos) {
    topic_ = std::move(topic);
    dds_listener_t* listener = dds_create_listener(this);
    dds_lset_data_available(
        listener, [](dds_entity_t reader, void* self) { static_cast<CycloneReader*>(self)->take_all(reader); });
    reader_ = Entity(dds_create_reader(participant, topic_.get(), qos, listener));
    dds_delete_listener(listener);
    if (reader_.get() < 0) return failed("cannot subscribe", reader_.get());
    gid_ = gid_of(reader_.get());
    return {};
  }

 private:
  /// On a thread of Cyclone's.
  void take_all(dds_entity_t reader) {
    constexpr std::uint32_t kAtOnce = 16;
    for (;;) {
      ddsi_serdata* data[kAtOnce] = {};
      dds_sample_info_t info[kAtOnce];
      const dds_return_t count = dds_takecdr(reader, data, kAtOnce, info, DDS_ANY_STATE);
      if (count <= 0) return;
      for (dds_return_t i = 0; i < count; ++i) {
        try {
          auto* each = reinterpret_cast<Data*>(data[i]);
          if (info[i].valid_data && each->serialized != nullptr) {
            DdsMessage message;
            message.publisher = publisher(reader, info[i].publication_handle);
            message.sequence = each->sequence;
            message.source_time_ns = info[i].source_timestamp;
            message.serialized = std::move(*each->serialized);
            arrived_(std::move(message));
          }
        } catch (const std::bad_alloc&) {
          // The message is lost; its number is missing at the subscriptions, which count it.
        }
        ddsi_serdata_unref(data[i]);
      }
    }
  }

  Gid publisher(dds_entity_t reader, dds_instance_handle_t handle) {
    const auto known = publishers_.find(handle);
    if (known != publishers_.end()) return known->second;
    dds_builtintopic_endpoint_t* found = dds_get_matched_publication_data(reader, handle);
    if (found == nullptr) return {};
    if (publishers_.size() >= kMostPublishers) publishers_.clear();
    const Gid gid = publishers_[handle] = gid_of(found->key);
    dds_builtintopic_free_endpoint(found);
    return gid;
  }

  static constexpr std::size_t kMostPublishers = 10000;
  const std::function<void(DdsMessage)> arrived_;
  std::map<dds_instance_handle_t, Gid> publishers_;
  Entity topic_, reader_;
  Gid gid_{};
};

// --- security ---

/// A file of an enclave, and the property of the participant that names it (DDS Security 1.1, sections 8.3 to 8.5).
struct SecurityFile {
  const char *name, *property;
};
constexpr SecurityFile kSecurityFiles[] = {{"identity_ca.cert.pem", "dds.sec.auth.identity_ca"},
                                           {"cert.pem", "dds.sec.auth.identity_certificate"},
                                           {"key.pem", "dds.sec.auth.private_key"},
                                           {"permissions_ca.cert.pem", "dds.sec.access.permissions_ca"},
                                           {"governance.p7s", "dds.sec.access.governance"},
                                           {"permissions.p7s", "dds.sec.access.permissions"}};

/// Cyclone's plug-ins: their name in properties, their library, and the end of the names of its functions.
struct SecurityPlugin {
  const char *property, *library, *functions;
};
constexpr SecurityPlugin kSecurityPlugins[] = {{"dds.sec.auth", "libdds_security_auth.so", "authentication"},
                                               {"dds.sec.access", "libdds_security_ac.so", "access_control"},
                                               {"dds.sec.crypto", "libdds_security_crypto.so", "crypto"}};

std::filesystem::path plugin_file(const SecurityPlugin& plugin) {
  return std::filesystem::path(BATON_DDS_PLUGINS) / plugin.library;
}

void secure(dds_qos_t* qos, const std::string& directory) {
  for (const SecurityFile& file : kSecurityFiles)
    dds_qset_prop(qos, file.property, ("file:" + std::string(std::filesystem::path(directory) / file.name)).c_str());
  for (const SecurityPlugin& plugin : kSecurityPlugins) {
    const std::string library = std::string(plugin.property) + ".library";
    dds_qset_prop(qos, (library + ".path").c_str(), plugin_file(plugin).c_str());
    dds_qset_prop(qos, (library + ".init").c_str(), ("init_" + std::string(plugin.functions)).c_str());
    dds_qset_prop(qos, (library + ".finalize").c_str(), ("finalize_" + std::string(plugin.functions)).c_str());
  }
}

// --- the participant ---

class CycloneDds final : public Dds {
 public:
  explicit CycloneDds(const DdsOptions& options) : changed_(options.changed), log_{options.say, options.refused} {}
  ~CycloneDds() override {
    for (Entity* each : {&writers_, &readers_, &participants_, &participant_, &domain_}) each->reset();
    dds_set_log_sink(nullptr, nullptr);
    dds_set_trace_sink(nullptr, nullptr);
  }

  Result<void> start(const DdsOptions& options, const std::string& configuration) {
    dds_set_log_sink(on_log, &log_);
    dds_set_trace_sink(on_log, &log_);
    // The permissions of an enclave are for domains by this number.
    const auto domain = static_cast<dds_domainid_t>(options.domain);
    domain_ = Entity(dds_create_domain(domain, configuration.c_str()));
    if (domain_.get() < 0) return failed("cannot start DDS for ROS 2 (peers, interface)", domain_.get());
    const QosHandle handle;
    dds_qset_userdata(handle.qos, options.user_data.data(), options.user_data.size());
    if (!options.security.empty()) secure(handle.qos, options.security);
    participant_ = Entity(dds_create_participant(domain, handle.qos, nullptr));
    if (participant_.get() < 0) {
      return failed("cannot join the domain " + std::to_string(options.domain) + " of ROS 2" +
                        (options.security.empty() ? "" : " with the files of '" + options.security + "'"),
                    participant_.get());
    }
    gid_ = gid_of(participant_.get());
    for (const auto& [entity, topic] : {std::pair(&writers_, DDS_BUILTIN_TOPIC_DCPSPUBLICATION),
                                        std::pair(&readers_, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION),
                                        std::pair(&participants_, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT)}) {
      dds_listener_t* listener = dds_create_listener(this);
      dds_lset_data_available(listener, [](dds_entity_t, void* self) { static_cast<CycloneDds*>(self)->change(); });
      *entity = Entity(dds_create_reader(participant_.get(), topic, nullptr, listener));
      dds_delete_listener(listener);
      if (entity->get() < 0) return failed("cannot read the list of endpoints", entity->get());
    }
    return {};
  }

  const Gid& participant() const override { return gid_; }

  std::vector<DdsEndpoint> endpoints() override {
    for (const Entity* from : {&writers_, &readers_}) {
      take_all(from->get(), [&](const void* sample, dds_instance_handle_t instance) {
        const auto* found = static_cast<const dds_builtintopic_endpoint_t*>(sample);
        if (found == nullptr) {
          ends_.erase(instance);
          return;
        }
        DdsEndpoint end;
        end.gid = gid_of(found->key);
        end.participant = gid_of(found->participant_key);
        if (end.participant == gid_ || found->topic_name == nullptr || found->type_name == nullptr) return;
        end.is_writer = from == &writers_;
        end.topic = found->topic_name;
        end.type = found->type_name;
        end.user_data = user_data_of(found->qos);
        end.qos = qos_of(found->qos);
        ends_[instance] = std::move(end);
      });
    }
    std::vector<DdsEndpoint> out;
    for (const auto& [instance, end] : ends_) out.push_back(end);
    return out;
  }

  std::map<Gid, std::string> participants() override {
    take_all(participants_.get(), [&](const void* sample, dds_instance_handle_t instance) {
      const auto* found = static_cast<const dds_builtintopic_participant_t*>(sample);
      if (found == nullptr) {
        others_.erase(instance);
      } else if (gid_of(found->key) != gid_) {
        others_[instance] = {gid_of(found->key), user_data_of(found->qos)};
      }
    });
    std::map<Gid, std::string> out;
    for (const auto& [instance, other] : others_) out.insert(other);
    return out;
  }

  Result<std::unique_ptr<DdsWriter>> open_writer(const DdsEndpoint& end) override {
    const ddsi_sertype* type = nullptr;
    Result<Entity> topic = make_topic(end, &type);
    if (!topic) return topic.error();
    const QosHandle handle;
    fill(handle.qos, end);
    dds_listener_t* listener = dds_create_listener(this);
    dds_lset_publication_matched(listener, [](dds_entity_t, dds_publication_matched_status_t, void* self) {
      static_cast<CycloneDds*>(self)->change();
    });
    Entity writer(dds_create_writer(participant_.get(), topic->get(), handle.qos, listener));
    dds_delete_listener(listener);
    if (writer.get() < 0) return failed("cannot open '" + end.topic + "' for ROS 2", writer.get());
    return std::unique_ptr<DdsWriter>(std::make_unique<CycloneWriter>(std::move(*topic), std::move(writer), type));
  }

  Result<std::unique_ptr<DdsReader>> open_reader(const DdsEndpoint& end,
                                                 std::function<void(DdsMessage)> arrived) override {
    const ddsi_sertype* type = nullptr;
    Result<Entity> topic = make_topic(end, &type);
    if (!topic) return topic.error();
    const QosHandle handle;
    fill(handle.qos, end);
    auto reader = std::make_unique<CycloneReader>(std::move(arrived));
    if (Result<void> opened = reader->open(participant_.get(), std::move(*topic), handle.qos); !opened)
      return opened.error();
    return std::unique_ptr<DdsReader>(std::move(reader));
  }

 private:
  void change() {
    if (changed_) changed_();
  }

  /// Calls each(sample, instance) for what is new; the sample is null where an instance has ended.
  template <class Each>
  static void take_all(dds_entity_t reader, Each&& each) {
    constexpr std::size_t kAtOnce = 256;
    for (;;) {
      void* samples[kAtOnce] = {};
      dds_sample_info_t info[kAtOnce];
      const dds_return_t count = dds_take(reader, samples, info, kAtOnce, kAtOnce);
      if (count <= 0) return;
      for (dds_return_t i = 0; i < count; ++i) {
        const bool alive = info[i].instance_state == DDS_ALIVE_INSTANCE_STATE;
        if (!alive || info[i].valid_data) each(alive ? samples[i] : nullptr, info[i].instance_handle);
      }
      dds_return_loan(reader, samples, count);
    }
  }

  Result<Entity> make_topic(const DdsEndpoint& end, const ddsi_sertype** type) {
    auto* base = new ddsi_sertype{};
    ddsi_sertype_init(base, end.type.c_str(), &type_ops(), &data_ops(), true);
    Entity topic(dds_create_topic_sertype(participant_.get(), end.topic.c_str(), &base, nullptr, nullptr, nullptr));
    if (topic.get() < 0) {
      ddsi_sertype_unref(base);
      return failed("cannot make the topic '" + end.topic + "'", topic.get());
    }
    *type = base;
    return topic;
  }

  const std::function<void()> changed_;
  Log log_;
  Entity domain_, participant_, writers_, readers_, participants_;
  Gid gid_{};
  std::map<dds_instance_handle_t, DdsEndpoint> ends_;
  std::map<dds_instance_handle_t, std::pair<Gid, std::string>> others_;
};

bool plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == ':' ||
           c == '-' || c == '_' || c == '[' || c == ']' || c == '@' || c == '%';
  });
}

/// "10.0.0.1:22700" -> "10.0.0.1": the port is the link's.
std::string without_port(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string::npos) return peer;
  const bool is_ipv6 = peer.find(':') != colon && peer.back() != ']' && peer.find(']') == std::string::npos;
  return is_ipv6 || peer.back() == ']' ? peer : peer.substr(0, colon);
}

Result<std::string> configuration_of(const DdsOptions& options) {
  std::string peers;
  for (const std::string& peer : options.peers) {
    if (!plain(peer)) return Error{Errc::invalid_argument, "peer '" + peer + "' is no HOST or HOST:PORT"};
    peers += "<Peer address=\"" + without_port(peer) + "\"/>";
  }
  if (!peers.empty()) peers = "<Peers>" + peers + "</Peers>";
  std::string interfaces;
  if (!options.interface.empty()) {
    if (!plain(options.interface))
      return Error{Errc::invalid_argument, "interface '" + options.interface + "' is no name and no address"};
    const bool address = options.interface.find_first_not_of("0123456789.") == std::string::npos;
    interfaces = std::string("<Interfaces><NetworkInterface ") + (address ? "address" : "name") + "=\"" +
                 options.interface + "\"/></Interfaces>";
  }
  return "<CycloneDDS><Domain id=\"any\"><General>" + interfaces + "</General><Discovery><ExternalDomainId>" +
         std::to_string(options.domain) +
         "</ExternalDomainId><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32"
         "</MaxAutoParticipantIndex><SPDPInterval>2s</SPDPInterval>" +
         peers +
         "</Discovery><Internal><Watermarks><WhcHigh>32MB</WhcHigh><WhcHighInit>32MB</WhcHighInit><WhcLow>4MB</WhcLow>"
         "</Watermarks><HeartbeatInterval min=\"5ms\" minsched=\"10ms\" max=\"2s\">20ms</HeartbeatInterval>"
         "<WriterLingerDuration>5s</WriterLingerDuration><SocketReceiveBufferSize "
         "max=\"32MB\"/></Internal></Domain></CycloneDDS>";
}

}  // namespace

Result<void> check_security(const std::string& directory) {
  std::error_code ignored;
  for (const SecurityFile& file : kSecurityFiles) {
    const std::filesystem::path path = std::filesystem::path(directory) / file.name;
    if (std::filesystem::is_regular_file(path, ignored)) continue;
    return Error{Errc::invalid_argument, "--security with --ros2: there is no file '" + path.string() +
                                             "'; `ros2 security create_enclave` makes it"};
  }
  for (const SecurityPlugin& plugin : kSecurityPlugins) {
    if (std::filesystem::is_regular_file(plugin_file(plugin), ignored)) continue;
    return Error{Errc::unsupported, "--security with --ros2: Cyclone DDS has no plug-in '" +
                                        plugin_file(plugin).string() + "'; start the link without --ros2"};
  }
  return {};
}

Result<std::unique_ptr<Dds>> make_dds(const DdsOptions& options) {
  const Result<std::string> configuration = configuration_of(options);
  if (!configuration) return configuration.error();
  auto dds = std::make_unique<CycloneDds>(options);
  if (Result<void> started = dds->start(options, *configuration); !started) return started.error();
  return std::unique_ptr<Dds>(std::move(dds));
}

}  // namespace baton::link::ros2
