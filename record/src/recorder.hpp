// SPDX-License-Identifier: Apache-2.0
// The recorder: finds topics, takes their messages into chunks, and gives the chunks to the ChunkWriter. No publisher waits for the recorder:
// newer messages displace those that it does not take in time, and the displaced messages are counted.
// Thread rules: all functions by any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baton/os/lock.hpp"
#include "chunk_writer.hpp"
#include "selection.hpp"
#include "topic_reader.hpp"

namespace baton::record {

struct RecorderOptions {
  std::string directory;
  SelectionOptions selection;
  int domain = -1;
  std::string node = kNode;           ///< the node to which the subscriptions belong
  bool announces_node = true;         ///< false: another process announces the node
  std::uint64_t most_file_bytes = 0;  ///< a file of this size is followed by another file; 0: no limit
  std::uint64_t most_file_ns = 0;     ///< a file that spans so much time is followed by another file; 0: no limit
  std::uint64_t most_queued_bytes = std::uint64_t{512} << 20;
  std::uint64_t chunk_bytes = std::uint64_t{2} << 20;  ///< a chunk of this size is written
  /// Not 0: nothing is written before snapshot(), which writes the messages of the last `snapshot_ns` nanoseconds, at most `most_queued_bytes`.
  std::uint64_t snapshot_ns = 0;
  Compression compression = Compression::kNone;
  bool with_crc = false;
  bool direct = false;       ///< large arrays go to the disk past the page cache (McapFile::create())
  bool as_they_lie = false;  ///< messages are written in the encoding kSfm
  bool paused = false;
  std::function<void(const transport::Diagnostic&)> on_diagnostic;
};

/// Messages that are not in the bag, by reason.
struct Missing {
  std::uint64_t queue = 0;        ///< displaced by newer messages: the recorder, or this machine, was too slow
  std::uint64_t held = 0;         ///< displaced while the recorder kept as many samples as it may
  std::uint64_t budget = 0;       ///< displaced while RecorderOptions::most_queued_bytes waited for the disk
  std::uint64_t disk = 0;         ///< taken, and not written because of a failure
  std::uint64_t malformed = 0;    ///< failed a check
  std::uint64_t interrupted = 0;  ///< their publisher was disconnected before they were taken
  std::uint64_t memory = 0;       ///< this process had no memory, or reached a limit
  std::uint64_t expired = 0;      ///< the publisher's lifespan had passed
  std::uint64_t total() const noexcept {
    return queue + held + budget + disk + malformed + interrupted + memory + expired;
  }
};

struct TopicProgress {
  std::string topic, type;
  std::uint64_t messages = 0;  ///< messages taken, without those in Missing::disk
  std::uint64_t bytes = 0;     ///< bytes of the messages taken
  Missing missing;
};

struct Progress {
  ChunkWriter::Progress writer;
  std::vector<TopicProgress> topics;
  std::vector<std::string> notes;  ///< sentences: which selected topics are not recorded, and why
  bool paused = false;
};

class Recorder {
 public:
  /// Errors: those of Participant::join(), Selection::make() and ChunkWriter::start().
  static Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options);
  ~Recorder();

  /// A paused recorder takes messages, and leaves them out of the bag.
  void pause(bool paused);
  /// The next message begins another file.
  void split();
  /// Writes the messages that are kept (RecorderOptions::snapshot_ns).
  void snapshot();
  /// Takes the messages that are in the queues, writes everything, and ends. Afterwards progress() does not change. To be called once.
  void stop();
  Progress progress() const;

 private:
  using Gid = transport::Gid;
  struct Topic {
    std::unique_ptr<TopicReader> reader;
    std::shared_ptr<const McapChannel> channel;
    std::vector<std::uint16_t> channels;  // the numbers of its channels, the present one last: each new offer makes one
    std::size_t offered = 0;              // how many offers the present channel mentions
    std::atomic<std::uint64_t> messages{0}, bytes{0}, malformed{0}, memory{0};  // relaxed: counters for progress()
    std::atomic<std::uint64_t> budget{0};                                       // relaxed: as above
    std::uint64_t overflow_before = 0;      // displaced messages when the budget was spent
    bool was_stalled = false;               // the budget was spent at some time since the last take
    std::uint64_t most_takes = UINT64_MAX;  // how many messages may be taken until the end
  };
  Recorder(const RecorderOptions& options, Selection selection, std::shared_ptr<transport::Participant> participant,
           std::unique_ptr<ChunkWriter> writer);
  void work();
  void discover();
  void open_topic(const std::string& name, const std::vector<transport::EndpointInfo>& publishers,
                  std::set<std::string>& notes);
  bool take_all();
  bool is_connecting() const;
  void add(Topic& topic, transport::TakenSample&& sample);
  void introduce_again();
  void flush();
  void wait_for_room();

  const RecorderOptions options_;
  Selection selection_;  // used by the recorder's thread alone
  const std::shared_ptr<transport::Participant> participant_;
  const std::unique_ptr<ChunkWriter> writer_;
  const std::int64_t begin_machine_ns_, begin_real_ns_;
  std::optional<pthread_t> thread_;
  // relaxed: set by any thread, and read by the recorder's own between two messages.
  std::atomic<bool> ends_{false}, paused_{false}, splits_{false}, snaps_{false};
  transport::WaitSet wait_set_;

  // Used by the recorder's thread alone.
  std::int64_t end_machine_ns_ = INT64_MAX;  // messages that were published later are not recorded
  const std::shared_ptr<transport::GuardCondition> graph_changed_ = std::make_shared<transport::GuardCondition>();
  bool looks_again_ = false;  // the type of a topic is not known yet
  std::int64_t looked_ns_ = 0;
  std::uint64_t seen_ = 0;          // the version of the graph at the last look
  bool waits_for_samples_ = false;  // a subscription holds as many samples as it may, until the writer releases some
  std::unique_ptr<McapChunk> chunk_ = std::make_unique<McapChunk>();
  std::int64_t chunk_since_ns_ = 0;
  bool chunk_begins_file_ = false;
  std::set<const void*> introduced_;  // schemas and channels that this file has, and that need not be repeated yet
  // Since the last introduce_again(): all bytes, the bytes of schemas and channels, chunks.
  std::uint64_t since_bytes_ = 0, introducing_bytes_ = 0, chunks_since_ = 0;
  std::uint64_t file_bytes_ = 0, file_first_ns_ = 0;
  std::uint16_t last_channel_ = 0;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const McapSchema>> schemas_;  // by name and text

  mutable os::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Topic>>
      topics_;  // changed by the recorder's thread, which reads without the mutex
  std::set<std::string> notes_ BATON_GUARDED_BY(mutex_);
  bool ended_ BATON_GUARDED_BY(mutex_) = false;
};

}  // namespace baton::record
