// SPDX-License-Identifier: Apache-2.0
#include "dataplane/counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <string>

#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

void add(pt_count& sum, const pt_count& part) {
  sum.packets += part.packets;
  sum.bytes += part.bytes;
}
void add(std::uint64_t& sum, std::uint64_t part) {
  sum += part;
}
void add(pt_peer_count& sum, const pt_peer_count& part) {
  add(sum.rx, part.rx);
  add(sum.tx, part.tx);
  add(sum.dropped, part.dropped);
}

// The sum over all CPUs of one row. Rows are multiples of 8 bytes, so CPUs' copies lie without gaps.
template <class Count>
Result<Count> read_sum(const Plane& plane, const char* table, __u32 key) {
  static_assert(sizeof(Count) % 8 == 0);
  const int cpus = ::libbpf_num_possible_cpus();
  if (cpus <= 0) return kernel_error(errc::map, "cannot count this machine's CPUs", -cpus);
  std::vector<Count> parts(static_cast<std::size_t>(cpus));
  if (::bpf_map_lookup_elem(plane.map_fd(table), &key, parts.data()) != 0) {
    return kernel_error(errc::map, "cannot read row " + std::to_string(key) + " of table " + table, errno);
  }
  Count sum{};
  for (const Count& part : parts)
    add(sum, part);
  return sum;
}

// As many rows as Counts has, from `first` on.
template <class Counts>
Result<Counts> read_sums(const Plane& plane, const char* table, __u32 first = 0) {
  Counts out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    Result<typename Counts::value_type> sum =
        read_sum<typename Counts::value_type>(plane, table, first + static_cast<__u32>(i));
    if (!sum) return pass_on(std::move(sum));
    out[i] = *sum;
  }
  return out;
}

}  // namespace

Result<VerdictCounts> read_verdicts(const Plane& plane, std::uint16_t port_slot) {
  return read_sums<VerdictCounts>(plane, "verdicts", port_slot * __u32{PT_VERDICT_COUNT});
}

Result<IncidentCounts> read_incidents(const Plane& plane) {
  return read_sums<IncidentCounts>(plane, "incidents");
}

Result<EventLossCounts> read_events_lost(const Plane& plane) {
  return read_sums<EventLossCounts>(plane, "events_lost");
}

Result<pt_path_mtu> read_path_mtu(const Plane& plane, PeerId peer) {
  pt_path_mtu row{};
  if (::bpf_map_lookup_elem(plane.map_fd("path_mtus"), &peer.value, &row) == 0) return row;
  return kernel_error(errc::map, "cannot read the path MTU to peer " + std::to_string(peer.value), errno);
}

Result<DropCounts> read_drops(const Plane& plane) {
  return read_sums<DropCounts>(plane, "drops");
}

Result<pt_peer_count> read_peer(const Plane& plane, PeerId peer) {
  return read_sum<pt_peer_count>(plane, "peer_counts", peer.value);
}

std::string_view verdict_label(unsigned verdict) {
  switch (verdict) {
#define PT_X(number, name, label, help) \
  case number:                          \
    return label;
    PT_VERDICTS(PT_X)
#undef PT_X
    default:
      return "";
  }
}

std::string_view drop_label(unsigned reason) {
  switch (reason) {
#define PT_X(number, name, label, help) \
  case number:                          \
    return label;
    PT_DROP_REASONS(PT_X)
#undef PT_X
    default:
      return "";
  }
}

std::string_view incident_label(unsigned incident) {
  switch (incident) {
#define PT_X(number, name, label, help) \
  case number:                          \
    return label;
    PT_INCIDENTS(PT_X)
#undef PT_X
    default:
      return "";
  }
}

std::string_view loss_label(unsigned loss) {
  switch (loss) {
#define PT_X(number, name, label, help) \
  case number:                          \
    return label;
    PT_LOSSES(PT_X)
#undef PT_X
    default:
      return "";
  }
}

std::string_view drop_help(unsigned reason) {
  switch (reason) {
#define PT_X(number, name, label, help) \
  case number:                          \
    return help;
    PT_DROP_REASONS(PT_X)
#undef PT_X
    default:
      return "";
  }
}

}  // namespace postern::dataplane
