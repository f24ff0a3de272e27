// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "agent/directory_watch.h"
#include "agent/snapshot_source.h"

namespace postern::agent {

// A directory of signed snapshots named SERIAL.json. Those above the adopted serial are taken in rising
// order, so that a gateway that slept through changes of the root follows them one by one. Other names are
// ignored.
struct SerialFile {
  Serial serial;
  std::filesystem::path path;
};

class SourceDirectory final : public SnapshotSource {
 public:
  SourceDirectory(asio::io_context& io, std::filesystem::path directory, SourceDoor door);

 private:
  void look();
  // The file, or a bundle of as many as fit.
  Result<std::string> gather(const std::vector<SerialFile>& files) const;

  std::filesystem::path directory_;
  DirectoryWatch watch_;
};

// Those of `directory` above `above`, in rising order of serials.
Result<std::vector<SerialFile>> serials_in(const std::filesystem::path& directory, Serial above);

}  // namespace postern::agent
