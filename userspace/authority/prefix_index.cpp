// SPDX-License-Identifier: Apache-2.0
#include "authority/prefix_index.h"

#include <algorithm>

namespace postern::authority {
namespace {

std::string owner_text(const Owner& owner) {
  return std::string(word_of(owner.kind)) + " \"" + owner.id + "\"";
}

// `address` with all but its first `length` bits cleared.
IpPrefix block_of(const IpAddress& address, int length) {
  IpPrefix out{address, static_cast<std::uint8_t>(length)};
  for (int bit = length + (address.is_v4() ? 96 : 0); bit < 128; ++bit) {
    std::uint8_t& byte = out.address.bytes[static_cast<std::size_t>(bit / 8)];
    byte = static_cast<std::uint8_t>(byte & ~(0x80U >> (bit % 8)));
  }
  return out;
}

}  // namespace

PrefixIndex::Row::Row(Vni vni, const IpPrefix& prefix, std::size_t index)
    : first(AddressOrder::of(prefix.address)),
      segment(vni),
      at(static_cast<std::uint32_t>(index)),
      length(prefix.length) {}

Result<PrefixIndex> PrefixIndex::of(const Snapshot& snapshot, const SnapshotNames& names,
                                    const Place& place) {
  PrefixIndex out;
  out.snapshot_ = &snapshot;
  out.rows_.reserve(snapshot.prefixes.size());
  const std::string* last = nullptr;  // neighbours are in one segment, as a rule
  Vni vni;
  for (std::size_t i = 0; i < snapshot.prefixes.size(); ++i) {
    const Prefix& prefix = snapshot.prefixes[i];
    if (last == nullptr || *last != prefix.segment) vni = names.segment(prefix.segment)->vni;
    last = &prefix.segment;
    out.rows_.emplace_back(vni, prefix.prefix, i);
  }
  const auto before = [](const Row& a, const Row& b) {
    return a.place() != b.place() ? a.place() < b.place() : a.at < b.at;
  };
  if (!std::is_sorted(out.rows_.begin(), out.rows_.end(), before))
    std::sort(out.rows_.begin(), out.rows_.end(), before);
  const auto twin = std::adjacent_find(out.rows_.begin(), out.rows_.end(),
                                       [](const Row& a, const Row& b) { return a.place() == b.place(); });
  if (twin == out.rows_.end()) return out;
  const Prefix& first = snapshot.prefixes[twin->at];
  const Prefix& second = snapshot.prefixes[(twin + 1)->at];
  return fail(errc::ownership, place("prefixes", (twin + 1)->at) + ": " + second.prefix.text() +
                                   " of segment \"" + second.segment + "\" is given to " +
                                   owner_text(second.owner) + ", but " + place("prefixes", twin->at) +
                                   " gives it to " + owner_text(first.owner) +
                                   "; a prefix is listed once and has one owner");
}

const Prefix* PrefixIndex::longest_match(Vni segment, const IpAddress& address) const {
  for (int length = address.is_v4() ? 32 : 128; length >= 0; --length) {
    const Row wanted(segment, block_of(address, length), 0);
    const auto found = std::lower_bound(rows_.begin(), rows_.end(), wanted,
                                        [](const Row& a, const Row& b) { return a.place() < b.place(); });
    if (found != rows_.end() && found->place() == wanted.place()) return &snapshot_->prefixes[found->at];
  }
  return nullptr;
}

}  // namespace postern::authority
