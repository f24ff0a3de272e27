// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "agent/directory_watch.h"
#include "agent/snapshot_source.h"

namespace postern::agent {

// A directory of signed snapshots named SERIAL.json. Those above the adopted serial are taken in rising
// order, so that a gateway that slept through changes of the root follows them one by one. The timestamp lies
// among them. Other names are ignored.
struct SerialFile {
  Serial serial;
  std::filesystem::path path;
};

class SourceDirectory final : public SnapshotSource {
 public:
  SourceDirectory(asio::io_context& io, std::filesystem::path directory, SourceDoor door);

 private:
  void look();
  void look_for_snapshots();

  std::filesystem::path directory_;
  DirectoryWatch watch_;
};

// Those of `directory` above `above`, in rising order of serials.
Result<std::vector<SerialFile>> serials_in(const std::filesystem::path& directory, Serial above);

// The file's text if there is only one, else a bundle that leads to the last one. Of more than a bundle holds
// it has those alone that change the root, each with the one before it, and the last one. `files` is not
// empty.
Result<std::string> bundle_of(const std::vector<SerialFile>& files);

}  // namespace postern::agent
