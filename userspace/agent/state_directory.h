// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/result.h"

namespace postern::agent {

// Where a gateway keeps what must survive, as `postern init` makes it.
struct StateDirectory {
  std::filesystem::path path;

  std::filesystem::path node_key() const { return path / "node.key"; }
  std::filesystem::path journal() const { return path / "journal"; }
  std::filesystem::path recovery_bundle() const { return path / "recovery-bundle"; }
  // A snapshot that is being fetched over a link.
  std::filesystem::path incoming_snapshot() const { return path / "incoming-snapshot"; }
  std::filesystem::path starts() const { return path / "starts"; }
};

// Fails unless the directory exists, is ours, and nobody else may enter it: whoever can write there could
// plant a journal. A symbolic link is refused.
Result<> check_state_directory(const StateDirectory& state);

}  // namespace postern::agent
