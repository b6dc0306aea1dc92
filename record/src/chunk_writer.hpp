// SPDX-License-Identifier: Apache-2.0
// The thread that writes chunks to the files of a bag, and the queue in front of it: nobody else waits for the disk.
// Thread rules: push() by one thread; the rest by any.
// Invariants: (1) chunks are written in their order; (2) after a failure no further chunk is written: what was written stays readable, and the
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

/// What metadata.yaml says of a file.
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
    std::string directory;  ///< is made, and must not exist
    std::string writer;     ///< the program's name and version, which the files say
    bool with_crc = false;
    bool direct = false;  ///< McapFile::create()
    /// Not 0: chunks are kept in memory, those of the last so many nanoseconds and `most_kept_bytes`, and written by snapshot().
    std::uint64_t kept_ns = 0, most_kept_bytes = 0;
    Compression compression = Compression::kNone;  ///< by `compressors` threads
    unsigned compressors = 1;
  };
  struct Progress {
    std::uint64_t queued_chunks = 0, queued_bytes = 0, written_bytes = 0, written_messages = 0;
    std::uint64_t records_bytes = 0;                       ///< what `written_bytes` would be without compression
    std::uint64_t direct_bytes = 0;                        ///< of `written_bytes`, with Options::direct
    std::uint64_t kept_bytes = 0, snapshots = 0;           ///< with Options::kept_ns
    std::uint64_t free_bytes = 0;                          ///< of the disk
    std::map<std::uint16_t, std::uint64_t> written, lost;  ///< messages of each channel
    std::size_t files = 0;
    std::optional<Error> failure;
  };

  /// Makes the directory and the first file. Errors: already_exists, system, limit_reached.
  static Result<std::unique_ptr<ChunkWriter>> start(const Options& options);
  ~ChunkWriter();

  /// `new_file`: the chunk is the first one of another file.
  void push(std::unique_ptr<McapChunk> chunk, bool new_file);
  /// Writes the chunks that were pushed before and are kept, to a file of their own, and forgets them.
  void snapshot();
  /// Waits, `most` at most, until the queue has fewer bytes than `bytes`, or none. False: it has not.
  bool wait_for_room(std::uint64_t bytes, std::chrono::nanoseconds most);
  /// Ends the recording: the failure is said, and further chunks are not written.
  void fail(const Error& why);
  /// Writes what is queued, the summary and metadata.yaml. Once.
  void finish();
  Progress progress() const;

 private:
  struct Queued {
    std::unique_ptr<McapChunk> chunk;
    bool new_file = false;  ///< without a chunk: a snapshot
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
  // Of the thread.
  std::unique_ptr<McapFile> file_;
  std::vector<BagFile> files_;
  std::vector<std::shared_ptr<const McapChannel>> channels_;
  std::deque<std::unique_ptr<McapChunk>> kept_;
  std::uint64_t kept_bytes_ = 0;

  mutable os::Mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_ BATON_GUARDED_BY(mutex_);  // a deque's elements stay where they are
  std::deque<Queued*> raw_ BATON_GUARDED_BY(mutex_);   // of queue_: to be compressed
  Progress progress_ BATON_GUARDED_BY(mutex_);
  bool ends_ BATON_GUARDED_BY(mutex_) = false;
};

}  // namespace baton::record
