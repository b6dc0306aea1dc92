// SPDX-License-Identifier: Apache-2.0
#include "mcap_file.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "crc32.hpp"

namespace baton::record {
namespace {

using message::Gathered;

// Numbers are little-endian on the disk, and appended as they are in memory.
static_assert(memory::kNativeByteOrder == memory::ByteOrder::kLittle, "big-endian machines need swapped numbers");

enum class Record : std::uint8_t {
  kHeader = 1,
  kFooter = 2,
  kSchema = 3,
  kChannel = 4,
  kMessage = 5,
  kChunk = 6,
  kMessageIndex = 7,
  kChunkIndex = 8,
  kStatistics = 0x0B,
  kSummaryOffset = 0x0E,
  kDataEnd = 0x0F,
  kPadding = 0x80  // from 0x80 on a record is the application's own, and readers skip it
};
constexpr char kMagic[] = {'\x89', 'M', 'C', 'A', 'P', '0', '\r', '\n'};
constexpr std::size_t kHeadBytes = 1 + 8;  // of a record: what it is, and its length

/// Writes the head of a record; its length becomes known at end().
class RecordWriter {
 public:
  RecordWriter(Gathered& out, Record kind) : out_(out) {
    out.append_number(static_cast<std::uint8_t>(kind));
    length_ = out.copied();
    out.append_zeros(8);
    begin_ = out.size();
  }
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  void end(std::uint64_t more = 0) {
    const std::uint64_t length = out_.size() - begin_ + more;
    std::memcpy(out_.copied_at(length_), &length, sizeof length);
  }

 private:
  Gathered& out_;
  std::size_t length_ = 0, begin_ = 0;
};

void append_text(Gathered& out, const std::string& text) {
  out.append_number(static_cast<std::uint32_t>(text.size()));
  out.append(text.data(), text.size());
}

void append_schema(Gathered& out, const McapSchema& schema) {
  RecordWriter record(out, Record::kSchema);
  out.append_number(schema.id);
  append_text(out, schema.name);
  append_text(out, "ros2msg");
  append_text(out, schema.text);
  record.end();
}

void append_channel(Gathered& out, const McapChannel& channel) {
  RecordWriter record(out, Record::kChannel);
  out.append_number(channel.id);
  out.append_number(channel.schema->id);
  append_text(out, channel.topic);
  append_text(out, channel.encoding);
  Gathered metadata;
  for (const auto& [name, value] : channel.metadata) {
    append_text(metadata, name);
    append_text(metadata, value);
  }
  out.append_number(static_cast<std::uint32_t>(metadata.size()));
  out.append(metadata.copied_at(0), metadata.size());
  record.end();
}

template <class Key>
void append_map(Gathered& out, const std::map<Key, std::uint64_t>& map) {
  out.append_number(static_cast<std::uint32_t>(map.size() * (sizeof(Key) + 8)));
  for (const auto& [key, value] : map) {
    out.append_number(key);
    out.append_number(value);
  }
}

void add_pieces(const Gathered& from, std::vector<os::FilePiece>& out) {
  from.for_each([&](const std::byte* data, std::size_t bytes, bool) { out.push_back({data, bytes}); });
}

/// The place in the records of the first piece that can be written directly, or nullopt.
std::optional<std::pair<std::size_t, const std::byte*>> first_direct(const Gathered& records) {
  std::optional<std::pair<std::size_t, const std::byte*>> found;
  std::size_t at = 0;
  records.for_each([&](const std::byte* data, std::size_t bytes, bool is_copied) {
    if (!found && !is_copied && bytes >= os::OutputFile::kLeastDirectBytes) found = {at, data};
    at += bytes;
  });
  return found;
}

/// Appends a padding record, so that the byte at `at` in the file has the same offset in its page as `data` has in memory.
void append_padding(Gathered& out, std::uint64_t at, const std::byte* data) {
  constexpr std::uint64_t kPage = os::OutputFile::kPageBytes;
  std::uint64_t bytes = (reinterpret_cast<std::uintptr_t>(data) - at) % kPage;
  if (bytes == 0) return;
  if (bytes < kHeadBytes) bytes += kPage;
  RecordWriter padding(out, Record::kPadding);
  out.append_zeros(bytes - kHeadBytes);
  padding.end();
}

}  // namespace

Result<void> McapChunk::introduce(const std::shared_ptr<const McapChannel>& channel, std::set<const void*>& known) {
  if (known.count(channel.get()) != 0) return {};
  const Gathered::Mark before = records_.mark();
  const std::size_t introduced = introduced_.size();
  const void* const schema = known.count(channel->schema.get()) == 0 ? channel->schema.get() : nullptr;
  try {
    if (schema != nullptr) append_schema(records_, *channel->schema);
    append_channel(records_, *channel);
    introduced_.push_back(channel);
    if (schema != nullptr) known.insert(schema);
    known.insert(channel.get());
  } catch (const std::bad_alloc&) {
    if (schema != nullptr) known.erase(schema);
    introduced_.resize(introduced);
    records_.rewind(before);
    return no_memory();
  }
  return {};
}

Result<void> McapChunk::add(const McapChannel& channel, const message::CdrCodec& codec, transport::TakenSample&& sample,
                            std::uint64_t log_time_ns, std::size_t least_referred) {
  const Gathered::Mark before = records_.mark();
  const std::uint64_t at = records_.size();
  const std::size_t copied = records_.copied(), held = held_.size();
  try {
    RecordWriter record(records_, Record::kMessage);
    records_.append_number(channel.id);
    records_.append_number(static_cast<std::uint32_t>(sample.sequence()));
    records_.append_number(log_time_ns);
    records_.append_number(static_cast<std::uint64_t>(std::max<std::int64_t>(sample.header().source_time_ns, 0)));
    const message::Bytes bytes{static_cast<const std::byte*>(sample.message()), sample.size_bytes()};
    if (channel.encoding == kSfm) {
      bytes.size >= least_referred ? records_.refer(bytes.data, bytes.size) : records_.append(bytes.data, bytes.size);
    } else if (const Result<std::size_t> gathered = codec.gather(bytes, records_, least_referred); !gathered) {
      records_.rewind(before);
      return gathered.error();
    }
    record.end();
    if (records_.copied() - copied < records_.size() - at) held_.emplace_back();
    index_[channel.id].push_back({log_time_ns, at});
  } catch (const std::bad_alloc&) {
    held_.resize(held);
    records_.rewind(before);
    return no_memory();
  }
  if (held_.size() > held) held_.back() = std::move(sample);
  first_ns_ = messages_ == 0 ? log_time_ns : std::min(first_ns_, log_time_ns);
  last_ns_ = std::max(last_ns_, log_time_ns);
  ++messages_;
  return {};
}

void McapChunk::own() {
  records_.own();
  held_.clear();
}

std::uint32_t McapChunk::checksum() const noexcept {
  Crc32 sum;
  records_.for_each([&](const std::byte* data, std::size_t bytes, bool) { sum.add(data, bytes); });
  return sum.value();
}

Result<void> McapChunk::compress(Compression compression, bool with_crc) {
  Result<std::vector<std::byte>> made = no_memory();
  try {
    made = compressed(compression, records_);
    if (made) made->shrink_to_fit();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  if (!made) return made.error();
  // A publisher may change what it has published: then the checksum differs, and a reader finds it.
  if (with_crc) crc_ = checksum();
  compressed_ = std::move(*made);
  compression_ = compression;
  records_bytes_ = records_.size();
  records_ = Gathered();
  held_.clear();
  return {};
}

std::map<std::uint16_t, std::uint64_t> McapChunk::messages_of_channels() const {
  std::map<std::uint16_t, std::uint64_t> out;
  for (const auto& [channel, entries] : index_) out[channel] = entries.size();
  return out;
}

Result<std::unique_ptr<McapFile>> McapFile::create(const std::string& path, const std::string& writer, bool direct) {
  Result<os::OutputFile> file = os::OutputFile::create(path, direct);
  if (!file) {
    Error error = file.error();
    if (error.code == Errc::unsupported) error.message += ": record without --direct";
    return error;
  }
  std::unique_ptr<McapFile> made(new McapFile(std::move(*file)));
  Gathered head;
  head.append(kMagic, sizeof kMagic);
  RecordWriter record(head, Record::kHeader);
  append_text(head, "ros2");
  append_text(head, writer);
  record.end();
  std::vector<os::FilePiece> pieces;
  add_pieces(head, pieces);
  if (const Result<void> written = made->file_.append(pieces); !written) return written.error();
  return Result<std::unique_ptr<McapFile>>(std::move(made));
}

Result<void> McapFile::write(const McapChunk& chunk, bool with_crc) {
  Gathered head;
  Written written;
  // The head of a chunk that is not compressed has always so many bytes.
  constexpr std::size_t kChunkHeadBytes = kHeadBytes + 8 + 8 + 8 + 4 + 4 + 8;
  if (const auto direct = first_direct(chunk.records_); direct && file_.is_direct())
    append_padding(head, file_.size() + kChunkHeadBytes + direct->first, direct->second);
  const std::size_t padding = head.size();
  written.at = file_.size() + padding;
  written.compression = chunk.compression_;
  written.stored_bytes = chunk.bytes();
  written.records_bytes = chunk.records_bytes();
  written.first_ns = chunk.first_ns_;
  written.last_ns = chunk.last_ns_;
  written.channels = channels_.size();
  const bool makes_crc = with_crc && chunk.compression_ == Compression::kNone;
  RecordWriter record(head, Record::kChunk);
  head.append_number(chunk.first_ns_);
  head.append_number(chunk.last_ns_);
  head.append_number(written.records_bytes);
  head.append_number(makes_crc ? chunk.checksum() : chunk.crc_);
  append_text(head, compression_name(chunk.compression_));
  head.append_number(written.stored_bytes);
  record.end(written.stored_bytes);
  written.bytes = head.size() - padding + written.stored_bytes;

  Gathered indexes;
  for (const auto& [channel, entries] : chunk.index_) {
    written.indexes.push_back(
        {written.at + written.bytes + indexes.size(), static_cast<std::uint32_t>(entries.size()), channel});
    RecordWriter index(indexes, Record::kMessageIndex);
    indexes.append_number(channel);
    indexes.append_number(static_cast<std::uint32_t>(entries.size() * sizeof(McapChunk::Entry)));
    indexes.append(entries.data(), entries.size() * sizeof(McapChunk::Entry));
    index.end();
  }
  written.indexes.shrink_to_fit();
  written.index_bytes = indexes.size();

  std::vector<os::FilePiece> pieces;
  add_pieces(head, pieces);
  if (chunk.compression_ == Compression::kNone)
    add_pieces(chunk.records_, pieces);
  else
    pieces.push_back({chunk.compressed_.data(), chunk.compressed_.size()});
  add_pieces(indexes, pieces);
  if (Result<void> appended = file_.append(pieces); !appended) return appended;
  for (const auto& channel : chunk.introduced_)
    if (std::find(channels_.begin(), channels_.end(), channel) == channels_.end()) channels_.push_back(channel);
  chunks_.push_back(std::move(written));
  return {};
}

std::uint64_t McapFile::messages() const noexcept {
  std::uint64_t sum = 0;
  for (const Written& chunk : chunks_)
    for (const Written::Index& index : chunk.indexes) sum += index.messages;
  return sum;
}

std::uint64_t McapFile::first_ns() const noexcept {
  std::uint64_t first = chunks_.empty() ? 0 : chunks_.front().first_ns;
  for (const Written& chunk : chunks_) first = std::min(first, chunk.first_ns);
  return first;
}

std::uint64_t McapFile::last_ns() const noexcept {
  std::uint64_t last = 0;
  for (const Written& chunk : chunks_) last = std::max(last, chunk.last_ns);
  return last;
}

/// The bytes of the file behind the last chunk: summary and footer.
Gathered McapFile::summary() const {
  Gathered out;
  {
    RecordWriter end(out, Record::kDataEnd);
    out.append_number(std::uint32_t{0});  // no checksum of the data
    end.end();
  }
  const std::uint64_t base = file_.size();
  const std::size_t summary = out.size();
  struct Group {
    Record kind;
    std::uint64_t at, bytes;
  };
  std::vector<Group> groups;
  const auto group = [&](Record kind, const auto& append) {
    const std::size_t begin = out.size();
    append();
    if (out.size() > begin) groups.push_back({kind, base + begin, out.size() - begin});
  };
  std::map<std::uint16_t, const McapSchema*> schemas;
  for (const auto& channel : channels_) schemas[channel->schema->id] = channel->schema.get();
  group(Record::kSchema, [&] {
    for (const auto& [id, schema] : schemas) append_schema(out, *schema);
  });
  group(Record::kChannel, [&] {
    for (const auto& channel : channels_) append_channel(out, *channel);
  });
  group(Record::kStatistics, [&] {
    RecordWriter record(out, Record::kStatistics);
    std::map<std::uint16_t, std::uint64_t> counts;
    for (const Written& chunk : chunks_)
      for (const Written::Index& index : chunk.indexes) counts[index.channel] += index.messages;
    out.append_number(messages());
    out.append_number(static_cast<std::uint16_t>(schemas.size()));
    out.append_number(static_cast<std::uint32_t>(channels_.size()));
    out.append_number(std::uint32_t{0});  // attachments
    out.append_number(std::uint32_t{0});  // metadata
    out.append_number(static_cast<std::uint32_t>(chunks_.size()));
    out.append_number(first_ns());
    out.append_number(last_ns());
    append_map(out, counts);
    record.end();
  });
  group(Record::kChunkIndex, [&] {
    for (const Written& chunk : chunks_) {
      RecordWriter record(out, Record::kChunkIndex);
      out.append_number(chunk.first_ns);
      out.append_number(chunk.last_ns);
      out.append_number(chunk.at);
      out.append_number(chunk.bytes);
      std::map<std::uint16_t, std::uint64_t> places;
      for (const Written::Index& index : chunk.indexes) places[index.channel] = index.at;
      append_map(out, places);
      out.append_number(chunk.index_bytes);
      append_text(out, compression_name(chunk.compression));
      out.append_number(chunk.stored_bytes);
      out.append_number(chunk.records_bytes);
      record.end();
    }
  });
  const std::size_t offsets = out.size();
  for (const Group& each : groups) {
    RecordWriter record(out, Record::kSummaryOffset);
    out.append_number(static_cast<std::uint8_t>(each.kind));
    out.append_number(each.at);
    out.append_number(each.bytes);
    record.end();
  }
  RecordWriter footer(out, Record::kFooter);
  out.append_number(base + summary);
  out.append_number(base + offsets);
  // The checksum covers the summary, and the footer up to the checksum (specification, "Footer").
  footer.end(4);
  Crc32 sum;
  sum.add(out.copied_at(summary), out.size() - summary);
  out.append_number(sum.value());
  out.append(kMagic, sizeof kMagic);
  return out;
}

Result<std::map<std::uint16_t, std::uint64_t>> McapFile::finish() {
  std::map<std::uint16_t, std::uint64_t> taken_away;
  for (;;) {
    const Gathered end = summary();
    std::vector<os::FilePiece> pieces;
    add_pieces(end, pieces);
    const Result<void> written = file_.append(pieces);
    if (written) {
      if (const Result<void> closed = file_.close(); !closed) return closed.error();
      return taken_away;
    }
    if (written.error().code != Errc::limit_reached || chunks_.empty()) return written.error();
    const Written last = std::move(chunks_.back());
    chunks_.pop_back();
    for (const Written::Index& index : last.indexes) taken_away[index.channel] += index.messages;
    channels_.resize(last.channels);
    if (const Result<void> cut = file_.cut(last.at); !cut) return cut.error();
  }
}

}  // namespace baton::record
