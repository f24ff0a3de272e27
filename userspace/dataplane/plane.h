// SPDX-License-Identifier: Apache-2.0
// The loaded BPF object of this gateway and its pins (SPEC 2.4). It outlives the agent: maps and programs are
// pinned below <pins>/<mesh>/<gateway>/, and a restarted agent takes them over unchanged.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "abi.h"
#include "config/config.h"
#include "core/result.h"
#include "dataplane/dispatcher.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

// Sizes of tables that the config sets. Pinned tables keep theirs until they are made anew.
struct PlaneSizes {
  std::uint32_t flows = PT_FLOWS;
};

class Plane {
 public:
  // Opens what is pinned in `directory`, or loads and pins anew when there is nothing. Half a set of pins,
  // pins of another ABI and a directory that is no bpffs are refused with the remedy. `taken_over` tells
  // which it was. A pinned program whose code differs from this build's is loaded anew over the pinned maps
  // and becomes program_fd(); the old one stays attached until Attachments replaces it.
  static Result<std::unique_ptr<Plane>> open(const std::filesystem::path& directory, PlaneSizes sizes = {});
  // Without pins: dies with the object. For tests.
  static Result<std::unique_ptr<Plane>> open_unpinned(PlaneSizes sizes = {});
  // Removes all pins of the directory. The programs must be detached.
  static Result<> unpin(const std::filesystem::path& directory);

  virtual ~Plane() = default;

  virtual bool taken_over() const = 0;
  // Borrowed descriptor of a map by its name in bpf/tables.h, or of a role's program. Valid while *this
  // lives.
  virtual int map_fd(std::string_view name) const = 0;
  virtual int program_fd(config::Role role) const = 0;
  // The same program once more over the same tables, for a dispatcher to load.
  virtual Result<UnloadedProgram> unloaded_program(config::Role role) const = 0;
};

}  // namespace postern::dataplane
