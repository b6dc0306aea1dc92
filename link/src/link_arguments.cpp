// SPDX-License-Identifier: Apache-2.0
#include "link_arguments.hpp"

#include <getopt.h>

#include <charconv>
#include <cstring>
#include <string>

#include "baton/transport/runtime_directory.hpp"

namespace baton::link {
namespace {

constexpr int kMostPort = 65535;
constexpr int kMostAbsenceSeconds = 86400;
constexpr int kMostAbsenceMebibytes = 1 << 20;

enum OptionName : int {
  kPeer = 256,
  kInterface,
  kPort,
  kDomain,
  kHostName,
  kNoMulticast,
  kSecurity,
  kPriority,
  kAbsenceTime,
  kAbsenceBytes,
  kRos2,  // gone
  kHelp
};

const option kOptions[] = {
    {"peer", required_argument, nullptr, kPeer},
    {"interface", required_argument, nullptr, kInterface},
    {"port", required_argument, nullptr, kPort},
    {"domain", required_argument, nullptr, kDomain},
    {"host-name", required_argument, nullptr, kHostName},
    {"no-multicast", no_argument, nullptr, kNoMulticast},
    {"security", required_argument, nullptr, kSecurity},
    {"priority", required_argument, nullptr, kPriority},
    {"absence-time", required_argument, nullptr, kAbsenceTime},
    {"absence-mib", required_argument, nullptr, kAbsenceBytes},
    {"ros2", no_argument, nullptr, kRos2},
    {"ros2-domain", required_argument, nullptr, kRos2},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

Result<int> number(const char* name, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return Error{Errc::invalid_argument, std::string(name) + " is a number from " + std::to_string(least) + " to " +
                                             std::to_string(most) + ", not '" + text + "'"};
  }
  return value;
}

Result<std::string> word(const char* name, const std::string& text) {
  if (text.empty()) return Error{Errc::invalid_argument, std::string(name) + " has an empty value"};
  return text;
}

/// One option with its value.
Result<void> take(int name, const std::string& value, LinkArguments& out) {
  switch (name) {
    case kPeer: {
      Result<std::string> peer = word("--peer", value);
      if (!peer) return peer.error();
      out.options.peers.push_back(std::move(*peer));
      return {};
    }
    case kInterface: {
      Result<std::string> interface = word("--interface", value);
      if (!interface) return interface.error();
      out.options.interface = std::move(*interface);
      return {};
    }
    case kHostName: {
      Result<std::string> host = word("--host-name", value);
      if (!host) return host.error();
      out.options.host_name = std::move(*host);
      return {};
    }
    case kSecurity: {
      Result<std::string> directory = word("--security", value);
      if (!directory) return directory.error();
      out.options.security = std::move(*directory);
      return {};
    }
    case kPriority: {
      // A topic's name has no '='.
      const std::size_t at = value.rfind('=');
      const std::string topic = value.substr(0, at), priority = at == std::string::npos ? "" : value.substr(at + 1);
      if (topic.empty() || (priority != "high" && priority != "low")) {
        return Error{Errc::invalid_argument, "--priority is TOPIC=high or TOPIC=low, not '" + value + "'"};
      }
      out.options.priorities[topic] = priority == "high" ? TopicPriority::kHigh : TopicPriority::kLow;
      return {};
    }
    case kAbsenceTime: {
      const Result<int> seconds = number("--absence-time", value, 1, kMostAbsenceSeconds);
      if (!seconds) return seconds.error();
      out.options.absence.time = std::chrono::seconds(*seconds);
      return {};
    }
    case kAbsenceBytes: {
      const Result<int> mebibytes = number("--absence-mib", value, 1, kMostAbsenceMebibytes);
      if (!mebibytes) return mebibytes.error();
      out.options.absence.bytes = static_cast<std::size_t>(*mebibytes) << 20;
      return {};
    }
    case kPort: {
      const Result<int> port = number("--port", value, 1, kMostPort);
      if (!port) return port.error();
      out.options.port = static_cast<std::uint16_t>(*port);
      return {};
    }
    case kDomain: {
      const Result<int> domain = number("--domain", value, 0, transport::kMaxDomain);
      if (!domain) return domain.error();
      out.options.domain = *domain;
      return {};
    }
    case kRos2:
      return Error{Errc::invalid_argument,
                   "the link does not join ROS 2 nodes any more, so it has no --ros2: run `baton bridge` beside it"};
    case kNoMulticast:
      out.options.multicast = false;
      return {};
    default:
      out.help = true;
      return {};
  }
}

}  // namespace

const char* const kUsage =
    "Usage: baton_link [OPTION]...\n"
    "Connects the topics of this host's domain to those of other hosts, until a signal ends it.\n"
    "\n"
    "  --peer HOST[:PORT]  another host, where multicast does not find it; may be repeated. One of two is enough\n"
    "  --no-multicast      do not look for the hosts of the network, and do not say that this one is there\n"
    "  --interface NAME    network interface to use, its name or address; default: all\n"
    "  --port N            TCP port on which this host listens; default: 22700 + domain\n"
    "  --domain N          default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0\n"
    "  --host-name NAME    by which the other hosts know this one; default: the machine's name\n"
    "  --security DIR      encrypt, and connect only to hosts with a certificate of one CA: an enclave of SROS 2, "
    "with\n"
    "                      cert.pem, key.pem and identity_ca.cert.pem\n"
    "  --priority TOPIC=high|low\n"
    "                      by which of the two connections to other hosts a topic goes; default: by the size of its\n"
    "                      messages. May be repeated\n"
    "  --absence-time S    seconds for which a host that is not reached is remembered; default: 60\n"
    "  --absence-mib N     MiB that may wait for it meanwhile; default: 256\n"
    "  --help              print this\n";

Result<LinkArguments> read_arguments(int argc, char** argv) {
  LinkArguments out;
  optind = 0;  // getopt(3): begin anew
  for (;;) {
    const int at = optind == 0 ? 1 : optind;
    // "+": words that are no options end the search. ":": nothing is printed, and a missing value differs from an unknown option.
    const int name = getopt_long(argc, argv, "+:", kOptions, nullptr);
    if (name == -1) break;
    const std::string given = at < argc ? argv[at] : "";
    if (name == ':') return Error{Errc::invalid_argument, given + " needs a value; see --help"};
    if (name == '?') return Error{Errc::invalid_argument, "unknown option '" + given + "'; see --help"};
    if (Result<void> taken = take(name, optarg == nullptr ? "" : optarg, out); !taken) return taken.error();
  }
  if (optind < argc) {
    return Error{Errc::invalid_argument,
                 "'" + std::string(argv[optind]) + "' is no option; another host is named by --peer HOST; see --help"};
  }
  return out;
}

}  // namespace baton::link
