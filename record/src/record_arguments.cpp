// SPDX-License-Identifier: Apache-2.0
#include "record_arguments.hpp"

#include <getopt.h>

#include <charconv>
#include <string>

#include "baton/transport/runtime_directory.hpp"

namespace baton::record {
namespace {

enum OptionName : int {
  kOutput = 256,
  kAll,
  kAllServices,
  kRegex,
  kType,
  kExclude,
  kMaxSize,
  kMaxDuration,
  kMaxQueue,
  kChunkSize,
  kCompression,
  kSnapshot,
  kDomain,
  kOfNode,
  kCrc,
  kDirect,
  kRawSfm,
  kPaused,
  kInterval,
  kHelp
};

const option kOptions[] = {
    {"output", required_argument, nullptr, kOutput},
    {"all", no_argument, nullptr, kAll},
    {"all-services", no_argument, nullptr, kAllServices},
    {"regex", required_argument, nullptr, kRegex},
    {"type", required_argument, nullptr, kType},
    {"exclude", required_argument, nullptr, kExclude},
    {"max-size", required_argument, nullptr, kMaxSize},
    {"max-duration", required_argument, nullptr, kMaxDuration},
    {"max-queue", required_argument, nullptr, kMaxQueue},
    {"chunk-size", required_argument, nullptr, kChunkSize},
    {"compression", required_argument, nullptr, kCompression},
    {"snapshot", required_argument, nullptr, kSnapshot},
    {"domain", required_argument, nullptr, kDomain},
    {"of-node", required_argument, nullptr, kOfNode},
    {"crc", no_argument, nullptr, kCrc},
    {"direct", no_argument, nullptr, kDirect},
    {"raw-sfm", no_argument, nullptr, kRawSfm},
    {"paused", no_argument, nullptr, kPaused},
    {"interval", required_argument, nullptr, kInterval},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

Result<std::uint64_t> number(const std::string& name, const std::string& text, std::uint64_t least,
                             std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return Error{Errc::invalid_argument, name + " is a number from " + std::to_string(least) + " to " +
                                             std::to_string(most) + ", not '" + text + "'"};
  return value;
}

/// One option with its value.
Result<void> take(int name, const std::string& value, RecordArguments& out) {
  RecorderOptions& options = out.options;
  const auto read = [&](const char* option_name, std::uint64_t least, std::uint64_t most, auto& to) -> Result<void> {
    const Result<std::uint64_t> got = number(option_name, value, least, most);
    if (!got) return got.error();
    to = static_cast<std::decay_t<decltype(to)>>(*got);
    return {};
  };
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  switch (name) {
    case kOutput:
      options.directory = value;
      return {};
    case kAll:
      options.selection.all = true;
      return {};
    case kAllServices:
      options.selection.all_services = true;
      return {};
    case kRegex:
      options.selection.patterns.push_back(value);
      return {};
    case kType:
      options.selection.types.push_back(value);
      return {};
    case kExclude:
      options.selection.excluded.push_back(value);
      return {};
    case kMaxSize:
      return read("--max-size", 0, kMost, options.most_file_bytes);
    case kMaxDuration:
      return read("--max-duration", 0, kMost, options.most_file_ns);
    case kMaxQueue:
      return read("--max-queue", 0, kMost, options.most_queued_bytes);
    case kChunkSize:
      return read("--chunk-size", 0, kMost, options.chunk_bytes);
    case kCompression: {
      const Result<Compression> compression = compression_of(value);
      if (!compression) return compression.error();
      options.compression = *compression;
      return {};
    }
    case kSnapshot:
      return read("--snapshot", 1, kMost, options.snapshot_ns);
    case kDomain:
      return read("--domain", 0, transport::kMaxDomain, options.domain);
    case kOfNode:
      options.node = value;
      options.announces_node = false;
      return {};
    case kInterval: {
      std::uint64_t ms = 0;
      Result<void> got = read("--interval", 1, 1'000'000, ms);
      out.interval = std::chrono::milliseconds(ms);
      return got;
    }
    case kCrc:
      options.with_crc = true;
      return {};
    case kDirect:
      options.direct = true;
      return {};
    case kRawSfm:
      options.as_they_lie = true;
      return {};
    case kPaused:
      options.paused = true;
      return {};
    default:
      out.help = true;
      return {};
  }
}

}  // namespace

const char* const kUsage =
    "Usage: baton_record --output DIR [OPTION]... [TOPIC]...\n"
    "Records topics of this host's domain, until a signal ends it. `baton record` is the command for people.\n"
    "\n"
    "  --output DIR       folder of the bag, which is made\n"
    "  --all              all topics but hidden ones\n"
    "  --all-services     events of calls, of services that publish them (NAME/_service_event)\n"
    "  --regex RE         topics with such a name; may be repeated, as the next two\n"
    "  --type TYPE        topics of this type\n"
    "  --exclude RE       none of these topics\n"
    "  --max-size N       another file begins after so many bytes\n"
    "  --max-duration N   another file begins after so many nanoseconds\n"
    "  --max-queue N      bytes that wait for the disk at most; default: 536870912\n"
    "  --chunk-size N     bytes after which a chunk is written; default: 2097152\n"
    "  --compression NAME none, zstd or lz4; default: none\n"
    "  --snapshot N       keep the last N nanoseconds in memory, --max-queue bytes at most, until the command "
    "\"snapshot\"\n"
    "  --domain N         default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0\n"
    "  --of-node NAME     the subscriptions are of this node, which another process announces; default: a node "
    "baton_record\n"
    "  --crc              checksums\n"
    "  --direct           large arrays go from their memory to the disk, past the page cache (O_DIRECT)\n"
    "  --raw-sfm          messages as they lie in memory (encoding baton_sfm), not as CDR\n"
    "  --paused           record nothing before the command \"resume\"\n"
    "  --interval N       milliseconds between two states; default: 1000\n"
    "  --help             print this\n"
    "\n"
    "Commands are lines of the standard input: pause, resume, split, snapshot, stop. Its end is a stop.\n";

Result<RecordArguments> read_arguments(int argc, char** argv) {
  RecordArguments out;
  optind = 0;  // getopt(3): begin anew
  for (;;) {
    // ":": nothing is printed, and a missing value differs from an unknown option. Topics may stand between options.
    const int name = getopt_long(argc, argv, ":", kOptions, nullptr);
    if (name == -1) break;
    const std::string given = argv[optind - 1];
    if (name == ':') return Error{Errc::invalid_argument, given + " needs a value; see --help"};
    if (name == '?') return Error{Errc::invalid_argument, "unknown option '" + given + "'; see --help"};
    if (const Result<void> taken = take(name, optarg == nullptr ? "" : optarg, out); !taken) return taken.error();
  }
  for (; optind < argc; ++optind) out.options.selection.topics.emplace_back(argv[optind]);
  if (!out.help && out.options.directory.empty())
    return Error{Errc::invalid_argument, "--output DIR is missing; see --help"};
  if (out.options.direct && (out.options.compression != Compression::kNone || out.options.snapshot_ns != 0))
    return Error{Errc::invalid_argument,
                 "--direct writes messages from where they lie: without --compression and --snapshot"};
  return out;
}

}  // namespace baton::record
