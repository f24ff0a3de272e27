// SPDX-License-Identifier: Apache-2.0
// A disk in memory under one directory, as bad as a disk may be and no worse (SPEC 4.11).
//
// Each file has three contents: what the page cache shows, what the device answers (an O_DIRECT read), and
// what survives a power cut for certain. A write changes the first. A flush brings changed sectors to the
// device and makes them certain. When the power goes, each sector that was written since the last flush
// holds any one of the contents that it had since then, whatever the other sectors hold; the same goes for a
// file's size. Names are certain after the directory's fsync; until then each creation, rename and removal
// may or may not survive, a rename as a whole. A flush that fails drops the changed sectors: the page cache
// goes on showing them, the device has some of them, and no later flush brings the others.
//
// Every call is a step. At a chosen step the power goes, or the process dies: from then on every call fails,
// until restart() has worked out what is left.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ledger/directory.h"
#include "sim/random_source.h"

namespace postern::ledger::sim {

enum class End { power_cut, killed };

// What a call is to the disk; reads are not steps that change anything.
enum class Call { list, open, create, exists, read, write, datasync, rename, unlink, sync, lock };

struct DiskTraits {
  std::size_t sector_bytes = 512;
  bool names_in_order = true;  // of the changes of names, a first part survives, not any subset
  std::uint64_t capacity_bytes = UINT64_MAX;
};

struct CallFault {
  Call call = Call::write;
  std::size_t countdown = 0;  // strikes at the countdown-th such call from now, from 1
  int error = 0;              // 0: a short write
};

class SimulatedDisk {
 public:
  struct Inode {
    Bytes cache;
    Bytes device;
    Bytes durable;
    std::map<std::size_t, std::vector<Bytes>>
        newer;  // by sector: contents since the last flush, oldest first
    std::vector<std::size_t> newer_sizes;
    std::map<std::size_t, bool> dirty;  // sectors that the device does not have yet
    bool locked = false;
    std::uint64_t number = 0;
  };
  using InodePointer = std::shared_ptr<Inode>;
  using Image = std::map<std::string, Bytes>;

  SimulatedDisk(DiskTraits traits, std::uint64_t seed) : traits_(traits), random_(seed) {}

  // The end comes at the `steps`-th changing call from now, from 1; or at once.
  void end_after(std::size_t steps, End end);
  void end_now(End end);
  bool dead() const { return dead_; }
  // What made the end: the call that it struck, "between calls" otherwise.
  const std::string& struck() const { return struck_; }
  bool power_is_cut() const { return dead_ && end_ == End::power_cut; }
  // After the end: what is left of the files. Open files of before are dead for good.
  void restart();

  void arm(CallFault fault) { fault_ = fault; }
  bool fault_struck() const { return fault_struck_; }
  // While somebody only looks, no call fails and none counts.
  void set_watched(bool watched) { watched_ = watched; }
  void clear_fault();
  void set_capacity(std::uint64_t bytes) { traits_.capacity_bytes = bytes; }
  std::uint64_t used_bytes() const;
  // Locks that everybody gets, as on two overlays of one directory.
  void set_locks_exclude(bool exclude) { locks_exclude_ = exclude; }

  // Files at rest: bytes that a power cut cannot take any more; flips are in every content.
  Image durable_image() const;
  Image visible_image() const;
  void put_back(const Image& image);
  void flip(const std::string& name, std::size_t bit);

  // Called with each call as it is made. May be empty.
  void trace(std::function<void(const std::string&)> observer) { observer_ = std::move(observer); }

 private:
  friend class SimulatedFile;
  friend class SimulatedDirectory;

  struct NameChange {
    std::string removed;  // may be empty
    std::string added;    // may be empty
    InodePointer inode;
  };

  // What becomes of a call. `before`: the end came, and it has no effect. `after`: it has its effect, and is
  // the last that has.
  struct Fate {
    int error = 0;  // 0: the call is made, and succeeds unless `ends`
    bool effect = true;
    bool shortened = false;
  };
  Fate decide(Call call, const std::string& label);
  bool stale(std::uint64_t life) const { return life != life_; }

  void write(Inode& inode, std::size_t offset, ByteView bytes);
  void flush(Inode& inode);
  void fail_flush(Inode& inode);
  void write_back(Inode& inode, std::size_t from, std::size_t to);
  void resize(Inode& inode, std::size_t bytes);
  void lose_power();
  void settle(Inode& inode, unsigned survive_percent);
  void apply(std::map<std::string, InodePointer>& names, const NameChange& change) const;
  std::string name_of(const Inode& inode) const;

  DiskTraits traits_;
  RandomSource random_;
  mutable std::recursive_mutex mutex_;  // a journal may flush on a thread of its own
  std::map<std::string, InodePointer> names_;
  std::map<std::string, InodePointer> durable_names_;
  std::vector<NameChange> name_changes_;
  std::uint64_t next_inode_ = 1;
  std::uint64_t life_ = 1;  // counts restarts
  bool locks_exclude_ = true;

  std::size_t steps_left_ = 0;  // 0: no end is planned
  End end_ = End::power_cut;
  bool dead_ = false;
  std::string struck_;
  std::optional<CallFault> fault_;
  bool fault_struck_ = false;
  bool watched_ = false;
  std::function<void(const std::string&)> observer_;
};

}  // namespace postern::ledger::sim
