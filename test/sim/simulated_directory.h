// SPDX-License-Identifier: Apache-2.0
// The journal's directory on a simulated disk.
#pragma once

#include <string>

#include "sim/simulated_disk.h"

namespace postern::ledger::sim {

// Usable until the disk restarts; a directory of an earlier life only fails.
class SimulatedDirectory final : public Directory {
 public:
  explicit SimulatedDirectory(SimulatedDisk& disk) : disk_(disk), life_(disk.life_) {}

  const std::string& path() const override { return path_; }
  Io<FileFacts> facts() const override;
  Io<std::uint64_t> file_system() const override;
  Io<std::vector<std::string>> list() const override;
  Io<std::unique_ptr<File>> open(std::string_view name, Access access) const override;
  Io<bool> exists(std::string_view name) const override;
  Io<FileFacts> facts_by_path(std::string_view name) const override;
  Io<> rename(std::string_view from, std::string_view to, IfThere if_there) override;
  Io<> unlink(std::string_view name) override;
  Io<> sync() override;

 private:
  SimulatedDisk& disk_;
  std::uint64_t life_;
  std::string path_ = "/simulated";
};

}  // namespace postern::ledger::sim
