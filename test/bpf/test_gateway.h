// SPDX-License-Identifier: Apache-2.0
// The loaded packet path with tables adopted, to run single packets through. Every run checks the books:
// exactly one verdict counter moved by one packet of this length, a drop moved exactly one reason, and the
// action fits.
#pragma once

#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "dataplane/generations.h"
#include "dataplane/plane.h"
#include "mesh.h"

namespace postern::testing {

enum class Side { underlay, local };

// How a packet ended: a PT_VERDICT_* above 0, or a negated PT_DROP_*, of which the sender was told by ICMP or
// not.
struct End {
  int code = 0;
  bool told = false;
  std::string text() const;
  friend bool operator==(const End&, const End&) = default;
  friend std::ostream& operator<<(std::ostream& out, const End& end) { return out << end.text(); }
};
inline End drop(pt_drop_reason reason) {
  return {-static_cast<int>(reason)};
}
inline End refused(pt_drop_reason reason) {
  return {-static_cast<int>(reason), true};
}
inline End verdict(pt_verdict verdict) {
  return {static_cast<int>(verdict)};
}

struct Run {
  End end;
  unsigned action = 0;
  Bytes out;
};

// All rows of a counter map, summed over CPUs.
std::vector<pt_count> read_counts(int map_fd, std::uint32_t rows);

class TestGateway {
 public:
  // Nothing adopted yet: generation 0. Devmaps of both roles and a counter row for each peer are there.
  TestGateway();
  explicit TestGateway(const dataplane::Tables& tables);

  void adopt(const dataplane::Tables& tables, std::uint64_t closes_ns = 0);
  // `metadata` bytes in front of the frame take from its headroom. A frame of more than a page is given in
  // several buffers; `linear` says how much of it lies in the first one (0: as much as fits), which Linux
  // 6.18 and newer can do: see can_split().
  Run run(Side side, const Bytes& frame, std::uint32_t ifindex, std::size_t metadata = 0,
          std::size_t linear = 0) const;
  bool can_split() const;
  // Whether so many bytes of metadata can be given, which Linux 6.1 limits to 32.
  bool can_take(std::size_t metadata) const;
  Run underlay(const Bytes& frame) const;
  Run local(const Bytes& frame) const;

  // Takes an inner map out of the active slot of a swapped table.
  void remove_inner(std::string_view table);
  pt_peer_count peer_count(Who who) const;
  std::array<std::uint64_t, PT_INCIDENT_COUNT> incidents() const;
  dataplane::Plane& plane() const { return *plane_; }
  const dataplane::Generations& generations() const { return generations_; }

 private:
  // Whether a test run accepts such a frame, whose first buffer has its data between these.
  bool takes(const Bytes& frame, std::size_t data, std::size_t data_end) const;

  std::shared_ptr<dataplane::Plane> plane_;
  dataplane::Generations generations_;
};

}  // namespace postern::testing
