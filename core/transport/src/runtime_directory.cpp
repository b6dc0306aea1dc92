// SPDX-License-Identifier: Apache-2.0
#include "baton/transport/runtime_directory.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "baton/os/environment.hpp"
#include "baton/os/process.hpp"

namespace baton::transport {
namespace {

/// A variable's value as `of_process` reads it, or a test's; null if empty.
const char* lookup(const DirectoryOptions& options, const char* name, const char* (*of_process)(const char*)) {
  const char* value = options.environment ? options.environment(name) : of_process(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

constexpr std::uint32_t kSticky = 01000;

std::string octal(std::uint32_t mode) {
  char text[16];
  (void)std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode));
  return text;
}

std::string reason_of(int error_number) { return std::system_category().message(error_number); }

/// Who may own a directory. Its permissions are the only access control.
enum class Owners {
  kThisUser,  // a default: its name is known to all, and anybody may have made it before this user in /var/tmp
  kThisUserOrGroup,
};

Result<void> check(const std::string& path, const os::DirectoryInfo& info, Owners owners) {
  const std::string network = os::network_file_system(info.file_system);
  if (!network.empty()) {
    return Error{Errc::foreign_runtime_directory,
                 "'" + path + "' lies on a network or user-space file system (" + network +
                     "), where sockets of different machines would mix; set BATON_RUNTIME_DIR to a local directory"};
  }
  const bool own = info.uid == os::effective_user_id();
  if (info.everybody_may_write()) {
    // Others keep their files in a directory such as /tmp: nobody may follow an advice to change its mode.
    const bool public_place = !own || (info.mode & kSticky) != 0;
    return Error{
        Errc::foreign_runtime_directory,
        "'" + path + "' is writable by all users (mode " + octal(info.mode) +
            "), and its permissions are Baton's access control: " +
            (public_place ? "leave it as it is, and set BATON_RUNTIME_DIR to a directory of your own inside it, "
                            "such as '" +
                                (path == "/" ? "" : path) + "/baton-" + std::to_string(os::effective_user_id()) + "'"
                          : "chmod it to 0700, or 2770 to share it with its group")};
  }
  if (own) return {};
  if (owners == Owners::kThisUser) {
    return Error{Errc::foreign_runtime_directory, "'" + path + "' is for user " +
                                                      std::to_string(os::effective_user_id()) +
                                                      " alone, and belongs to user " + std::to_string(info.uid) +
                                                      "; set BATON_RUNTIME_DIR to a directory of your own"};
  }
  const bool shared = info.group_may_write();
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
                                         const DirectoryOptions& options, Owners owners) {
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
  if (auto checked = check(path, directory.info, owners); !checked) return checked.error();
  return directory;
}

// Makes the last component only: a mistyped path must be an error and not a new tree. `made`: whether it did.
Result<os::OpenedDirectory> make_and_open(const std::string& path, const DirectoryOptions& options, Owners owners,
                                          bool& made) {
  const int failed = os::make_directory(-1, path, 0700);
  made = failed == 0;
  if (failed != 0 && failed != EEXIST) {
    return Error{Errc::no_runtime_directory, "cannot make '" + path + "': " + reason_of(failed) +
                                                 "; set BATON_RUNTIME_DIR to a local directory of your own"};
  }
  return open_checked(-1, path, path, options, owners);
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

/// `remark`: what the user has to know although all went well.
Result<os::OpenedDirectory> open_runtime(std::string& path, std::string& remark, const DirectoryOptions& options) {
  constexpr const char* kVariable = "BATON_RUNTIME_DIR";
  path = options.runtime_directory;
  const bool from_environment = path.empty();
  if (from_environment) {
    if (const char* named = lookup(options, kVariable, os::environment)) {
      path = named;
    } else if (lookup(options, kVariable, os::harmless_environment) != nullptr) {
      remark =
          "BATON_RUNTIME_DIR is ignored in a program with rights that its caller lacks (set-user-ID, set-group-ID, "
          "capabilities): such a program names its directory itself, as NodeOptions::runtime_directory";
    }
  }
  bool made = false;
  if (!path.empty()) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.front() != '/') {
      return Error{Errc::no_runtime_directory,
                   "BATON_RUNTIME_DIR is '" + path +
                       "'; it must be an absolute path, or processes started elsewhere never meet"};
    }
    auto directory = make_and_open(path, options, Owners::kThisUserOrGroup, made);
    if (made && from_environment && directory) {
      remark =
          "BATON_RUNTIME_DIR is '" + path +
          "', which was not there: it was made (mode 0700). Processes that use another directory do not meet this one";
    }
    return directory;
  }
  std::string tried;
  for (const std::string& place : options.defaults.empty() ? default_directories() : options.defaults) {
    auto directory = make_and_open(place, options, Owners::kThisUser, made);
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
    const char* text = lookup(options, variable, os::harmless_environment);
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
  DomainDirectory out;
  auto runtime = open_runtime(path, out.remark, options);
  if (!runtime) return runtime.error();
  const os::DirectoryInfo& info = runtime->info;
  const bool shared = info.group_may_write();

  const std::string name = std::to_string(domain);
  out.path = path + "/" + name;
  const int failed = os::make_directory(runtime->fd.get(), name, shared ? 02770 : 0700, shared ? info.gid : ~0U);
  if (failed != 0 && failed != EEXIST) {
    return Error{Errc::no_runtime_directory, "cannot make '" + out.path + "': " + reason_of(failed)};
  }
  auto directory =
      open_checked(runtime->fd.get(), name, out.path, options, shared ? Owners::kThisUserOrGroup : Owners::kThisUser);
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

void remove_dead_directories(const std::string& runtime_directory, const std::string& prefix) {
  constexpr std::int64_t kYoungSeconds = 2;
  const os::OpenedDirectory parent = os::open_directory(-1, runtime_directory);
  if (parent.error_number != 0) return;
  const Result<std::vector<std::string>> names = os::list_directory(parent.fd.get());
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const os::OpenedDirectory found = os::open_directory(parent.fd.get(), name);  // no symbolic link
    if (found.error_number != 0 || found.info.uid != os::effective_user_id() ||
        os::seconds_since_change(parent.fd.get(), name) < kYoungSeconds || !os::claim_unused(found.fd.get()))
      continue;
    std::error_code ignored;
    std::filesystem::remove_all(runtime_directory + "/" + name, ignored);
  }
}

}  // namespace baton::transport
