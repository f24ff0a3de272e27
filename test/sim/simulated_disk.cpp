// SPDX-License-Identifier: Apache-2.0
#include "sim/simulated_disk.h"

#include <algorithm>
#include <cerrno>

namespace postern::ledger::sim {
namespace {

bool changes(Call call) {
  switch (call) {
    case Call::create:
    case Call::write:
    case Call::datasync:
    case Call::rename:
    case Call::unlink:
    case Call::sync:
      return true;
    default:
      return false;
  }
}

}  // namespace

void SimulatedDisk::end_after(std::size_t steps, End end) {
  const std::scoped_lock guard(mutex_);
  steps_left_ = steps;
  end_ = end;
}

void SimulatedDisk::end_now(End end) {
  const std::scoped_lock guard(mutex_);
  if (dead_) return;
  end_ = end;
  dead_ = true;
  struck_ = "between calls";
}

void SimulatedDisk::clear_fault() {
  const std::scoped_lock guard(mutex_);
  fault_.reset();
  fault_struck_ = false;
}

SimulatedDisk::Fate SimulatedDisk::decide(Call call, const std::string& label) {
  if (dead_) return {EIO, false, false};
  Fate fate;
  if (watched_) return fate;
  if (fault_ && fault_->call == call && --fault_->countdown == 0) {
    fate.error = fault_->error;
    fate.shortened = fault_->error == 0;
    fate.effect = false;
    fault_.reset();
    fault_struck_ = true;
    if (observer_) observer_(label + (fate.error == 0 ? " (short)" : " (fails)"));
    return fate;
  }
  if (observer_) observer_(label);
  if (steps_left_ == 0 || !changes(call) || --steps_left_ != 0) return fate;
  dead_ = true;
  struck_ = label;
  fate.error = EIO;
  fate.effect = random_.chance(50);
  if (observer_)
    observer_(std::string(end_ == End::power_cut ? "== power cut" : "== killed") +
              (fate.effect ? " after it" : " before it"));
  return fate;
}

std::uint64_t SimulatedDisk::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& [name, inode] : names_)
    used += inode->cache.size();
  return used;
}

void SimulatedDisk::resize(Inode& inode, std::size_t bytes) {
  if (bytes == inode.cache.size()) return;
  inode.cache.resize(bytes);
  inode.device.resize(bytes);
  inode.newer_sizes.push_back(bytes);
}

void SimulatedDisk::write(Inode& inode, std::size_t offset, ByteView bytes) {
  const std::size_t end = offset + bytes.size();
  if (end > inode.cache.size()) resize(inode, end);
  std::copy(bytes.begin(), bytes.end(), inode.cache.begin() + static_cast<std::ptrdiff_t>(offset));
  for (std::size_t s = offset / traits_.sector_bytes; s * traits_.sector_bytes < end; ++s) {
    const std::size_t from = s * traits_.sector_bytes;
    const std::size_t to = std::min(from + traits_.sector_bytes, inode.cache.size());
    inode.newer[s].emplace_back(inode.cache.begin() + static_cast<std::ptrdiff_t>(from),
                                inode.cache.begin() + static_cast<std::ptrdiff_t>(to));
    inode.dirty[s] = true;
  }
}

// An O_DIRECT read writes the changed pages of its range back first.
void SimulatedDisk::write_back(Inode& inode, std::size_t from, std::size_t to) {
  for (auto it = inode.dirty.begin(); it != inode.dirty.end();) {
    const std::size_t start = it->first * traits_.sector_bytes;
    const std::size_t end = std::min(start + traits_.sector_bytes, inode.cache.size());
    if (end <= from || start >= to) {
      ++it;
      continue;
    }
    std::copy(inode.cache.begin() + static_cast<std::ptrdiff_t>(start),
              inode.cache.begin() + static_cast<std::ptrdiff_t>(end),
              inode.device.begin() + static_cast<std::ptrdiff_t>(start));
    it = inode.dirty.erase(it);
  }
}

void SimulatedDisk::flush(Inode& inode) {
  write_back(inode, 0, inode.cache.size());
  inode.durable = inode.device;
  inode.newer.clear();
  inode.newer_sizes.clear();
}

// Of each changed sector the device gets one of the contents that it was to have, or keeps the one that it
// has; which it is, is settled by now, and no later flush will look at it again.
void SimulatedDisk::fail_flush(Inode& inode) {
  const unsigned reach = random_.chance(50) ? 0 : static_cast<unsigned>(random_.below(101));
  for (const auto& [sector, changed] : inode.dirty) {
    std::vector<Bytes>& newer = inode.newer[sector];
    const std::size_t start = sector * traits_.sector_bytes;
    if (newer.empty() || !random_.chance(reach)) {
      newer.clear();
      const std::size_t end = std::min(start + traits_.sector_bytes, inode.device.size());
      newer.emplace_back(inode.device.begin() + static_cast<std::ptrdiff_t>(start),
                         inode.device.begin() + static_cast<std::ptrdiff_t>(end));
      continue;
    }
    newer.resize(random_.between(1, newer.size()));
    std::copy(newer.back().begin(), newer.back().end(),
              inode.device.begin() + static_cast<std::ptrdiff_t>(start));
  }
  inode.dirty.clear();
}

void SimulatedDisk::apply(std::map<std::string, InodePointer>& names, const NameChange& change) const {
  if (!change.removed.empty()) {
    const auto found = names.find(change.removed);
    if (found != names.end() && found->second == change.inode) names.erase(found);
  }
  if (!change.added.empty()) names[change.added] = change.inode;
}

std::string SimulatedDisk::name_of(const Inode& inode) const {
  for (const auto& [name, held] : names_) {
    if (held.get() == &inode) return name;
  }
  return "(unlinked)";
}

void SimulatedDisk::settle(Inode& inode, unsigned survive_percent) {
  Bytes left = inode.durable;
  if (!inode.newer_sizes.empty()) {
    if (random_.chance(survive_percent))
      left.resize(inode.newer_sizes[random_.below(inode.newer_sizes.size())]);
  }
  for (const auto& [sector, contents] : inode.newer) {
    if (!random_.chance(survive_percent)) continue;
    // Mostly the last one, sometimes one that was overwritten before it was flushed.
    const Bytes& content = random_.chance(70) ? contents.back() : contents[random_.below(contents.size())];
    const std::size_t start = sector * traits_.sector_bytes;
    if (start >= left.size()) continue;
    const std::size_t bytes = std::min(content.size(), left.size() - start);
    std::copy_n(content.begin(), bytes, left.begin() + static_cast<std::ptrdiff_t>(start));
  }
  inode.cache = inode.device = inode.durable = std::move(left);
  inode.newer.clear();
  inode.newer_sizes.clear();
  inode.dirty.clear();
}

void SimulatedDisk::lose_power() {
  const auto any_share = [this] {
    const std::size_t kind = random_.below(5);
    return kind == 0 ? 0U : kind == 1 ? 100U : kind == 2 ? 95U : static_cast<unsigned>(random_.below(101));
  };
  const unsigned names_share = any_share();
  const std::size_t first_lost = random_.below(name_changes_.size() + 1);
  for (std::size_t i = 0; i < name_changes_.size(); ++i) {
    const bool survives = traits_.names_in_order ? i < first_lost : random_.chance(names_share);
    if (survives) apply(durable_names_, name_changes_[i]);
  }
  name_changes_.clear();
  names_ = durable_names_;
  const unsigned share = any_share();
  for (auto& [name, inode] : names_)
    settle(*inode, share);
}

void SimulatedDisk::restart() {
  const std::scoped_lock guard(mutex_);
  if (end_ == End::power_cut) lose_power();
  for (auto& [name, inode] : names_)
    inode->locked = false;
  ++life_;
  dead_ = false;
  steps_left_ = 0;
  struck_.clear();
}

SimulatedDisk::Image SimulatedDisk::durable_image() const {
  const std::scoped_lock guard(mutex_);
  Image image;
  for (const auto& [name, inode] : durable_names_)
    image[name] = inode->durable;
  return image;
}

SimulatedDisk::Image SimulatedDisk::visible_image() const {
  const std::scoped_lock guard(mutex_);
  Image image;
  for (const auto& [name, inode] : names_)
    image[name] = inode->cache;
  return image;
}

void SimulatedDisk::put_back(const Image& image) {
  const std::scoped_lock guard(mutex_);
  names_.clear();
  for (const auto& [name, content] : image) {
    const auto inode = std::make_shared<Inode>();
    inode->cache = inode->device = inode->durable = content;
    inode->number = next_inode_++;
    names_[name] = inode;
  }
  durable_names_ = names_;
  name_changes_.clear();
}

void SimulatedDisk::flip(const std::string& name, std::size_t bit) {
  const std::scoped_lock guard(mutex_);
  Inode& inode = *names_.at(name);
  const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
  for (Bytes* content : {&inode.cache, &inode.device, &inode.durable}) {
    if (bit / 8 < content->size()) (*content)[bit / 8] ^= mask;
  }
}

}  // namespace postern::ledger::sim
