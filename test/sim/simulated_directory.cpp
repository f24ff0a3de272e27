// SPDX-License-Identifier: Apache-2.0
#include "sim/simulated_directory.h"

#include <linux/magic.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ledger/format.h"

namespace postern::ledger::sim {
namespace {

tl::unexpected<int> error_of(int error) {
  return tl::unexpected<int>(error);
}

FileFacts facts_of(const SimulatedDisk::Inode& inode) {
  FileFacts facts;
  facts.is_regular = true;
  facts.owner = ::geteuid();
  facts.mode = 0600;
  facts.links = 1;
  facts.bytes = inode.cache.size();
  facts.device = 1;
  facts.inode = inode.number;
  return facts;
}

}  // namespace

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedDisk& disk, SimulatedDisk::InodePointer inode, Access access)
      : disk_(disk), inode_(std::move(inode)), access_(access), life_(disk.life_) {}
  ~SimulatedFile() override {
    const std::scoped_lock guard(disk_.mutex_);
    if (holds_lock_ && !disk_.stale(life_)) inode_->locked = false;
  }

  Io<FileFacts> facts() const override {
    const std::scoped_lock guard(disk_.mutex_);
    if (disk_.dead_ || disk_.stale(life_)) return error_of(EIO);
    return facts_of(*inode_);
  }

  Io<std::size_t> read_at(std::span<std::uint8_t> into, std::uint64_t offset) const override {
    const std::scoped_lock guard(disk_.mutex_);
    if (const auto fate = decide(Call::read, "read"); fate.error != 0) return error_of(fate.error);
    const bool direct = access_ == Access::read_disk;
    if (direct) disk_.write_back(*inode_, offset, offset + into.size());
    const Bytes& content = direct ? inode_->device : inode_->cache;
    if (offset >= content.size()) return std::size_t{0};
    const std::size_t bytes = std::min<std::size_t>(into.size(), content.size() - offset);
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), bytes, into.begin());
    return bytes;
  }

  Io<std::size_t> write_at(ByteView from, std::uint64_t offset) override {
    const std::scoped_lock guard(disk_.mutex_);
    if (access_ == Access::read || access_ == Access::read_disk) return error_of(EBADF);
    const SimulatedDisk::Fate fate =
        decide(Call::write, "write " + std::to_string(from.size()) + " at " + std::to_string(offset) + " of");
    if (fate.shortened || fate.error != 0) {
      // A write that fails, is cut short or is struck by the end may have come to any sector's end.
      const bool some = fate.shortened || fate.effect || disk_.random_.chance(50);
      const std::size_t reach = some ? disk_.random_.below(from.size() + kSectorBytes) : 0;
      const std::size_t done = std::min(reach / kSectorBytes * kSectorBytes, from.size());
      if (!disk_.stale(life_) && done > 0 && (fate.shortened || !dead_before_)) {
        disk_.write(*inode_, offset, from.first(done));
      }
      if (fate.shortened) return done;
      return error_of(fate.error);
    }
    const std::size_t room = room_for(from.size(), offset);
    if (room == 0 && !from.empty()) return error_of(ENOSPC);
    disk_.write(*inode_, offset, from.first(room));
    return room;
  }

  Io<> datasync() override {
    const std::scoped_lock guard(disk_.mutex_);
    const SimulatedDisk::Fate fate = decide(Call::datasync, "datasync");
    if (fate.error == 0) {
      disk_.flush(*inode_);
      return {};
    }
    if (!disk_.dead_ && !disk_.stale(life_)) disk_.fail_flush(*inode_);
    if (disk_.dead_ && !dead_before_ && fate.effect) disk_.flush(*inode_);
    return error_of(fate.error);
  }

  Io<> lock_exclusive() override {
    const std::scoped_lock guard(disk_.mutex_);
    if (const auto fate = decide(Call::lock, "lock"); fate.error != 0) return error_of(fate.error);
    if (inode_->locked && disk_.locks_exclude_) return error_of(EWOULDBLOCK);
    inode_->locked = holds_lock_ = true;
    return {};
  }

 private:
  SimulatedDisk::Fate decide(Call call, const std::string& what) const {
    dead_before_ = disk_.dead_ || disk_.stale(life_);
    if (dead_before_) return {EIO, false, false};
    return disk_.decide(call, what + " " + disk_.name_of(*inode_));
  }

  std::size_t room_for(std::size_t bytes, std::uint64_t offset) const {
    const std::size_t size = inode_->cache.size();
    if (offset + bytes <= size) return bytes;
    const std::uint64_t used = disk_.used_bytes();
    const std::uint64_t left = disk_.traits_.capacity_bytes > used ? disk_.traits_.capacity_bytes - used : 0;
    if (size + left >= offset + bytes) return bytes;
    return size + left > offset ? static_cast<std::size_t>(size + left - offset) : 0;
  }

  SimulatedDisk& disk_;
  SimulatedDisk::InodePointer inode_;
  Access access_;
  std::uint64_t life_;
  bool holds_lock_ = false;
  mutable bool dead_before_ = false;
};

Io<FileFacts> SimulatedDirectory::facts() const {
  FileFacts facts;
  facts.is_directory = true;
  facts.owner = ::geteuid();
  facts.mode = 0700;
  facts.links = 2;
  return facts;
}

Io<std::uint64_t> SimulatedDirectory::file_system() const {
  return static_cast<std::uint64_t>(EXT4_SUPER_MAGIC);
}

Io<std::vector<std::string>> SimulatedDirectory::list() const {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.stale(life_)) return error_of(EIO);
  if (const auto fate = disk_.decide(Call::list, "list"); fate.error != 0) return error_of(fate.error);
  std::vector<std::string> names;
  for (const auto& [name, inode] : disk_.names_)
    names.push_back(name);
  return names;
}

Io<std::unique_ptr<File>> SimulatedDirectory::open(std::string_view name, Access access) const {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.stale(life_)) return error_of(EIO);
  const bool create = access == Access::create;
  const bool dead_before = disk_.dead_;
  const std::string text(name);
  const auto found = disk_.names_.find(text);
  const SimulatedDisk::Fate fate =
      disk_.decide(create ? Call::create : Call::open, (create ? "create " : "open ") + text);
  if (fate.error != 0 && (dead_before || !fate.effect || !create)) return error_of(fate.error);
  if (!create) {
    if (found == disk_.names_.end()) return error_of(ENOENT);
    return std::make_unique<SimulatedFile>(disk_, found->second, access);
  }
  if (found != disk_.names_.end()) return error_of(EEXIST);
  const auto inode = std::make_shared<SimulatedDisk::Inode>();
  inode->number = disk_.next_inode_++;
  disk_.name_changes_.push_back({"", text, inode});
  disk_.apply(disk_.names_, disk_.name_changes_.back());
  if (fate.error != 0) return error_of(fate.error);
  return std::make_unique<SimulatedFile>(disk_, inode, access);
}

Io<bool> SimulatedDirectory::exists(std::string_view name) const {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.stale(life_)) return error_of(EIO);
  if (const auto fate = disk_.decide(Call::exists, "exists " + std::string(name)); fate.error != 0) {
    return error_of(fate.error);
  }
  return disk_.names_.contains(std::string(name));
}

Io<FileFacts> SimulatedDirectory::facts_by_path(std::string_view name) const {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.dead_ || disk_.stale(life_)) return error_of(EIO);
  const auto found = disk_.names_.find(std::string(name));
  if (found == disk_.names_.end()) return error_of(ENOENT);
  return facts_of(*found->second);
}

Io<> SimulatedDirectory::rename(std::string_view from, std::string_view to, IfThere if_there) {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.stale(life_)) return error_of(EIO);
  const std::string source(from);
  const std::string target(to);
  const bool dead_before = disk_.dead_;
  const SimulatedDisk::Fate fate = disk_.decide(Call::rename, "rename " + source + " " + target);
  if (fate.error != 0 && (dead_before || !fate.effect)) return error_of(fate.error);
  const auto found = disk_.names_.find(source);
  if (found == disk_.names_.end()) return error_of(ENOENT);
  if (if_there == IfThere::refuse && disk_.names_.contains(target)) return error_of(EEXIST);
  disk_.name_changes_.push_back({source, target, found->second});
  disk_.apply(disk_.names_, SimulatedDisk::NameChange(disk_.name_changes_.back()));
  if (fate.error != 0) return error_of(fate.error);
  return {};
}

Io<> SimulatedDirectory::unlink(std::string_view name) {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.stale(life_)) return error_of(EIO);
  const std::string text(name);
  const auto found = disk_.names_.find(text);
  if (!disk_.dead_ && found == disk_.names_.end()) return error_of(ENOENT);
  const bool dead_before = disk_.dead_;
  const SimulatedDisk::Fate fate = disk_.decide(Call::unlink, "unlink " + text);
  if (fate.error != 0 && (dead_before || !fate.effect)) return error_of(fate.error);
  disk_.name_changes_.push_back({text, "", found->second});
  disk_.names_.erase(found);
  if (fate.error != 0) return error_of(fate.error);
  return {};
}

Io<> SimulatedDirectory::sync() {
  const std::scoped_lock guard(disk_.mutex_);
  if (disk_.stale(life_)) return error_of(EIO);
  const bool dead_before = disk_.dead_;
  const SimulatedDisk::Fate fate = disk_.decide(Call::sync, "sync");
  if (fate.error != 0 && (dead_before || !fate.effect)) return error_of(fate.error);
  disk_.durable_names_ = disk_.names_;
  disk_.name_changes_.clear();
  if (fate.error != 0) return error_of(fate.error);
  return {};
}

}  // namespace postern::ledger::sim
