// SPDX-License-Identifier: Apache-2.0
#include "ros2/cyclone_log.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace baton::link::ros2 {
namespace {

constexpr std::size_t kGuidWords = 4;
constexpr const char* kParticipantEntity = "000001c1";

/// The GUID of the participant whose entity is at `at`, "1104a1b:2c3:d4e5f607:1c1" (PGUIDFMT of Cyclone), as 32 digits; empty: there is none.
std::string participant_at(const std::string& line, std::size_t at) {
  std::string out;
  const char* text = line.c_str() + at;
  for (std::size_t word = 0; word < kGuidWords; ++word) {
    if (word > 0 && *text++ != ':') return {};
    char* end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 16);
    if (end == text || end - text > 8) return {};
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", static_cast<std::uint32_t>(value));
    out += word + 1 < kGuidWords ? digits.data() : kParticipantEntity;
    text = end;
  }
  return out;
}

/// Without the number that Cyclone appends, "(code: 200)".
std::string reason_at(const std::string& line, std::size_t at) {
  std::string reason = line.substr(at);
  if (const std::size_t code = reason.rfind("(code: "); code != std::string::npos && reason.back() == ')')
    reason.resize(code);
  return reason;
}

/// "/CN=\/viewer" of "...; subject: /CN=\/viewer".
std::string subject_in(const std::string& reason) {
  constexpr const char* kSubject = "subject: ";
  const std::size_t at = reason.find(kSubject);
  if (at == std::string::npos) return {};
  std::string out;
  for (const char c : reason.substr(at + std::char_traits<char>::length(kSubject))) {
    if (c != '\\') out += c;
  }
  return out;
}

/// Lines that name the participant, or an endpoint of it, behind these words. If a colon follows, the reason stands behind it.
struct RefusalPhrase {
  const char *words, *why;
  bool only_error = false;  ///< a warning with this text is no refusal
};
constexpr RefusalPhrase kNamed[] = {
    {"Non secure remote writer ", "it has no security"},
    {"Non secure remote reader ", "it has no security"},
    {"Remote secure participant ", "its security differs from this host's"},
    {"Plugin does not allow remote participant ", "its permissions.p7s or governance.p7s is refused"},
    {"Could not get remote participant ", "its permissions.p7s is refused", true},
    {"validate remote identity failed: remote participant (", "it shows no certificate"},
};
constexpr const char* kUnnamed[] = {"Validate remote identity failed: ", "Begin handshake request failed: ",
                                    "Begin handshake reply failed: ", "Process handshake failed: "};

}  // namespace

std::optional<RefusedState> refused_participant(const std::string& line, bool is_error) {
  RefusedState out;
  if (const std::size_t at = line.find(" rguid="); line.rfind("handshake (lguid=", 0) == 0 && at != std::string::npos) {
    const std::size_t result = line.find(") failed: ", at);
    out.participant = participant_at(line, at + std::char_traits<char>::length(" rguid="));
    if (result == std::string::npos || out.participant.empty()) return std::nullopt;
    out.why = line.find("Timed out", result) != std::string::npos
                  ? "it does not finish the handshake; its own log may say why"
                  : "the handshake with it has failed";
    return out;
  }
  for (const RefusalPhrase& each : kNamed) {
    if (line.rfind(each.words, 0) != 0 || (each.only_error && !is_error)) continue;
    const std::size_t at = std::char_traits<char>::length(each.words);
    out.participant = participant_at(line, at);
    if (out.participant.empty()) return std::nullopt;
    out.why = each.why;
    if (const std::size_t colon = line.find(": ", at); colon != std::string::npos && colon + 2 < line.size()) {
      const std::string reason = reason_at(line, colon + 2);
      if (!reason.empty()) out.why += ": " + reason;
    }
    return out;
  }
  for (const char* const words : kUnnamed) {
    if (line.rfind(words, 0) != 0) continue;
    out.why = reason_at(line, std::char_traits<char>::length(words));
    out.name = subject_in(out.why);
    if (out.why.empty()) out.why = "the handshake with it has failed";
    return out;
  }
  return std::nullopt;
}

}  // namespace baton::link::ros2
