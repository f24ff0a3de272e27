// SPDX-License-Identifier: Apache-2.0
#include "dataplane/pin_directory.h"

#include <bpf/bpf.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

namespace fs = std::filesystem;

// Names of meshes and gateways have no underscore, so these meet no other gateway's directory. (bpffs keeps
// names with a dot for itself.)
constexpr std::string_view kMaking = "_making";
constexpr std::string_view kRemoving = "_removing";

fs::path sibling(const fs::path& path, std::string_view suffix) {
  fs::path out = path;
  out += suffix;
  return out;
}

Result<> require_bpffs(const fs::path& path) {
  fs::path there = path;
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path())
    there = there.parent_path();
  struct statfs status {};
  if (::statfs(there.c_str(), &status) != 0) {
    return kernel_error(errc::pins, "cannot look at " + there.string(), errno);
  }
  if (static_cast<unsigned long>(status.f_type) == static_cast<unsigned long>(BPF_FS_MAGIC)) return {};
  return fail(errc::pins, "pins need a BPF file system, and " + there.string() +
                              " is none; mount one first: mount -t bpf bpf " +
                              (there == "/sys/fs" ? std::string("/sys/fs/bpf") : there.string()));
}

Result<> remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return fail(errc::pins, "cannot remove " + path.string() + ": " + error.message());
  return {};
}

Result<> rename_pin(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return kernel_error(errc::pins, "cannot rename " + from.string() + " to " + to.string(), errno);
}

Result<> pin(int fd, const fs::path& path) {
  if (::bpf_obj_pin(fd, path.c_str()) == 0) return {};
  return kernel_error(errc::pins, "cannot pin " + path.string(), errno);
}

}  // namespace

Result<PinDirectory> PinDirectory::prepare(const fs::path& path) {
  if (Result<> there = require_bpffs(path); !there) return pass_on(std::move(there));
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return fail(errc::pins, "cannot make " + path.parent_path().string() + ": " + error.message());
  for (const std::string_view suffix : {kMaking, kRemoving}) {
    if (Result<> swept = remove_tree(sibling(path, suffix)); !swept) return pass_on(std::move(swept));
  }
  return PinDirectory(path);
}

Result<std::vector<std::string>> PinDirectory::names() const {
  std::vector<std::string> out;
  std::error_code error;
  fs::directory_iterator entry(path_, error);
  if (error == std::errc::no_such_file_or_directory) return out;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    out.push_back(entry->path().filename().string());
  }
  if (error) return fail(errc::pins, "cannot list " + path_.string() + ": " + error.message());
  std::sort(out.begin(), out.end());
  return out;
}

Result<> PinDirectory::publish(const std::vector<std::pair<std::string, int>>& pins) const {
  const fs::path making = sibling(path_, kMaking);
  std::error_code error;
  fs::create_directory(making, error);
  if (error) return fail(errc::pins, "cannot make " + making.string() + ": " + error.message());
  for (const auto& [name, fd] : pins) {
    if (Result<> pinned = pin(fd, making / name); !pinned) {
      if (Result<> swept = remove_tree(making); !swept) return swept;
      return pinned;
    }
  }
  return rename_pin(making, path_);
}

Result<UniqueFd> PinDirectory::get(const std::string& name) const {
  const fs::path path = path_ / name;
  UniqueFd fd(::bpf_obj_get(path.c_str()));
  if (!fd) return kernel_error(errc::pins, "cannot open the pin " + path.string(), errno);
  return fd;
}

Result<> PinDirectory::replace(const std::string& name, int fd) const {
  const fs::path making = sibling(path_ / name, kMaking);
  if (::unlink(making.c_str()) != 0 && errno != ENOENT) {
    return kernel_error(errc::pins, "cannot remove " + making.string(), errno);
  }
  if (Result<> pinned = pin(fd, making); !pinned) return pinned;
  return rename_pin(making, path_ / name);
}

Result<> PinDirectory::remove() const {
  std::error_code error;
  if (!fs::exists(path_, error)) return {};
  const fs::path removing = sibling(path_, kRemoving);
  if (Result<> renamed = rename_pin(path_, removing); !renamed) return renamed;
  return remove_tree(removing);
}

}  // namespace postern::dataplane
