// SPDX-License-Identifier: Apache-2.0
// A directory on a bpffs that holds one gateway's pins (SPEC 2.4). A set of pins comes and goes whole: it is
// made in a sibling directory that is renamed to its name when complete, and renamed away before it is taken
// apart, so that a crash leaves either the set or nothing but litter that the next start sweeps up.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

class PinDirectory {
 public:
  // Makes the parents and sweeps up litter. errc::pins when the place is not on a bpffs, with the remedy.
  static Result<PinDirectory> prepare(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // Names of all entries, sorted; none when the directory does not exist.
  Result<std::vector<std::string>> names() const;
  // Makes the directory with exactly these pins. The directory must not exist or be empty.
  Result<> publish(const std::vector<std::pair<std::string, int>>& pins) const;
  // Opens a pin.
  Result<UniqueFd> get(const std::string& name) const;
  // Makes `name` refer to `fd` in one step, whether or not it did exist.
  Result<> replace(const std::string& name, int fd) const;
  // Takes all pins away; fine when there are none.
  Result<> remove() const;

 private:
  explicit PinDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace postern::dataplane
