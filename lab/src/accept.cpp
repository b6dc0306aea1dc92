// SPDX-License-Identifier: Apache-2.0
// `baton_accept`: the foundation's performance criteria, each with PASS or FAIL, ratio and spread.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include "accept.hpp"
#include "baton/os/process.hpp"

int main(int argc, char** argv) {
  using namespace baton::perf;
  AcceptOptions options;
  ChildOptions child;
  std::string child_role;
  std::vector<std::string> chosen;
  const std::map<std::string, std::function<bool(const AcceptOptions&)>> criteria = {
      {"size", accept_size}, {"wake", accept_wake}, {"fanout", accept_fanout}, {"scale", accept_scale}};
  std::vector<std::string> names;
  for (const auto& [name, run] : criteria) names.push_back(name);

  CLI::App app(
      "Baton's performance criteria. A criterion passes if the upper end of the 95 % interval of the median lies "
      "within its bar. Exit code 1 if one fails.");
  app.add_option("criterion", chosen, "size, wake, fanout, scale; default all")->check(CLI::IsMember(names));
  app.add_option("--rounds", options.rounds, "ratios per interval")
      ->capture_default_str()
      ->check(CLI::Range(6u, 1000u));
  app.add_option("--exchanges", options.exchanges, "messages per kind and round")
      ->capture_default_str()
      ->check(CLI::Range(5u, 100000u));
  app.add_flag(
      "--together", options.together,
      "size, wake, fanout: let the scheduler place the processes (default: the publisher has a CPU of its own)");
  app.add_option("--processes", options.processes, "scale: processes")
      ->capture_default_str()
      ->check(CLI::Range(2u, 2000u));
  app.add_option("--idle", options.idle_seconds, "scale: seconds of idling")->capture_default_str();
  // Options that the program passes to its own children; not for users.
  app.add_option("--child", child_role)->group("");
  app.add_option("--directory", child.directory)->group("");
  app.add_option("--parent", child.parent)->group("");
  app.add_option("--bare-fd", child.bare_fd)->group("");
  app.add_option("--index", child.index)->group("");
  app.add_option("--count", child.count)->group("");
  app.add_option("--messages", child.messages)->group("");
  app.add_option("--schedule", child.schedule)->group("");
  app.add_option("--cpus", child.cpus)->delimiter(',')->group("");
  bool sleep = false;
  app.add_flag("--spin", child.spin)->group("");
  app.add_flag("--sleep", sleep)->group("");
  CLI11_PARSE(app, argc, argv);

  try {
    if (!child_role.empty()) {
      child.role = child_role;
      if (!child.cpus.empty()) baton::os::stay_on_cpus(child.cpus).or_throw();
      if (child_role == "latency") return latency_child(child);
      if (child_role == "fanout") return fanout_child(child);
      return scale_child(child);
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-accept-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory can be made at " + pattern);
    options.directory = pattern;
    bool pass = true;
    for (const auto& [name, run] : criteria)
      if (chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end()) pass &= run(options);
    std::filesystem::remove_all(options.directory);
    return pass ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "baton_accept: %s\n", e.what());
    return 2;
  }
}
