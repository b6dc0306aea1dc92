// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "baton/os/clock.hpp"
#include "baton/os/printable.hpp"
#include "ros2_schema.hpp"

namespace baton::record {
namespace {

using std::chrono::milliseconds;

/// The age at which a chunk is written.
constexpr std::int64_t kChunkNs = 250'000'000;
/// Shorter arrays are copied: so a chunk that ends because a subscription holds as many samples as it may (8) is not small.
constexpr std::size_t kLeastReferred = std::size_t{32} << 10;
/// Between two looks at the queues: who publishes often need not wake the recorder for each message.
constexpr milliseconds kNap{1};
constexpr milliseconds kLook{100};
/// How long stop() waits for publishers to which the recorder is being connected.
constexpr std::int64_t kLastNs = 2'000'000'000;
/// How long a process has to answer a question for the definition of a type, before it is asked again.
constexpr std::int64_t kLookAgainNs = 1'000'000'000;
/// How many messages of one topic are taken before the next topic has its turn.
constexpr int kMostTaken = 64;
/// Schemas and channels stand in the file again after so many times their bytes, or so many chunks.
constexpr std::uint64_t kLeastPerIntroducing = 32;
constexpr std::uint64_t kIntroducesEvery = 16;
constexpr std::size_t kMostTopics = 10'000;
constexpr std::size_t kMostNotes = 1000;
constexpr std::size_t kStackBytes = std::size_t{4} << 20;  // std::regex needs some for each character of a name
const std::string kWriter = "baton";

/// Where a topic has latched and ordinary publishers, the subscription for latched messages does not fit the ordinary ones: each of them is
/// reported. The topic's note says it once.
bool is_of_mixed_topic(const transport::Diagnostic& diagnostic) {
  QoS ordinary, latched;
  latched.transient_local();
  static const std::string why = incompatibility(ordinary, latched);
  const std::string& text = diagnostic.text;
  return diagnostic.code == Errc::incompatible_qos && text.size() >= why.size() &&
         text.compare(text.size() - why.size(), why.size(), why) == 0;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderOptions& options) {
  Result<Selection> selection = Selection::make(options.selection);
  if (!selection) return selection.error();
  transport::ParticipantOptions joins;
  joins.domain = options.domain;
  joins.on_diagnostic = [say = options.on_diagnostic](const transport::Diagnostic& diagnostic) {
    if (say && !is_of_mixed_topic(diagnostic)) say(diagnostic);
  };
  Result<std::shared_ptr<transport::Participant>> participant = transport::Participant::join(joins);
  if (!participant) return participant.error();
  Result<std::unique_ptr<ChunkWriter>> writer = ChunkWriter::start(
      {options.directory, kWriter, options.with_crc, options.direct, options.snapshot_ns, options.most_queued_bytes,
       options.compression, std::max(1U, std::thread::hardware_concurrency() / 2)});
  if (!writer) return writer.error();
  std::unique_ptr<Recorder> made(
      new Recorder(options, std::move(*selection), std::move(*participant), std::move(*writer)));
  Result<pthread_t> thread = os::start_thread("baton-rec-take", kStackBytes, [recorder = made.get()] {
    try {
      recorder->work();
    } catch (const std::bad_alloc&) {
      recorder->writer_->fail(no_memory());  // the messages that were taken before are written, with the summary
    }
  });
  if (!thread) return thread.error();
  made->thread_ = *thread;
  return Result<std::unique_ptr<Recorder>>(std::move(made));
}

Recorder::Recorder(const RecorderOptions& options, Selection selection,
                   std::shared_ptr<transport::Participant> participant, std::unique_ptr<ChunkWriter> writer)
    : options_(options),
      selection_(std::move(selection)),
      participant_(std::move(participant)),
      writer_(std::move(writer)),
      begin_machine_ns_(os::of_machine(os::monotonic_ns())),
      begin_real_ns_(os::realtime_ns()),
      paused_(options.paused) {}

Recorder::~Recorder() { stop(); }

void Recorder::pause(bool paused) { paused_.store(paused, std::memory_order_relaxed); }
void Recorder::split() { splits_.store(true, std::memory_order_relaxed); }

void Recorder::snapshot() { snaps_.store(true, std::memory_order_relaxed); }

void Recorder::stop() {
  ends_.store(true, std::memory_order_relaxed);
  wait_set_.wake();
  if (thread_) pthread_join(*thread_, nullptr);
  thread_.reset();
  writer_->finish();
  const os::Lock lock(mutex_);
  ended_ = true;
}

void Recorder::work() {
  if (options_.announces_node) participant_->add_node(options_.node);
  participant_->trigger_on_graph_change(graph_changed_);
  (void)wait_set_.add(*graph_changed_);  // without it kLook is the limit
  while (!ends_.load(std::memory_order_relaxed)) {
    const bool is_late = looks_again_ && os::monotonic_ns() - looked_ns_ > kLookAgainNs;
    if (const std::uint64_t version = participant_->graph_version(); is_late || version != seen_) {
      seen_ = version;
      looked_ns_ = os::monotonic_ns();
      discover();
    }
    if (!take_all()) {
      // Publishers need not wake a thread that looks by itself.
      std::this_thread::sleep_for(kNap);
      if (!take_all()) (void)wait_set_.wait(kLook);
      (void)graph_changed_->exchange_triggered();
    }
    if (!chunk_->is_empty() && os::monotonic_ns() - chunk_since_ns_ > kChunkNs) flush();
    if (options_.snapshot_ns != 0 && snaps_.exchange(false, std::memory_order_relaxed)) {
      flush();
      writer_->snapshot();
    }
  }
  // Takes the messages that were published before stop(), also those of publishers to which the recorder is still being connected.
  end_machine_ns_ = os::of_machine(os::monotonic_ns());
  const std::int64_t limit = os::monotonic_ns() + kLastNs;
  // A publisher that goes on, and whose times are wrong, does not delay the end.
  for (const auto& [name, topic] : topics_) topic->most_takes = topic->reader->most_waiting();
  while (take_all() || waits_for_samples_ || (is_connecting() && os::monotonic_ns() < limit)) {
    if (waits_for_samples_) flush();
    std::this_thread::sleep_for(kNap);
  }
  flush();
  wait_set_.remove(*graph_changed_);
  if (options_.announces_node) participant_->remove_node(options_.node);
}

bool Recorder::is_connecting() const {
  return std::any_of(topics_.begin(), topics_.end(),
                     [](const auto& each) { return each.second->reader->is_connecting(); });
}

/// Subscribes to the selected topics that have a publisher.
void Recorder::discover() {
  std::map<std::string, std::vector<transport::EndpointInfo>> publishers;
  for (transport::EndpointInfo& endpoint : participant_->endpoints()) {
    if (!endpoint.is_writer || !selection_.has(endpoint.topic, endpoint.type_name)) continue;
    publishers[endpoint.topic].push_back(std::move(endpoint));
  }
  looks_again_ = false;
  std::set<std::string> notes;
  for (const auto& [topic, its] : publishers) open_topic(topic, its, notes);
  while (notes.size() > kMostNotes) notes.erase(std::prev(notes.end()));
  const os::Lock lock(mutex_);
  notes_ = std::move(notes);
}

void Recorder::open_topic(const std::string& name, const std::vector<transport::EndpointInfo>& publishers,
                          std::set<std::string>& notes) {
  const auto complain = [&](const std::string& why) {
    notes.insert(os::printable("'" + name + "' is not recorded: " + why));
  };
  auto found = topics_.find(name);
  if (found == topics_.end()) {
    if (topics_.size() >= kMostTopics) return complain("there are too many topics");
    if (name.size() > UINT16_MAX) return complain("its name is too long");
    Result<transport::TypeInfo> type = Error{Errc::timed_out, ""};
    for (const transport::EndpointInfo& publisher : publishers) {
      type = participant_->type_of(publisher.gid, std::chrono::nanoseconds(0));
      if (type) break;
    }
    if (!type) {
      looks_again_ = true;
      return complain("the process of its publisher does not say yet how its messages are defined");
    }
    auto topic = std::make_unique<Topic>();
    Result<std::unique_ptr<TopicReader>> reader = TopicReader::make(participant_, options_.node, name, *type);
    if (!reader) return complain(reader.error().message);
    topic->reader = std::move(*reader);
    const os::Lock lock(mutex_);
    found = topics_.emplace(name, std::move(topic)).first;
  }
  Topic& topic = *found->second;
  std::vector<transport::EndpointInfo> fitting;
  for (const transport::EndpointInfo& publisher : publishers) {
    if (publisher.type_hash == topic.reader->info().hash)
      fitting.push_back(publisher);
    else
      notes.insert(os::printable("'" + name + "' of node '" + publisher.node + "' is not recorded: its type is " +
                                 publisher.type_name + ", and the first publisher's " + topic.reader->type().name +
                                 (publisher.type_name == topic.reader->type().name ? ", defined otherwise" : "")));
  }
  if (const Result<void> matched = topic.reader->match(fitting, wait_set_); !matched) complain(matched.error().message);
  if (topic.reader->is_mixed())
    notes.insert(
        os::printable("'" + name +
                      "' has publishers with and without latched messages (transient_local). All are recorded, by two "
                      "subscriptions; publishers without report that one of these does not fit"));
  if (fitting.empty() || (topic.channel && topic.offered == topic.reader->offered().size())) return;
  if (last_channel_ == UINT16_MAX) return topic.channel ? void() : complain("there are too many channels");
  auto& schema = schemas_[{topic.reader->type().name, topic.reader->info().definition}];
  if (!schema) {
    auto made = std::make_shared<McapSchema>();
    made->id = static_cast<std::uint16_t>(schemas_.size());
    made->name = ros2_type_name(topic.reader->type().name);
    made->text = ros2_schema(topic.reader->type());
    schema = std::move(made);
  }
  auto channel = std::make_shared<McapChannel>();
  channel->id = ++last_channel_;
  channel->topic = name;
  channel->schema = schema;
  if (options_.as_they_lie) channel->encoding = kSfm;
  channel->metadata["offered_qos_profiles"] = ros2_qos(topic.reader->offered());
  if (const std::string hash = ros2_type_hash(topic.reader->info().ros_hash); !hash.empty())
    channel->metadata["topic_type_hash"] = hash;
  const os::Lock lock(mutex_);
  topic.channels.push_back(channel->id);
  topic.offered = topic.reader->offered().size();
  topic.channel = std::move(channel);
}

/// True if there was a message.
bool Recorder::take_all() {
  bool any = false;
  waits_for_samples_ = false;
  for (const auto& [name, topic] : topics_) {
    for (int i = 0; topic->channel && i < kMostTaken && topic->most_takes != 0; ++i) {
      Result<transport::TakenSample> taken = topic->reader->take(end_machine_ns_);
      if (!taken) {
        // The open chunk may be all that keeps samples; the writer has the others.
        waits_for_samples_ = waits_for_samples_ || taken.error().code == Errc::held_limit;
        if (waits_for_samples_ && !chunk_->is_empty()) flush();
        break;
      }
      any = any || *taken || topic->reader->is_behind();
      if (*taken || topic->reader->is_behind()) --topic->most_takes;
      if (!*taken) break;
      if (topic->was_stalled) {  // a take counts what was displaced before its message
        topic->was_stalled = false;
        topic->budget.fetch_add(topic->reader->losses().overflow - topic->overflow_before, std::memory_order_relaxed);
      }
      add(*topic, std::move(*taken));
    }
  }
  return any;
}

void Recorder::add(Topic& topic, transport::TakenSample&& sample) {
  if (paused_.load(std::memory_order_relaxed)) return;
  // The time at which the message came: its publisher's, on the clock that all processes of the machine share, which no step of CLOCK_REALTIME
  // moves. A latched message came before the recording.
  const std::int64_t now = os::of_machine(os::monotonic_ns());
  const std::int64_t came = std::clamp(sample.header().source_monotonic_ns, begin_machine_ns_, now);
  const auto log_time = static_cast<std::uint64_t>(begin_real_ns_ + (came - begin_machine_ns_));
  const std::uint64_t file_bytes = file_bytes_ + chunk_->bytes();
  const bool is_full =
      (options_.most_file_bytes != 0 && file_bytes >= options_.most_file_bytes) ||
      (options_.most_file_ns != 0 && log_time >= file_first_ns_ && log_time - file_first_ns_ >= options_.most_file_ns);
  if (file_bytes != 0 && (splits_.exchange(false, std::memory_order_relaxed) || is_full)) {
    flush();
    introduce_again();
    chunk_begins_file_ = true;
    file_bytes_ = 0;
  }
  if (chunk_->is_empty()) chunk_since_ns_ = os::monotonic_ns();
  if (file_bytes_ + chunk_->bytes() == 0) file_first_ns_ = log_time;
  const std::size_t unintroduced = chunk_->bytes();
  if (!chunk_->introduce(topic.channel, introduced_)) {
    topic.memory.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::size_t before = chunk_->bytes();
  introducing_bytes_ += before - unintroduced;
  const Result<void> added =
      chunk_->add(*topic.channel, topic.reader->codec(), std::move(sample), log_time, kLeastReferred);
  if (!added) {
    auto& reason = added.error().code == Errc::out_of_memory ? topic.memory : topic.malformed;
    reason.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  topic.messages.fetch_add(1, std::memory_order_relaxed);
  topic.bytes.fetch_add(chunk_->bytes() - before, std::memory_order_relaxed);
  // Of a chunk one array is written directly.
  const std::uint64_t most = options_.direct ? os::OutputFile::kLeastDirectBytes : options_.chunk_bytes;
  if (chunk_->bytes() >= std::min(most, options_.chunk_bytes)) flush();
}

/// Schemas and channels stand in the file again, so that damage to a chunk takes no messages of many others.
void Recorder::introduce_again() {
  introduced_.clear();
  since_bytes_ = introducing_bytes_ = chunks_since_ = 0;
}

void Recorder::flush() {
  if (chunk_->is_empty()) return;
  file_bytes_ += chunk_->bytes();
  // In a snapshot any chunk may become the first of a file.
  since_bytes_ += chunk_->bytes();
  if (options_.snapshot_ns != 0 || since_bytes_ >= kLeastPerIntroducing * introducing_bytes_ ||
      ++chunks_since_ == kIntroducesEvery)
    introduce_again();
  writer_->push(std::move(chunk_), chunk_begins_file_);
  chunk_begins_file_ = false;
  chunk_ = std::make_unique<McapChunk>();
  wait_for_room();
}

/// While the queue is as long as it may be, messages stay in the subscriptions' queues. Those that are displaced there count for the budget.
void Recorder::wait_for_room() {
  if (writer_->wait_for_room(options_.most_queued_bytes, std::chrono::nanoseconds(0))) return;
  for (const auto& [name, topic] : topics_)
    if (!topic->was_stalled) topic->overflow_before = topic->reader->losses().overflow;
  while (!writer_->wait_for_room(options_.most_queued_bytes, kLook)) {
  }
  for (const auto& [name, topic] : topics_) topic->was_stalled = true;
}

Progress Recorder::progress() const {
  Progress out;
  out.writer = writer_->progress();
  out.paused = paused_.load(std::memory_order_relaxed);
  const os::Lock lock(mutex_);
  out.notes.assign(notes_.begin(), notes_.end());
  if (options_.snapshot_ns != 0 && ended_ && out.writer.snapshots == 0 && !out.writer.failure)
    out.notes.emplace_back("nothing was written: no snapshot was taken");
  for (const auto& [name, topic] : topics_) {
    TopicProgress row;
    row.topic = name;
    row.type = ros2_type_name(topic->reader->type().name);
    row.messages = topic->messages.load(std::memory_order_relaxed);
    row.bytes = topic->bytes.load(std::memory_order_relaxed);
    const transport::Losses losses = topic->reader->losses();
    row.missing.budget = topic->budget.load(std::memory_order_relaxed);
    row.missing.queue = losses.overflow - std::min(losses.overflow, row.missing.budget);
    row.missing.held = losses.held;
    row.missing.malformed = losses.malformed + topic->malformed.load(std::memory_order_relaxed);
    row.missing.interrupted = losses.interrupted;
    row.missing.memory = losses.memory + losses.limit + topic->memory.load(std::memory_order_relaxed);
    row.missing.expired = losses.lifespan;
    for (const std::uint16_t channel : topic->channels) {
      const auto lost = out.writer.lost.find(channel);
      row.missing.disk += lost == out.writer.lost.end() ? 0 : lost->second;
    }
    row.messages -= std::min(row.messages, row.missing.disk);
    out.topics.push_back(std::move(row));
  }
  return out;
}

}  // namespace baton::record
