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

/// CDR, as ROS 2 has it.
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
  const char* encoding = kCdr;  ///< of its messages: kCdr or kSfm
};

/// Messages that are written together.
class McapChunk {
 public:
  /// Adds the channel's record and its schema's, unless they are in `known`, to which they are added: what the file has already.
  /// Error: out_of_memory; the chunk and `known` are unchanged.
  Result<void> introduce(const std::shared_ptr<const McapChannel>& channel, std::set<const void*>& known);
  /// Adds a message in the channel's encoding. Its arrays of `least_referred` bytes or more are referred to where they lie; then the chunk keeps the sample.
  /// Errors: malformed_message, out_of_memory; the chunk is unchanged.
  Result<void> add(const McapChannel& channel, const message::CdrCodec& codec, transport::TakenSample&& sample,
                   std::uint64_t log_time_ns, std::size_t least_referred);

  /// Copies the payload and releases the samples.
  void own();
  /// Compresses the records and releases the samples. Nothing can be added afterwards. `with_crc`: the checksum is made before, of what is
  /// compressed. Errors: those of compressed(), out_of_memory; the chunk is unchanged.
  Result<void> compress(Compression compression, bool with_crc);

  bool is_empty() const noexcept { return messages_ == 0; }
  std::uint64_t messages() const noexcept { return messages_; }
  /// That it has in the file, without its head.
  std::size_t bytes() const noexcept {
    return compression_ == Compression::kNone ? records_.size() : compressed_.size();
  }
  /// The same before compress().
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
  std::vector<std::byte> compressed_;  // in place of records_
  std::size_t records_bytes_ = 0;      // before they were compressed
  std::uint32_t crc_ = 0;              // the same; 0: none
};

class McapFile {
 public:
  /// Writes the head of a new file. `direct`: the first array of each chunk that is large enough goes from its memory to the disk
  /// (os::OutputFile); a record that readers skip stands before the chunk, so that the array has its place. Errors: those of OutputFile.
  static Result<std::unique_ptr<McapFile>> create(const std::string& path, const std::string& writer,
                                                  bool direct = false);

  /// Writes the chunk and its indexes, in one call if they are few pieces. After an error the file is as before. `with_crc`: the chunk gets a
  /// checksum, for which its bytes are read once more. Errors: those of OutputFile.
  Result<void> write(const McapChunk& chunk, bool with_crc);
  /// Writes summary and end, and closes the file, which is then complete. If there is no room for them, the last chunks are taken away. Returns
  /// how many messages of each channel were. Errors: those of OutputFile. Once.
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
    std::size_t channels = 0;    // how many the file had before
  };
  explicit McapFile(os::OutputFile file) : file_(std::move(file)) {}
  message::Gathered summary() const;

  os::OutputFile file_;
  std::vector<std::shared_ptr<const McapChannel>> channels_;
  std::vector<Written> chunks_;
};

}  // namespace baton::record
