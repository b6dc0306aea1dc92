// SPDX-License-Identifier: Apache-2.0
// The engine on Cyclone DDS: a domain over TCP with peers that are named, and a type of data that is a chunk. This is the only
// file that knows Cyclone, and its internal headers: they changed their names after 0.10.
// - On the way out the serialized form is the chunk itself: to_ser_ref() points into it, so no byte is copied in this process. The
//   first four bytes, the chunk's magic, stand where DDS has its encoding header, which only the two ends read.
// - On the way in from_ser() gets the fragments of the whole chunk and writes them to where the receiver says: one copy.
// - A publisher is an instance: depth and history are kept for each.
#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/q_radmin.h>
#include <dds/version.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "engine.hpp"

#if DDS_VERSION_MAJOR != 0 || DDS_VERSION_MINOR != 10
#error \
    "link/ needs Cyclone DDS 0.10 (Debian 12: cyclonedds-dev). Its internal headers have other names in other versions."
#endif

namespace baton::link {
namespace {

using memory::ChunkHeader;

constexpr std::size_t kHeaderBytes = sizeof(ChunkHeader);
constexpr std::size_t kMostBytes = kHeaderBytes + memory::kMaxMessageBytes;

/// One end of a channel: its type, whose data is found by it.
struct ChunkType {
  ddsi_sertype base;
  std::shared_ptr<Receiver>* receiver;  ///< null: an outlet's
};

struct ChunkData {
  ddsi_serdata base;
  Gid key;
  std::shared_ptr<const Outgoing>* outgoing;  ///< or
  std::unique_ptr<Arriving>* arriving;        ///< or neither: only the key
  std::size_t size_bytes;                     ///< of the serialized form
};

const ChunkData* of(const ddsi_serdata* data) { return reinterpret_cast<const ChunkData*>(data); }

std::uint32_t hash_of(const Gid& key) {
  std::uint32_t hash = 2166136261U;
  for (const std::uint8_t byte : key) hash = (hash ^ byte) * 16777619U;
  return hash;
}

ChunkData* make_data(const ddsi_sertype* type, ddsi_serdata_kind kind, const Gid& key) {
  auto* data = new (std::nothrow) ChunkData{};
  if (data == nullptr) return nullptr;
  ddsi_serdata_init(&data->base, type, kind);
  data->base.hash = hash_of(key) ^ type->serdata_basehash;
  data->key = key;
  data->size_bytes = kind == SDK_DATA ? kHeaderBytes : sizeof(Gid);
  return data;
}

// --- operations of data; called by Cyclone, on its threads or in a write ---

bool eqkey(const ddsi_serdata* a, const ddsi_serdata* b) { return of(a)->key == of(b)->key; }
std::uint32_t get_size(const ddsi_serdata* data) { return static_cast<std::uint32_t>(of(data)->size_bytes); }

/// Calls piece(offset, bytes, size) for the parts of the whole form in order. False if a byte is missing: fragments may overlap.
template <class Piece>
bool for_each_piece(const nn_rdata* chain, std::size_t size, Piece&& piece) {
  std::size_t offset = 0;
  for (; chain != nullptr && offset < size; chain = chain->nextfrag) {
    if (chain->min > offset || chain->maxp1 <= chain->min) return false;
    if (chain->maxp1 <= offset) continue;
    const std::size_t end = std::min<std::size_t>(chain->maxp1, size);
    const auto* payload =
        reinterpret_cast<const std::byte*>(NN_RMSG_PAYLOADOFF(chain->rmsg, NN_RDATA_PAYLOAD_OFF(chain)));
    piece(offset, payload + (offset - chain->min), end - offset);
    offset = end;
  }
  return offset == size;
}

void copy_part(std::byte* to, std::size_t begin, std::size_t end, std::size_t offset, const std::byte* bytes,
               std::size_t size) {
  const std::size_t first = std::max(begin, offset), last = std::min(end, offset + size);
  if (first < last) std::memcpy(to + (first - begin), bytes + (first - offset), last - first);
}

/// `pieces(piece)` calls piece() as for_each_piece() does.
template <class Pieces>
ddsi_serdata* receive(const ddsi_sertype* type, ddsi_serdata_kind kind, std::size_t size, Pieces&& pieces) noexcept {
  try {
    const auto* const chunk_type = reinterpret_cast<const ChunkType*>(type);
    if (kind != SDK_DATA || chunk_type->receiver == nullptr || size < kHeaderBytes || size > kMostBytes) return nullptr;
    ChunkHeader header;
    const auto read_header = [&](std::size_t offset, const std::byte* bytes, std::size_t count) {
      copy_part(reinterpret_cast<std::byte*>(&header), 0, kHeaderBytes, offset, bytes, count);
    };
    if (!pieces(read_header)) return nullptr;
    const std::size_t message_bytes = size - kHeaderBytes;
    std::unique_ptr<Arriving> arriving = (*chunk_type->receiver)->begin(header, message_bytes);
    if (!arriving || arriving->size_bytes > message_bytes) return nullptr;
    const std::size_t end = kHeaderBytes + arriving->size_bytes;
    arriving->header = header;
    const auto read_message = [&](std::size_t offset, const std::byte* bytes, std::size_t count) {
      copy_part(arriving->message, kHeaderBytes, end, offset, bytes, count);
    };
    if (!pieces(read_message)) return nullptr;
    Gid key;
    std::memcpy(key.data(), header.publisher_id, key.size());
    ChunkData* data = make_data(type, SDK_DATA, key);
    if (data == nullptr) return nullptr;
    data->size_bytes = size;
    data->arriving = new (std::nothrow) std::unique_ptr<Arriving>(std::move(arriving));
    if (data->arriving == nullptr) {
      ddsi_serdata_unref(&data->base);
      return nullptr;
    }
    return &data->base;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

ddsi_serdata* from_ser(const ddsi_sertype* type, ddsi_serdata_kind kind, const nn_rdata* chain, std::size_t size) {
  return receive(type, kind, size, [&](auto&& piece) { return for_each_piece(chain, size, piece); });
}

ddsi_serdata* from_ser_iov(const ddsi_sertype* type, ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count,
                           const ddsrt_iovec_t* parts, std::size_t size) {
  return receive(type, kind, size, [&](auto&& piece) {
    std::size_t offset = 0;
    for (ddsrt_msg_iovlen_t i = 0; i < count && offset < size; ++i) {
      const std::size_t bytes = std::min<std::size_t>(parts[i].iov_len, size - offset);
      piece(offset, static_cast<const std::byte*>(parts[i].iov_base), bytes);
      offset += bytes;
    }
    return offset == size;
  });
}

ddsi_serdata* from_keyhash(const ddsi_sertype* type, const ddsi_keyhash* hash) {
  Gid key;
  std::memcpy(key.data(), hash->value, key.size());
  ChunkData* data = make_data(type, SDK_KEY, key);
  return data == nullptr ? nullptr : &data->base;
}

ddsi_serdata* from_sample(const ddsi_sertype*, ddsi_serdata_kind, const void*) {
  return nullptr;
}  // only chunks are written

const std::byte* serialized(const ChunkData* data) {
  if (data->outgoing != nullptr) return (*data->outgoing)->bytes;
  return reinterpret_cast<const std::byte*>(data->key.data());
}

void to_ser(const ddsi_serdata* data, std::size_t offset, std::size_t size, void* buffer) {
  std::memcpy(buffer, serialized(of(data)) + offset, size);
}

/// May ask up to 3 bytes past the end; a chunk's memory is a multiple of 64, and so is a key's.
ddsi_serdata* to_ser_ref(const ddsi_serdata* data, std::size_t offset, std::size_t size, ddsrt_iovec_t* ref) {
  ref->iov_base = const_cast<std::byte*>(serialized(of(data)) + offset);
  ref->iov_len = static_cast<ddsrt_iov_len_t>(size);
  return ddsi_serdata_ref(data);
}
void to_ser_unref(ddsi_serdata* data, const ddsrt_iovec_t*) { ddsi_serdata_unref(data); }

bool to_sample(const ddsi_serdata*, void*, void**, void*) { return false; }  // chunks are taken as they are
ddsi_serdata* to_untyped(const ddsi_serdata* data) {
  ChunkData* key = make_data(data->type, SDK_KEY, of(data)->key);
  if (key == nullptr) return nullptr;
  key->base.type = nullptr;
  return &key->base;
}
bool untyped_to_sample(const ddsi_sertype*, const ddsi_serdata*, void*, void**, void*) { return false; }

void free_data(ddsi_serdata* base) {
  auto* data = reinterpret_cast<ChunkData*>(base);
  delete data->outgoing;
  delete data->arriving;
  delete data;
}

std::size_t print(const ddsi_sertype*, const ddsi_serdata* data, char* buffer, std::size_t size) {
  return static_cast<std::size_t>(std::snprintf(buffer, size, "chunk of %zu bytes", of(data)->size_bytes));
}
void get_keyhash(const ddsi_serdata* data, ddsi_keyhash* out, bool) {
  std::memcpy(out->value, of(data)->key.data(), sizeof out->value);
}

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

void free_type(ddsi_sertype* base) {
  auto* type = reinterpret_cast<ChunkType*>(base);
  ddsi_sertype_fini(base);
  delete type->receiver;
  delete type;
}
void zero_samples(const ddsi_sertype*, void*, std::size_t) {}
void realloc_samples(void**, const ddsi_sertype*, void*, std::size_t, std::size_t) {}
void free_samples(const ddsi_sertype*, void**, std::size_t, dds_free_op_t) {}
bool equal_types(const ddsi_sertype* a, const ddsi_sertype* b) { return a == b; }  // each end has its own receiver
std::uint32_t hash_type(const ddsi_sertype* type) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(type) >> 4);
}

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

// --- Cyclone's log ---

using Say = std::function<void(transport::Diagnostic::Level, std::string)>;

void on_log(void* say, const dds_log_data_t* data) {
  if ((data->priority & (DDS_LC_FATAL | DDS_LC_ERROR | DDS_LC_WARNING)) == 0) return;
  try {
    std::string text(data->message, data->size);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const bool bad = (data->priority & (DDS_LC_FATAL | DDS_LC_ERROR)) != 0;
    const auto& call = *static_cast<const Say*>(say);
    if (call)
      call(bad ? transport::Diagnostic::Level::kError : transport::Diagnostic::Level::kWarning, "Cyclone DDS: " + text);
  } catch (const std::bad_alloc&) {
    // There is no memory to say it.
  }
}

Error failed(const std::string& what, dds_return_t code) {
  return {code == DDS_RETCODE_OUT_OF_RESOURCES ? Errc::out_of_memory : Errc::system,
          what + ": Cyclone DDS: " + dds_strretcode(code)};
}

// --- entities ---

class Entity {
 public:
  Entity() = default;
  explicit Entity(dds_entity_t handle) : handle_(handle) {}
  Entity(Entity&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Entity& operator=(Entity&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Entity() {
    if (handle_ > 0) dds_delete(handle_);
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

/// How long a write may wait for room; the network itself may block it longer (WriteTimeout).
constexpr dds_duration_t kMaxBlocking = DDS_MSECS(500);

void fill(dds_qos_t* out, const ChannelQos& qos, bool writer) {
  dds_qset_reliability(out, qos.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, kMaxBlocking);
  dds_qset_durability(out, qos.transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  const auto depth = static_cast<std::int32_t>(std::min<std::uint32_t>(std::max(qos.depth, 1U), 65536U));
  // A reader keeps everything: what it has got is taken at once.
  const bool all = qos.keep_all || !writer;
  dds_qset_history(out, all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, all ? 0 : depth);
  if (writer && qos.transient_local) {
    dds_qset_durability_service(out, 0, DDS_HISTORY_KEEP_LAST, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                                DDS_LENGTH_UNLIMITED);
  }
  if (writer) dds_qset_writer_data_lifecycle(out, false);
  dds_qset_ignorelocal(out, DDS_IGNORELOCAL_PARTICIPANT);
}

class CycloneOutlet final : public Outlet {
 public:
  CycloneOutlet(Entity topic, Entity writer, const ddsi_sertype* type)
      : topic_(std::move(topic)), writer_(std::move(writer)), type_(type) {}

  Result<void> write(std::shared_ptr<const Outgoing> chunk) override {
    ChunkData* data = make_data(type_, SDK_DATA, chunk->publisher);
    if (data == nullptr) return no_memory();
    data->size_bytes = chunk->size_bytes;
    data->outgoing = new (std::nothrow) std::shared_ptr<const Outgoing>(std::move(chunk));
    if (data->outgoing == nullptr) {
      free_data(&data->base);
      return no_memory();
    }
    const dds_return_t written = dds_writecdr(writer_.get(), &data->base);
    if (written == DDS_RETCODE_TIMEOUT) return Error{Errc::timed_out, "the line does not take it"};
    if (written != DDS_RETCODE_OK) return failed("cannot send", written);
    return {};
  }

  std::size_t matched() const override {
    dds_publication_matched_status_t status{};
    if (dds_get_publication_matched_status(writer_.get(), &status) != DDS_RETCODE_OK) return 0;
    return status.current_count;
  }

 private:
  Entity topic_, writer_;  // the writer ends first
  const ddsi_sertype* const type_;
};

/// Takes everything that has come. On a thread of Cyclone's.
void on_data(dds_entity_t reader, void* context) {
  Receiver& receiver = *static_cast<Receiver*>(context);
  constexpr std::uint32_t kAtOnce = 16;
  for (;;) {
    ddsi_serdata* data[kAtOnce] = {};
    dds_sample_info_t info[kAtOnce];
    const dds_return_t count = dds_takecdr(reader, data, kAtOnce, info, DDS_ANY_STATE);
    if (count <= 0) return;
    for (dds_return_t i = 0; i < count; ++i) {
      auto* chunk = reinterpret_cast<ChunkData*>(data[i]);
      try {
        if (info[i].valid_data && chunk->arriving != nullptr) receiver.deliver(std::move(*chunk->arriving));
        if (info[i].instance_state != DDS_ALIVE_INSTANCE_STATE) receiver.gone(chunk->key);
      } catch (const std::bad_alloc&) {
        // The chunk is lost; its number is missing at the subscriptions, which count it.
      }
      ddsi_serdata_unref(data[i]);
    }
  }
}

struct CycloneReceiver {
  std::shared_ptr<Receiver> receiver;  // ends last
  Entity topic, reader;
};

class CycloneEngine final : public Engine {
 public:
  explicit CycloneEngine(const EngineOptions& options) : say_(options.say) {}
  ~CycloneEngine() override {
    participant_ = Entity();
    domain_ = Entity();
    dds_set_log_sink(nullptr, nullptr);
    dds_set_trace_sink(nullptr, nullptr);
  }

  Result<void> start(const EngineOptions& options, const std::string& configuration) {
    dds_set_log_sink(on_log, &say_);
    dds_set_trace_sink(on_log, &say_);
    // A number of DDS's own: it is not on the wire's ports, which are given.
    const auto number = static_cast<dds_domainid_t>(options.domain % 230);
    domain_ = Entity(dds_create_domain(number, configuration.c_str()));
    if (domain_.get() < 0) return failed("cannot start the network (peers, interface, port)", domain_.get());
    participant_ = Entity(dds_create_participant(number, nullptr, nullptr));
    if (participant_.get() < 0) return failed("cannot join the network", participant_.get());
    return {};
  }

  void on_change(std::function<void()> callback) override { changed_ = std::move(callback); }

  Result<std::unique_ptr<Outlet>> open_outlet(const std::string& channel, const ChannelQos& qos) override {
    const ddsi_sertype* type = nullptr;
    Result<Entity> topic = make_topic(channel, nullptr, &type);
    if (!topic) return topic.error();
    const QosHandle handle;
    fill(handle.qos, qos, true);
    dds_listener_t* listener = dds_create_listener(this);
    dds_lset_publication_matched(listener, [](dds_entity_t, dds_publication_matched_status_t, void* context) {
      const auto& changed = static_cast<CycloneEngine*>(context)->changed_;
      if (changed) changed();
    });
    Entity writer(dds_create_writer(participant_.get(), topic->get(), handle.qos, listener));
    dds_delete_listener(listener);
    if (writer.get() < 0) return failed("cannot open the channel '" + channel + "' for sending", writer.get());
    return std::unique_ptr<Outlet>(std::make_unique<CycloneOutlet>(std::move(*topic), std::move(writer), type));
  }

  Result<std::shared_ptr<void>> open_receiver(const std::string& channel, const ChannelQos& qos,
                                              std::shared_ptr<Receiver> receiver) override {
    const ddsi_sertype* type = nullptr;
    Result<Entity> topic = make_topic(channel, receiver, &type);
    if (!topic) return topic.error();
    auto made = std::make_shared<CycloneReceiver>();
    const QosHandle handle;
    fill(handle.qos, qos, false);
    dds_listener_t* listener = dds_create_listener(receiver.get());
    dds_lset_data_available(listener, on_data);
    made->receiver = std::move(receiver);
    made->topic = std::move(*topic);
    made->reader = Entity(dds_create_reader(participant_.get(), made->topic.get(), handle.qos, listener));
    dds_delete_listener(listener);
    if (made->reader.get() < 0) return failed("cannot open the channel '" + channel + "'", made->reader.get());
    return std::shared_ptr<void>(std::move(made));
  }

 private:
  Result<Entity> make_topic(const std::string& channel, std::shared_ptr<Receiver> receiver, const ddsi_sertype** type) {
    auto* made = new ChunkType{};
    ddsi_sertype_init(&made->base, "baton::Chunk1", &type_ops(), &data_ops(), false);
    if (receiver) made->receiver = new std::shared_ptr<Receiver>(std::move(receiver));
    ddsi_sertype* base = &made->base;
    Entity topic(dds_create_topic_sertype(participant_.get(), channel.c_str(), &base, nullptr, nullptr, nullptr));
    if (topic.get() < 0) {
      ddsi_sertype_unref(base);
      return failed("cannot make the channel '" + channel + "'", topic.get());
    }
    *type = base;
    return topic;
  }

  Say say_;
  Entity domain_, participant_;
  std::function<void()> changed_;
};

bool plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == ':' ||
           c == '-' || c == '_' || c == '[' || c == ']' || c == '@' || c == '%';
  });
}

Result<std::string> configuration_of(const EngineOptions& options) {
  const std::string port = std::to_string(options.port != 0 ? options.port : default_port(options.domain));
  std::string peers;
  for (const std::string& peer : options.peers) {
    if (!plain(peer)) return Error{Errc::invalid_argument, "peer '" + peer + "' is no HOST or HOST:PORT"};
    const bool has_port = peer.find(':') != std::string::npos;
    peers += "<Peer address=\"" + peer + (has_port ? "" : ":" + std::to_string(default_port(options.domain))) + "\"/>";
  }
  std::string interfaces;
  if (!options.interface.empty()) {
    if (!plain(options.interface))
      return Error{Errc::invalid_argument, "interface '" + options.interface + "' is no name and no address"};
    const bool address = options.interface.find_first_not_of("0123456789.") == std::string::npos;
    interfaces = std::string("<Interfaces><NetworkInterface ") + (address ? "address" : "name") + "=\"" +
                 options.interface + "\"/></Interfaces>";
  }
  return "<CycloneDDS><Domain id=\"any\"><General><Transport>tcp</Transport>" + interfaces +
         "<AllowMulticast>false</AllowMulticast><MaxMessageSize>65500B</MaxMessageSize>"
         "<FragmentSize>65000B</FragmentSize></General>"
         "<TCP><Port>" +
         port +
         "</Port><NoDelay>true</NoDelay></TCP>"
         "<Discovery><SPDPInterval>1s</SPDPInterval><ParticipantIndex>none</ParticipantIndex>"
         "<Peers>" +
         peers +
         "</Peers></Discovery>"
         "<Internal><Watermarks><WhcHigh>256MB</WhcHigh><WhcHighInit>256MB</WhcHighInit><WhcLow>16MB</WhcLow>"
         "</Watermarks><HeartbeatInterval min=\"2ms\" minsched=\"2ms\" "
         "max=\"1s\">5ms</HeartbeatInterval><AckDelay>0s</AckDelay>"
         "</Internal></Domain></CycloneDDS>";
}

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  const Result<std::string> configuration = configuration_of(options);
  if (!configuration) return configuration.error();
  auto engine = std::make_unique<CycloneEngine>(options);
  if (Result<void> started = engine->start(options, *configuration); !started) return started.error();
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace baton::link
