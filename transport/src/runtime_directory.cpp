// SPDX-License-Identifier: Apache-2.0
#include "baton/transport/runtime_directory.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "baton/os/process.hpp"

namespace baton::transport {
namespace {

const char* lookup(const DirectoryOptions& options, const char* name) {
  const char* value = options.environment ? options.environment(name) : std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

std::string octal(std::uint32_t mode) {
  char text[16];
  (void)std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode));
  return text;
}

std::string reason_of(int error_number) { return std::system_category().message(error_number); }

// The directory belongs to its owner alone, or to a group. Its permissions are the only access control, so permissions
// that keep no user out are refused.
Result<void> check(const std::string& path, const os::DirectoryInfo& info) {
  const std::string network = os::network_file_system(info.file_system);
  if (!network.empty()) {
    return Error{Errc::foreign_runtime_directory,
                 "'" + path + "' lies on a network or user-space file system (" + network +
                     "), where sockets of different machines would mix; set BATON_RUNTIME_DIR to a local directory"};
  }
  if (info.everybody_may_write()) {
    return Error{Errc::foreign_runtime_directory,
                 "'" + path + "' is writable by all users (mode " + octal(info.mode) +
                     "); its permissions are Baton's access control: chmod it to 0700, or 2770 "
                     "to share it with its group"};
  }
  const bool shared = info.group_may_write();
  if (info.uid == os::effective_user_id()) return {};
  if (shared && os::in_group(info.gid)) return {};
  return Error{
      Errc::foreign_runtime_directory,
      "'" + path + "' belongs to user " + std::to_string(info.uid) + ", this process runs as user " +
          std::to_string(os::effective_user_id()) +
          (shared ? " and is not in its group " + std::to_string(info.gid) : "") +
          "; to share a directory between users give it a common group and mode 2770, else set BATON_RUNTIME_DIR to "
          "one of your own"};
}

Result<os::OpenedDirectory> open_checked(int parent, const std::string& name, const std::string& path,
                                         const DirectoryOptions& options) {
  os::OpenedDirectory directory = options.open(parent, name);
  switch (directory.error_number) {
    case 0:
      break;
    case EMFILE:
    case ENFILE:
      return os::system_error("open '" + path + "'", directory.error_number);
    case ELOOP:
      return Error{
          Errc::foreign_runtime_directory,
          "'" + path + "' is a symbolic link, which is not followed; set BATON_RUNTIME_DIR to the directory itself"};
    default:
      return Error{Errc::no_runtime_directory,
                   "cannot open '" + path + "': " + reason_of(directory.error_number) +
                       "; make it, or set BATON_RUNTIME_DIR to a local directory of your own"};
  }
  if (auto checked = check(path, directory.info); !checked) return checked.error();
  return directory;
}

// Makes the last component only: a mistyped path must be an error and not a new tree.
Result<os::OpenedDirectory> make_and_open(const std::string& path, const DirectoryOptions& options) {
  const int failed = os::make_directory(-1, path, 0700);
  if (failed != 0 && failed != EEXIST) {
    return Error{Errc::no_runtime_directory, "cannot make '" + path + "': " + reason_of(failed) +
                                                 "; set BATON_RUNTIME_DIR to a local directory of your own"};
  }
  return open_checked(-1, path, path, options);
}

// The defaults, best first. All processes of a user must come to the same answer, so the defaults do not depend on a
// session's environment. $XDG_RUNTIME_DIR is not among them: it vanishes at logout, while the robot's services still
// run.
std::vector<std::string> default_directories() {
  const std::string user = std::to_string(os::effective_user_id());
  // /run: gone after a reboot, never cleaned, made by root or by an administrator (tmpfiles.d) for a user.
  std::vector<std::string> places{"/run/baton-" + user};
  const std::string home = os::home_directory();
  if (!home.empty() && home != "/") {
    // The place for state that outlives a session. Its parents may be missing in a fresh home, but the home itself is
    // never made.
    for (const char* parent : {"/.local", "/.local/state"}) (void)os::make_directory(-1, home + parent, 0700);
    places.push_back(home + "/.local/state/baton");
  }
  // Cleaned after 30 days, but not while a process holds it (mark_in_use).
  places.push_back("/var/tmp/baton-" + user);
  return places;
}

Result<os::OpenedDirectory> open_runtime(std::string& path, const DirectoryOptions& options) {
  path = options.runtime_directory;
  if (path.empty()) {
    if (const char* named = lookup(options, "BATON_RUNTIME_DIR")) path = named;
  }
  if (!path.empty()) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.front() != '/') {
      return Error{Errc::no_runtime_directory,
                   "BATON_RUNTIME_DIR is '" + path +
                       "'; it must be an absolute path, or processes started elsewhere never meet"};
    }
    return make_and_open(path, options);
  }
  std::string tried;
  for (const std::string& place : default_directories()) {
    auto directory = make_and_open(place, options);
    if (directory || directory.error().code == Errc::out_of_descriptors) {
      path = place;
      return directory;
    }
    tried += (tried.empty() ? "" : "; ") + directory.error().message;
  }
  return Error{Errc::no_runtime_directory, "no default runtime directory is usable (" + tried + ")"};
}

}  // namespace

Result<int> resolve_domain(int wanted, const DirectoryOptions& options) {
  if (wanted >= 0) {
    if (wanted <= kMaxDomain) return wanted;
    return Error{Errc::invalid_argument,
                 "domain " + std::to_string(wanted) + " is not in 0.." + std::to_string(kMaxDomain)};
  }
  if (wanted != -1) return Error{Errc::invalid_argument, "domain " + std::to_string(wanted) + " is negative"};
  for (const char* variable : {"BATON_DOMAIN", "ROS_DOMAIN_ID"}) {
    const char* text = lookup(options, variable);
    if (text == nullptr) continue;
    int value = 0;
    const char* at = text;
    for (; *at >= '0' && *at <= '9' && value <= kMaxDomain; ++at) value = value * 10 + (*at - '0');
    if (*at != '\0' || value > kMaxDomain) {
      return Error{Errc::invalid_argument, std::string(variable) + " is '" + text +
                                               "'; it must be a number from 0 to " + std::to_string(kMaxDomain)};
    }
    return value;
  }
  return 0;
}

Result<DomainDirectory> open_domain_directory(int domain, const DirectoryOptions& options) {
  std::string path;
  auto runtime = open_runtime(path, options);
  if (!runtime) return runtime.error();
  const os::DirectoryInfo& info = runtime->info;
  const bool shared = info.group_may_write();

  DomainDirectory out;
  const std::string name = std::to_string(domain);
  out.path = path + "/" + name;
  const int failed = os::make_directory(runtime->fd.get(), name, shared ? 02770 : 0700, shared ? info.gid : ~0U);
  if (failed != 0 && failed != EEXIST) {
    return Error{Errc::no_runtime_directory, "cannot make '" + out.path + "': " + reason_of(failed)};
  }
  auto directory = open_checked(runtime->fd.get(), name, out.path, options);
  if (!directory) return directory.error();
  os::mark_in_use(runtime->fd.get());
  os::mark_in_use(directory->fd.get());
  if (directory->info.group_may_write()) {
    out.socket_mode = 0660;
    out.gid = directory->info.gid;
  }
  out.runtime = std::move(runtime->fd);
  out.fd = std::move(directory->fd);
  return out;
}

}  // namespace baton::transport
