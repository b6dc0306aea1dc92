// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <fstream>
#include <stdexcept>

namespace baton::perf {

RunPlan read_plan(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the plan " + path);
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    RunPlan plan;
    const auto get = [&](const char* key, auto& value) {
      if (json.contains(key)) json.at(key).get_to(value);
    };
    get("variant", plan.variant);
    get("directory", plan.directory);
    get("topic", plan.topic);
    get("message", plan.message);
    get("bytes", plan.bytes);
    get("varying", plan.varying);
    get("publishers", plan.publishers);
    get("subscribers", plan.subscribers);
    get("messages", plan.messages);
    get("rate", plan.rate);
    get("spin", plan.spin);
    get("read_all", plan.read_all);
    get("round_trip", plan.round_trip);
    get("echo", plan.echo);
    get("answer_s", plan.answer_s);
    get("one_process", plan.one_process);
    get("depth", plan.depth);
    get("reliable", plan.reliable);
    get("transient", plan.transient);
    get("priority", plan.priority);
    get("live", plan.live);
    get("own_publishers", plan.own_publishers);
    get("own_subscribers", plan.own_subscribers);
    get("max_runtime", plan.max_runtime);
    get("ignore", plan.ignore);
    get("expected_publishers", plan.expected_publishers);
    get("expected_subscribers", plan.expected_subscribers);
    get("matched_timeout", plan.matched_timeout);
    get("domain", plan.domain);
    get("settings", plan.settings);
    get("hosts", plan.hosts);
    if (!plan.hosts.empty() && plan.hosts.size() != 2) throw std::runtime_error("a plan has two hosts, or none");
    if (plan.bytes < kSmallestPayload) throw std::runtime_error("a payload has at least 64 bytes, for the time stamps");
    return plan;
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error("the plan " + path + ": " + e.what());
  }
}

nlohmann::json describe(const PeerInfo& info) {
  nlohmann::json out = {{"name", info.name},
                        {"version", info.version},
                        {"how", info.how},
                        {"variants", info.variants},
                        {"one_process_variants", info.one_process_variants},
                        {"polling_variants", info.polling_variants},
                        {"network_variants", info.network_variants},
                        {"can_spin", info.can_spin},
                        {"has_qos", info.has_qos},
                        {"most_subscribers", info.most_subscribers}};
  if (info.largest != SIZE_MAX) out["largest"] = info.largest;
  return out;
}

}  // namespace baton::perf
