// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "agent/directory_watch.h"
#include "agent/snapshot_source.h"

namespace postern::agent {

// One file that somebody replaces: written anew, renamed over, or not there yet. The timestamp lies beside
// it.
class SourceFile final : public SnapshotSource {
 public:
  SourceFile(asio::io_context& io, std::filesystem::path path, SourceDoor door);

 private:
  void look();
  void look_for_snapshot();

  std::filesystem::path path_;
  DirectoryWatch watch_;
};

}  // namespace postern::agent
