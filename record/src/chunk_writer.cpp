// SPDX-License-Identifier: Apache-2.0
#include "chunk_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>

#include "baton/os/directory.hpp"
#include "baton/os/process.hpp"
#include "ros2_schema.hpp"

namespace baton::record {
namespace {

constexpr std::size_t kStackBytes = std::size_t{1} << 20;

/// Text in YAML's double quotes, which are JSON's.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\') {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string last_part(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = path.find_last_of('/', end);
  return path.substr(slash == std::string::npos ? 0 : slash + 1, end - slash);
}

std::string value_of(const McapChannel& channel, const std::string& name) {
  const auto found = channel.metadata.find(name);
  return found == channel.metadata.end() ? "" : found->second;
}

/// Without memory a recording ends as at a full disk.
template <class Step>
Result<void> attempt(Step&& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

}  // namespace

std::string metadata_yaml(const std::vector<BagFile>& files,
                          const std::vector<std::shared_ptr<const McapChannel>>& channels,
                          const std::map<std::uint16_t, std::uint64_t>& messages) {
  std::uint64_t first = 0, last = 0, count = 0;
  for (const BagFile& file : files) {
    if (file.messages == 0) continue;
    first = count == 0 ? file.first_ns : std::min(first, file.first_ns);
    last = std::max(last, file.last_ns);
    count += file.messages;
  }
  const auto times = [](std::uint64_t from, std::uint64_t to, const std::string& indent) {
    return indent + "starting_time:\n" + indent + "  nanoseconds_since_epoch: " + std::to_string(from) + "\n" + indent +
           "duration:\n" + indent + "  nanoseconds: " + std::to_string(to - from) + "\n";
  };
  std::string out = "rosbag2_bagfile_information:\n  version: 8\n  storage_identifier: mcap\n";
  out += times(first, last, "  ");
  out += "  message_count: " + std::to_string(count) + "\n";
  out += channels.empty() ? "  topics_with_message_count: []\n" : "  topics_with_message_count:\n";
  // The last channel of a topic mentions all that its publishers offered.
  std::map<std::string, std::pair<const McapChannel*, std::uint64_t>> topics;
  for (const auto& channel : channels) {
    const auto found = messages.find(channel->id);
    auto& [newest, sum] = topics[channel->topic];
    newest = channel.get();
    sum += found == messages.end() ? 0 : found->second;
  }
  for (const auto& [name, channel_and_count] : topics) {
    const auto& [channel, its_count] = channel_and_count;
    out += "    - topic_metadata:\n        name: " + quoted(name);
    out += "\n        type: " + quoted(channel->schema->name) + "\n        serialization_format: " + channel->encoding;
    out += "\n        offered_qos_profiles: " + quoted(value_of(*channel, "offered_qos_profiles"));
    out += "\n        type_description_hash: " + quoted(value_of(*channel, "topic_type_hash"));
    out += "\n      message_count: " + std::to_string(its_count) + "\n";
  }
  out += "  compression_format: \"\"\n  compression_mode: \"\"\n";
  out += files.empty() ? "  relative_file_paths: []\n  files: []\n" : "  relative_file_paths:\n";
  for (const BagFile& file : files) out += "    - " + quoted(file.name) + "\n";
  if (!files.empty()) out += "  files:\n";
  for (const BagFile& file : files) {
    out += "    - path: " + quoted(file.name) + "\n" + times(file.first_ns, file.last_ns, "      ");
    out += "      message_count: " + std::to_string(file.messages) + "\n";
  }
  return out + "  custom_data: ~\n  ros_distro: \"\"\n";
}

Result<std::unique_ptr<ChunkWriter>> ChunkWriter::start(const Options& options) {
  constexpr std::uint32_t kMode = 0755;
  if (const int failed = os::make_directory(-1, options.directory, kMode); failed != 0) {
    if (failed == EEXIST)
      return Error{Errc::already_exists,
                   "'" + options.directory + "' exists already; a bag is written to a new folder"};
    Error error = os::system_error("the folder '" + options.directory + "' cannot be made", failed);
    error.message += "; choose another folder";
    return error;
  }
  std::unique_ptr<ChunkWriter> writer(new ChunkWriter(options));
  if (options.kept_ns == 0) {
    if (const Result<void> opened = writer->open_file(); !opened) {
      std::error_code ignored;
      std::filesystem::remove(options.directory, ignored);  // the next try may use the same name
      return opened.error();
    }
  }
  Result<pthread_t> thread = os::start_thread("baton-rec-write", kStackBytes, [made = writer.get()] { made->work(); });
  if (!thread) return thread.error();
  writer->thread_ = *thread;
  for (unsigned i = 0; options.compression != Compression::kNone && i < options.compressors; ++i) {
    thread = os::start_thread("baton-rec-press", kStackBytes, [made = writer.get()] { made->work_compressing(); });
    if (!thread) return thread.error();  // the other compressors end with the writer
    writer->compressors_.push_back(*thread);
  }
  return Result<std::unique_ptr<ChunkWriter>>(std::move(writer));
}

ChunkWriter::~ChunkWriter() { finish(); }

void ChunkWriter::push(std::unique_ptr<McapChunk> chunk, bool new_file) {
  const os::Lock lock(mutex_);
  const std::uint64_t bytes = chunk->bytes();
  progress_.queued_bytes += bytes;
  ++progress_.queued_chunks;
  const bool is_ready = options_.compression == Compression::kNone;
  queue_.push_back({std::move(chunk), new_file, bytes, is_ready});
  if (!is_ready) raw_.push_back(&queue_.back());
  changed_.notify_all();
}

void ChunkWriter::snapshot() {
  const os::Lock lock(mutex_);
  queue_.push_back({nullptr, true, 0, true});
  changed_.notify_all();
}

bool ChunkWriter::wait_for_room(std::uint64_t bytes, std::chrono::nanoseconds most) {
  os::UniqueLock lock(mutex_);
  return changed_.wait_for(lock.standard(), most, [&]() BATON_REQUIRES(mutex_) {
    return progress_.queued_bytes == 0 || progress_.queued_bytes < bytes;
  });
}

void ChunkWriter::fail(const Error& why) {
  const os::Lock lock(mutex_);
  if (!progress_.failure) progress_.failure = why;
}

void ChunkWriter::finish() {
  {
    const os::Lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_) pthread_join(*thread_, nullptr);
  thread_.reset();
  for (const pthread_t compressor : compressors_) pthread_join(compressor, nullptr);
  compressors_.clear();
}

ChunkWriter::Progress ChunkWriter::progress() const {
  const Result<std::uint64_t> free = os::free_bytes_at(options_.directory);
  const os::Lock lock(mutex_);
  Progress out = progress_;
  out.free_bytes = free ? *free : 0;
  return out;
}

void ChunkWriter::work() {
  bool failed = false;
  const auto fail = [&](const Result<void>& done) {
    if (done || failed) return;
    failed = true;
    const os::Lock lock(mutex_);
    progress_.failure = done.error();
  };
  for (;;) {
    Queued next;
    {
      os::UniqueLock lock(mutex_);
      changed_.wait(lock.standard(),
                    [&]() BATON_REQUIRES(mutex_) { return queue_.empty() ? ends_ : queue_.front().is_ready; });
      if (queue_.empty()) break;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    if (!next.chunk) {
      if (!failed) fail(attempt([&] { return write_kept(); }));
      continue;
    }
    std::map<std::uint16_t, std::uint64_t> lost;
    if (!failed && options_.kept_ns != 0) {
      fail(attempt([&] {
        keep(next.chunk);
        return Result<void>{};
      }));
    } else if (!failed) {
      if (next.new_file) fail(attempt([&] { return begin_file(); }));
      if (!failed) fail(attempt([&] { return write(*next.chunk); }));
      if (failed) fail(attempt([&] { return end_file(); }));  // readers see the chunks so far at once
    }
    if (failed && next.chunk) lost = next.chunk->messages_of_channels();
    next.chunk.reset();  // releases the samples
    const os::Lock lock(mutex_);
    progress_.queued_bytes -= next.bytes;
    --progress_.queued_chunks;
    progress_.kept_bytes = kept_bytes_;
    for (const auto& [channel, count] : lost) progress_.lost[channel] += count;
    changed_.notify_all();
  }
  fail(attempt([&] { return end_file(); }));
  fail(attempt([&] { return write_metadata(); }));
}

void ChunkWriter::work_compressing() {
  for (;;) {
    Queued* next = nullptr;
    {
      os::UniqueLock lock(mutex_);
      changed_.wait(lock.standard(), [&]() BATON_REQUIRES(mutex_) { return ends_ || !raw_.empty(); });
      if (raw_.empty()) return;
      next = raw_.front();
      raw_.pop_front();
    }
    // A chunk that cannot be compressed is written as it is.
    const Result<void> ignored = next->chunk->compress(options_.compression, options_.with_crc);
    static_cast<void>(ignored);
    const os::Lock lock(mutex_);
    next->is_ready = true;
    changed_.notify_all();
  }
}

/// Copies a chunk, which may then wait for long, and forgets the oldest ones.
void ChunkWriter::keep(std::unique_ptr<McapChunk>& chunk) {
  if (options_.compression == Compression::kNone) chunk->own();
  const std::uint64_t last_ns = chunk->last_ns(), bytes = chunk->bytes();
  kept_.push_back(std::move(chunk));
  kept_bytes_ += bytes;
  while (!kept_.empty() &&
         (kept_bytes_ > options_.most_kept_bytes || kept_.front()->last_ns() + options_.kept_ns < last_ns)) {
    kept_bytes_ -= kept_.front()->bytes();
    kept_.pop_front();
  }
}

Result<void> ChunkWriter::write_kept() {
  Result<void> done = begin_file();
  for (; done && !kept_.empty(); kept_.pop_front())
    if (done = write(*kept_.front()); !done) break;
  std::map<std::uint16_t, std::uint64_t> lost;
  for (; !kept_.empty(); kept_.pop_front())
    for (const auto& [channel, count] : kept_.front()->messages_of_channels()) lost[channel] += count;
  kept_bytes_ = 0;
  if (Result<void> ended = end_file(); done) done = ended;
  if (Result<void> noted = write_metadata(); done) done = noted;
  const os::Lock lock(mutex_);
  for (const auto& [channel, count] : lost) progress_.lost[channel] += count;
  progress_.kept_bytes = 0;
  progress_.snapshots += done ? 1 : 0;
  return done;
}

Result<void> ChunkWriter::write(const McapChunk& chunk) {
  const std::uint64_t before = file_->size(), direct = file_->direct_bytes();
  if (const Result<void> written = file_->write(chunk, options_.with_crc); !written) return written;
  for (const auto& channel : chunk.introduced())
    if (std::find(channels_.begin(), channels_.end(), channel) == channels_.end()) channels_.push_back(channel);
  const os::Lock lock(mutex_);
  progress_.written_bytes += file_->size() - before;
  progress_.records_bytes += file_->size() - before - chunk.bytes() + chunk.records_bytes();
  progress_.direct_bytes += file_->direct_bytes() - direct;
  progress_.written_messages += chunk.messages();
  for (const auto& [channel, count] : chunk.messages_of_channels()) progress_.written[channel] += count;
  return {};
}

Result<void> ChunkWriter::begin_file() {
  if (file_) {
    if (const Result<void> ended = end_file(); !ended) return ended;
    if (const Result<void> noted = write_metadata(); !noted) return noted;
  }
  return open_file();
}

Result<void> ChunkWriter::open_file() {
  BagFile file;
  file.name = last_part(options_.directory) + "_" + std::to_string(files_.size()) + ".mcap";
  Result<std::unique_ptr<McapFile>> made =
      McapFile::create(options_.directory + "/" + file.name, options_.writer, options_.direct);
  if (!made) return made.error();
  file_ = std::move(*made);
  files_.push_back(file);
  const os::Lock lock(mutex_);
  progress_.files = files_.size();
  return {};
}

Result<void> ChunkWriter::end_file() {
  if (!file_) return {};
  const Result<std::map<std::uint16_t, std::uint64_t>> taken_away = file_->finish();
  BagFile& file = files_.back();
  file.first_ns = file_->first_ns();
  file.last_ns = file_->last_ns();
  file.messages = file_->messages();
  file_.reset();
  if (!taken_away) return taken_away.error();
  if (taken_away->empty()) return {};
  const os::Lock lock(mutex_);
  for (const auto& [channel, count] : *taken_away) {
    progress_.written[channel] -= count;
    progress_.lost[channel] += count;
    progress_.written_messages -= count;
  }
  return Error{Errc::limit_reached, "the file '" + file.name + "' ends early: there was no room for its summary"};
}

Result<void> ChunkWriter::write_metadata() {
  std::map<std::uint16_t, std::uint64_t> written;
  {
    const os::Lock lock(mutex_);
    written = progress_.written;
  }
  const os::OpenedDirectory directory = os::open_directory(-1, options_.directory);
  if (!directory.fd) return os::system_error("open of '" + options_.directory + "'", directory.error_number);
  return os::replace_file_at(directory.fd.get(), "metadata.yaml", metadata_yaml(files_, channels_, written), 0644, ~0U);
}

}  // namespace baton::record
