// SPDX-License-Identifier: Apache-2.0
// The thread that writes chunks to the files of a bag, and its queue: no other thread waits for the disk.
// Thread rules: push() by one thread; the rest by any.
// Invariants: (1) chunks are written in their order; (2) after a failure no further chunk is written: the chunks before stay readable, and the
// messages of all later chunks count as lost to the disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"
#include "mcap_file.hpp"

namespace baton::record {

/// The entry of a file in metadata.yaml.
struct BagFile {
  std::string name;
  std::uint64_t first_ns = 0, last_ns = 0, messages = 0;
};

/// The text of metadata.yaml, version 8 (rosbag2_storage), which older versions of rosbag2 read as well.
std::string metadata_yaml(const std::vector<BagFile>& files,
                          const std::vector<std::shared_ptr<const McapChannel>>& channels,
                          const std::map<std::uint16_t, std::uint64_t>& messages);

class ChunkWriter {
 public:
  struct Options {
    std::string directory;  ///< the bag's folder, which start() makes; it must not exist
    std::string writer;     ///< the program's name and version, for the heads of the files
    bool with_crc = false;
    bool direct = false;  ///< see McapFile::create()
    /// Not 0: the chunks of the last `kept_ns` nanoseconds, at most `most_kept_bytes`, are kept in memory, and snapshot() writes them.
    std::uint64_t kept_ns = 0, most_kept_bytes = 0;
    Compression compression = Compression::kNone;  ///< done by `compressors` threads
    unsigned compressors = 1;
  };
  struct Progress {
    std::uint64_t queued_chunks = 0, queued_bytes = 0, written_bytes = 0, written_messages = 0;
    std::uint64_t records_bytes = 0;                       ///< `written_bytes` as it would be without compression
    std::uint64_t direct_bytes = 0;                        ///< how many of `written_bytes` bypassed the page cache
    std::uint64_t kept_bytes = 0, snapshots = 0;           ///< 0 without Options::kept_ns
    std::uint64_t free_bytes = 0;                          ///< free space of the disk
    std::map<std::uint16_t, std::uint64_t> written, lost;  ///< messages of each channel
    std::size_t files = 0;
    std::optional<Error> failure;
  };

  /// Makes the directory and the first file. Errors: already_exists, system, limit_reached.
  static Result<std::unique_ptr<ChunkWriter>> start(const Options& options);
  ~ChunkWriter();

  /// `new_file`: the chunk is the first one of another file.
  void push(std::unique_ptr<McapChunk> chunk, bool new_file);
  /// Writes the kept chunks, including those pushed before this call, to a file of their own, and forgets them.
  void snapshot();
  /// Waits until the queue is empty or has fewer than `bytes` bytes. False: `most` passed before.
  bool wait_for_room(std::uint64_t bytes, std::chrono::nanoseconds most);
  /// Ends the recording: progress() has the failure, and further chunks are not written.
  void fail(const Error& why);
  /// Writes the queued chunks, the summary and metadata.yaml. To be called once.
  void finish();
  Progress progress() const;

 private:
  struct Queued {
    std::unique_ptr<McapChunk> chunk;
    bool new_file = false;  ///< the chunk begins a file. An entry without a chunk stands for a snapshot
    std::uint64_t bytes = 0;
    bool is_ready = true;  ///< false: a compressor has it, or will have it
  };
  explicit ChunkWriter(const Options& options) : options_(options) {}
  void work();
  void work_compressing();
  Result<void> write(const McapChunk& chunk);
  Result<void> begin_file();
  void keep(std::unique_ptr<McapChunk>& chunk);
  Result<void> write_kept();
  Result<void> open_file();
  Result<void> end_file();
  Result<void> write_metadata();

  const Options options_;
  std::optional<pthread_t> thread_;
  std::vector<pthread_t> compressors_;
  // Used by the writer's thread alone.
  std::unique_ptr<McapFile> file_;
  std::vector<BagFile> files_;
  std::vector<std::shared_ptr<const McapChannel>> channels_;
  std::deque<std::unique_ptr<McapChunk>> kept_;
  std::uint64_t kept_bytes_ = 0;

  mutable os::Mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_ BATON_GUARDED_BY(mutex_);  // a deque's elements stay where they are
  std::deque<Queued*> raw_ BATON_GUARDED_BY(mutex_);   // elements of queue_ that are to be compressed
  Progress progress_ BATON_GUARDED_BY(mutex_);
  bool ends_ BATON_GUARDED_BY(mutex_) = false;
};

}  // namespace baton::record
