// SPDX-License-Identifier: Apache-2.0
// MCAP files as they are written (https://mcap.dev/spec, version 0): chunks of messages, which one thread fills and another one writes, and the
// summary at the end. Profile "ros2": CDR messages, or Baton's own, and schemas in the encoding "ros2msg". Reading is for the libraries of MCAP.
// Thread rules: a McapChunk and a McapFile are used by one thread at a time; a McapChannel is immutable.
// Invariants: (1) payload is not copied: a chunk refers to it, and keeps the samples in which it lies; (2) a file that was cut behind a chunk
// and its indexes has everything before; (3) schema and channel stand in the chunk of the channel's first message, and in some later ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/message/cdr_codec.hpp"
#include "baton/message/gathered.hpp"
#include "baton/os/output_file.hpp"
#include "baton/transport/transport.hpp"
#include "compression.hpp"

namespace baton::record {

/// The encoding of ROS 2's messages.
inline constexpr char kCdr[] = "cdr";
/// Chunks as they lie in memory (docs/format/sfm.md), without their headers, in this machine's byte order.
inline constexpr char kSfm[] = "baton_sfm";

struct McapSchema {
  std::uint16_t id = 0;  ///< not 0
  std::string name, text;
};

struct McapChannel {
  std::uint16_t id = 0;
  std::string topic;
  std::shared_ptr<const McapSchema> schema;
  std::map<std::string, std::string> metadata;
  const char* encoding = kCdr;  ///< the encoding of the channel's messages: kCdr or kSfm
};

/// A chunk of messages that is being filled, or that waits for the disk.
class McapChunk {
 public:
  /// Adds the records of the channel and of its schema, unless they are in `known`, the set of what the file already has. Adds them to `known`.
  /// Error: out_of_memory; the chunk and `known` are unchanged.
  Result<void> introduce(const std::shared_ptr<const McapChannel>& channel, std::set<const void*>& known);
  /// Adds a message in the channel's encoding. Arrays of at least `least_referred` bytes are not copied: the chunk refers to them and keeps the
  /// sample.
  /// Errors: malformed_message, out_of_memory; the chunk is unchanged.
  Result<void> add(const McapChannel& channel, const message::CdrCodec& codec, transport::TakenSample&& sample,
                   std::uint64_t log_time_ns, std::size_t least_referred);

  /// Copies the payload and releases the samples.
  void own();
  /// Compresses the records and releases the samples. Nothing can be added afterwards. `with_crc`: also makes the checksum of the
  /// uncompressed records. Errors: those of compressed(), out_of_memory; the chunk is unchanged.
  Result<void> compress(Compression compression, bool with_crc);

  bool is_empty() const noexcept { return messages_ == 0; }
  std::uint64_t messages() const noexcept { return messages_; }
  /// The chunk's size in the file, without its head.
  std::size_t bytes() const noexcept {
    return compression_ == Compression::kNone ? records_.size() : compressed_.size();
  }
  /// The size of the records without compression.
  std::size_t records_bytes() const noexcept {
    return compression_ == Compression::kNone ? records_.size() : records_bytes_;
  }
  std::uint64_t first_ns() const noexcept { return first_ns_; }
  std::uint64_t last_ns() const noexcept { return last_ns_; }
  const message::Gathered& records() const noexcept { return records_; }
  const std::vector<std::shared_ptr<const McapChannel>>& introduced() const noexcept { return introduced_; }
  std::map<std::uint16_t, std::uint64_t> messages_of_channels() const;

 private:
  friend class McapFile;
  std::uint32_t checksum() const noexcept;
  struct Entry {
    std::uint64_t log_time_ns, at;
  };
  message::Gathered records_;
  std::vector<transport::TakenSample> held_;
  std::map<std::uint16_t, std::vector<Entry>> index_;
  std::vector<std::shared_ptr<const McapChannel>> introduced_;
  std::uint64_t messages_ = 0, first_ns_ = 0, last_ns_ = 0;
  Compression compression_ = Compression::kNone;
  std::vector<std::byte> compressed_;  // after compress(), in place of records_
  std::size_t records_bytes_ = 0;      // after compress(): the size of the records without compression
  std::uint32_t crc_ = 0;              // after compress(): the records' checksum; 0: none
};

class McapFile {
 public:
  /// Writes the head of a new file. `direct`: the first array of each chunk that is large enough goes from its memory to the disk
  /// (os::OutputFile); a padding record, which readers skip, stands before the chunk and aligns the array. Errors: those of OutputFile.
  static Result<std::unique_ptr<McapFile>> create(const std::string& path, const std::string& writer,
                                                  bool direct = false);

  /// Writes the chunk and its indexes, in one call if they are few pieces. After an error the file is as before. `with_crc`: the chunk gets a
  /// checksum, for which its bytes are read once more. Errors: those of OutputFile.
  Result<void> write(const McapChunk& chunk, bool with_crc);
  /// Writes the summary and the footer, and closes the file. If the disk has no room for them, removes the last chunks. Returns how many
  /// messages of each channel were removed. Errors: those of OutputFile. To be called once.
  Result<std::map<std::uint16_t, std::uint64_t>> finish();

  std::uint64_t size() const noexcept { return file_.size(); }
  std::uint64_t direct_bytes() const noexcept { return file_.direct_bytes(); }
  const std::string& path() const noexcept { return file_.path(); }
  std::uint64_t messages() const noexcept;
  std::uint64_t first_ns() const noexcept;
  std::uint64_t last_ns() const noexcept;

 private:
  struct Written {
    struct Index {
      std::uint64_t at = 0;
      std::uint32_t messages = 0;
      std::uint16_t channel = 0;
    };
    std::uint64_t at = 0, bytes = 0, index_bytes = 0, records_bytes = 0, stored_bytes = 0, first_ns = 0, last_ns = 0;
    Compression compression = Compression::kNone;
    std::vector<Index> indexes;  // a vector, because a long recording keeps it for each of its chunks
    std::size_t channels = 0;    // how many channels the file had before this chunk
  };
  explicit McapFile(os::OutputFile file) : file_(std::move(file)) {}
  message::Gathered summary() const;

  os::OutputFile file_;
  std::vector<std::shared_ptr<const McapChannel>> channels_;
  std::vector<Written> chunks_;
};

}  // namespace baton::record
