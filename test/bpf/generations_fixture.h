// SPDX-License-Identifier: Apache-2.0
// A plane of a test's own, with the generations on it.
#pragma once

#include <bpf/bpf.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "dataplane/generations.h"
#include "loaded_plane.h"

namespace postern::dataplane {

struct Fixture {
  std::shared_ptr<Plane> plane = testing::loaded_plane();
  Generations generations = reopen();

  Generations reopen() const {
    Result<Generations> opened = Generations::open(*plane);
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
    return std::move(*opened);
  }
  SwapReport adopt(const Tables& tables, Generation floor = Generation()) {
    Result<SwapReport> report = generations.adopt(tables, floor);
    REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
    return *report;
  }
  std::uint32_t inner_id(const char* table, std::uint32_t slot) const {
    std::uint32_t id = 0;
    REQUIRE(::bpf_map_lookup_elem(plane->map_fd(table), &slot, &id) == 0);
    return id;
  }
  std::uint64_t selector() const {
    std::uint64_t value = 0;
    const std::uint32_t zero = 0;
    REQUIRE(::bpf_map_lookup_elem(plane->map_fd("selector"), &zero, &value) == 0);
    return value;
  }
};

inline bool equal_bytes(const Tables& a, const Tables& b) {
  const auto rows = [](const auto& x, const auto& y) {
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), [](const auto& p, const auto& q) {
             return std::memcmp(&p.first, &q.first, sizeof p.first) == 0 &&
                    std::memcmp(&p.second, &q.second, sizeof p.second) == 0;
           });
  };
  return std::memcmp(&a.gateway, &b.gateway, sizeof a.gateway) == 0 && rows(a.ports, b.ports) &&
         rows(a.segments, b.segments) && rows(a.peers, b.peers) && rows(a.endpoints, b.endpoints) &&
         rows(a.owners4, b.owners4) && rows(a.owners6, b.owners6) && rows(a.policy, b.policy) &&
         rows(a.resources, b.resources) && a.port_classes.size() == b.port_classes.size() &&
         std::memcmp(a.port_classes.data(), b.port_classes.data(),
                     a.port_classes.size() * sizeof(pt_port_line)) == 0;
}

inline std::uint32_t run(int program) {
  std::array<char, 64> frame{};
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = frame.data();
  options.data_size_in = frame.size();
  options.repeat = 1;
  REQUIRE(::bpf_prog_test_run_opts(program, &options) == 0);
  return options.retval;
}

}  // namespace postern::dataplane
