// SPDX-License-Identifier: Apache-2.0
#include "progress_json.hpp"

#include <cstdio>

namespace baton::record {
namespace {

std::string text(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte > '~' || c == '"' || c == '\\') {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(const char* name, std::uint64_t value) { return text(name) + ": " + std::to_string(value); }

}  // namespace

std::string progress_json(const Progress& progress, std::uint64_t commands, bool last) {
  std::string out = "{\"last\": " + std::string(last ? "true" : "false");
  out += ", " + number("commands", commands);
  out += ", \"paused\": " + std::string(progress.paused ? "true" : "false");
  out += ", " + number("files", progress.writer.files);
  out += ", " + number("written_bytes", progress.writer.written_bytes);
  out += ", " + number("records_bytes", progress.writer.records_bytes);
  out += ", " + number("direct_bytes", progress.writer.direct_bytes);
  out += ", " + number("written_messages", progress.writer.written_messages);
  out += ", " + number("kept_bytes", progress.writer.kept_bytes);
  out += ", " + number("snapshots", progress.writer.snapshots);
  out += ", " + number("queued_chunks", progress.writer.queued_chunks);
  out += ", " + number("queued_bytes", progress.writer.queued_bytes);
  out += ", " + number("free_bytes", progress.writer.free_bytes);
  out += ", \"failure\": " + (progress.writer.failure ? text(progress.writer.failure->message) : "null");
  out += ", \"topics\": [";
  for (const TopicProgress& topic : progress.topics) {
    if (&topic != &progress.topics.front()) out += ", ";
    const Missing& missing = topic.missing;
    out += "{\"topic\": " + text(topic.topic) + ", \"type\": " + text(topic.type) + ", " +
           number("messages", topic.messages) + ", " + number("bytes", topic.bytes) + ", \"missing\": {" +
           number("queue", missing.queue) + ", " + number("held", missing.held) + ", " +
           number("budget", missing.budget) + ", " + number("disk", missing.disk) + ", " +
           number("malformed", missing.malformed) + ", " + number("interrupted", missing.interrupted) + ", " +
           number("memory", missing.memory) + ", " + number("expired", missing.expired) + "}}";
  }
  out += "], \"notes\": [";
  for (const std::string& note : progress.notes) {
    if (&note != &progress.notes.front()) out += ", ";
    out += text(note);
  }
  return out + "]}";
}

}  // namespace baton::record
