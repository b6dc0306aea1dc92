// SPDX-License-Identifier: Apache-2.0
// How a node is made: from its options and the command line, with its services of parameters and its lines on /rosout.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baton/node/init.hpp"
#include "baton/node/node.hpp"
#include "logging.hpp"
#include "node_core.hpp"
#include "parameter_services.hpp"
#include "rosout.hpp"

namespace baton {
namespace detail {
namespace {

constexpr std::size_t kNodeNameMax = 255;

/// What applies to a node: its own arguments, and those of the process.
struct GivenArguments {
  explicit GivenArguments(const NodeOptions& options)
      : own(parse_arguments(options.arguments)),
        global(options.use_global_arguments ? arguments() : std::make_shared<const Arguments>()) {}
  /// The first one that matches counts.
  std::vector<Remapping> rules() const {
    std::vector<Remapping> all = own.remappings;
    all.insert(all.end(), global->remappings.begin(), global->remappings.end());
    return all;
  }
  /// The last one of a name counts.
  std::vector<ParameterAssignment> overrides(const std::string& node, const NodeOptions& options) const {
    std::vector<ParameterAssignment> all;
    for (const auto* some : {&global->parameters, &own.parameters})
      for (const ParameterAssignment& one : *some)
        if (one.applies_to(node)) {
          one.use->applied.store(true, std::memory_order_relaxed);
          all.push_back(one);
        }
    for (const Parameter& one : options.parameter_overrides)
      all.push_back({node, one.name(), one.value(), detail::kProgramsOwn});
    return all;
  }
  const Arguments own;
  const std::shared_ptr<const Arguments> global;
};

/// "/left/camera" -> "left.camera", as rcl_create_node_logger_name().
std::string logger_name(const std::string& fully_qualified) {
  std::string name = fully_qualified.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// ROS's rule, and names are shown in terminals and lists of every process of the domain.
void check_node_name(const std::string& name) {
  if (name.empty()) throw Exception({Errc::invalid_argument, "a node needs a name; got an empty one"});
  if (name.size() > kNodeNameMax)
    throw Exception({Errc::invalid_argument, "a node's name has " + std::to_string(kNodeNameMax) +
                                                 " characters at most; got " + std::to_string(name.size())});
  // Not shown: such characters would spoil the list that shows the error.
  const auto odd = std::find_if(name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; });
  if (odd != name.end())
    throw Exception({Errc::invalid_argument, "character " + std::to_string(odd - name.begin() + 1) +
                                                 " of a node's name is none of letters, digits and '_'"});
  if (name.find_first_of("/~") != std::string::npos)
    throw Exception(
        {Errc::invalid_argument,
         "'" + name +
             "' is no name of a node: it has no '/' and no '~'. A namespace is given beside the name, as in "
             "Node(\"camera\", \"left\"); \"~/image\" is a name for topics"});
  if (const std::string why = why_no_node_name(name); !why.empty())
    throw Exception({Errc::invalid_argument, "'" + name + "' " + why});
}

/// What the environment names is the user's choice.
[[noreturn]] void throw_of_join(const Error& error) {
  switch (error.code) {
    case Errc::no_runtime_directory:
    case Errc::foreign_runtime_directory:
    case Errc::invalid_argument:
      throw UsageError(Exception(error));
    default:
      throw Exception(error);
  }
}

}  // namespace
}  // namespace detail

Node::Node(std::string name, NodeOptions options) : core_(std::make_shared<detail::NodeCore>()) {
  detail::check_node_name(name);
  const detail::GivenArguments given(options);
  core_->names = detail::NodeNames(name, options.ns, given.rules());
  core_->parameters = std::make_shared<detail::ParameterStore>(fully_qualified_name(),
                                                               given.overrides(fully_qualified_name(), options));
  core_->parameters->on_first_declaration(
      [this] { core_->parameter_services = detail::serve_parameters(*this, core_->parameters); });
  transport::ParticipantOptions participant_options;
  participant_options.domain = options.domain;
  participant_options.runtime_directory = options.runtime_directory;
  core_->diagnostic_owner = options.on_diagnostic ? std::make_shared<char>() : detail::printer();
  if (options.on_diagnostic) {
    participant_options.on_diagnostic = [call = std::move(options.on_diagnostic)](const auto& diagnostic) {
      const detail::WithoutSink guard;  // the caller holds locks of the transport
      call(diagnostic);
    };
  } else {
    participant_options.on_diagnostic = detail::print_diagnostic;
  }
  participant_options.diagnostic_owner = core_->diagnostic_owner;
  auto joined = transport::Participant::join(participant_options);
  if (!joined) detail::throw_of_join(joined.error());
  core_->participant = std::move(*joined);
  core_->participant->add_node(core_->names.in_graph());
  if (options.enable_rosout && given.own.rosout.value_or(given.global->rosout.value_or(true)))
    core_->rosout = detail::make_rosout(core_->participant, resolve_topic_name("/rosout"), core_->names.in_graph());
  core_->logger = detail::LoggerCore::make(detail::logger_name(fully_qualified_name()), core_->rosout);
  detail::set_levels(given.own.log_levels, core_->logger->get_name());
}

}  // namespace baton
