// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "core/unique_fd.h"
#include "dataplane/errors.h"
#include "generations_fixture.h"
#include "support/small_tables.h"
#include "support/tiny_program.h"

namespace postern::dataplane {
namespace {

using testing::insn;
using testing::kAddImmediate;
using testing::kLoadImmediate64;
using testing::small_tables;

// A program that reads the active slot's serial twice with about ten milliseconds between, and returns 1 when
// it changed under it: what a packet would see if its generation were rewritten while it is under way.
UniqueFd slow_reader(const Plane& plane) {
  const int move_imm = BPF_ALU64 | BPF_MOV | BPF_K;
  const int move_reg = BPF_ALU64 | BPF_MOV | BPF_X;
  const int call = BPF_JMP | BPF_CALL;
  const bpf_insn program[] = {
      insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
      insn(move_reg, 2, 10, 0, 0),
      insn(kAddImmediate, 2, 0, 0, -4),
      insn(kLoadImmediate64, 1, BPF_PSEUDO_MAP_FD, 0, plane.map_fd("selector")),
      insn(0, 0, 0, 0, 0),
      insn(call, 0, 0, 0, BPF_FUNC_map_lookup_elem),
      insn(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 20, 0),  // to the end: 0
      insn(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0),
      insn(BPF_ALU64 | BPF_AND | BPF_K, 1, 0, 0, 1),
      insn(BPF_STX | BPF_MEM | BPF_W, 10, 1, -4, 0),
      insn(move_reg, 2, 10, 0, 0),
      insn(kAddImmediate, 2, 0, 0, -4),
      insn(kLoadImmediate64, 1, BPF_PSEUDO_MAP_FD, 0, plane.map_fd("gateway")),
      insn(0, 0, 0, 0, 0),
      insn(call, 0, 0, 0, BPF_FUNC_map_lookup_elem),
      insn(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 11, 0),
      insn(move_reg, 6, 0, 0, 0),
      insn(BPF_LDX | BPF_MEM | BPF_DW, 7, 6, static_cast<int>(offsetof(pt_gateway, serial)), 0),
      insn(move_imm, 8, 0, 0, 250'000),
      insn(call, 0, 0, 0, BPF_FUNC_ktime_get_ns),  // the loop
      insn(BPF_ALU64 | BPF_SUB | BPF_K, 8, 0, 0, 1),
      insn(BPF_JMP | BPF_JNE | BPF_K, 8, 0, -3, 0),
      insn(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, static_cast<int>(offsetof(pt_gateway, serial)), 0),
      insn(move_imm, 0, 0, 0, 1),
      insn(BPF_JMP | BPF_JNE | BPF_X, 1, 7, 1, 0),
      insn(move_imm, 0, 0, 0, 0),
      insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
      insn(move_imm, 0, 0, 0, 0),
      insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  return UniqueFd(
      ::bpf_prog_load(BPF_PROG_TYPE_XDP, "slow_reader", "GPL", program, std::size(program), nullptr));
}

}  // namespace

TEST_CASE("the first adoption fills every table and opens the gateway") {
  Fixture f;
  CHECK(f.generations.active() == Generation(0));
  CHECK_FALSE(f.generations.read_active());
  const SwapReport report = f.adopt(small_tables(1));
  CHECK(report.changed);
  CHECK(report.generation == Generation(1));
  CHECK(f.generations.active() == Generation(1));
  const Result<Tables> read = f.generations.read_active();
  REQUIRE(read);
  CHECK(equal_bytes(*read, small_tables(1)));
}

TEST_CASE("adopting equal tables writes nothing") {
  Fixture f;
  f.adopt(small_tables(1));
  const std::uint64_t before = f.selector();
  const SwapReport report = f.adopt(small_tables(1));
  CHECK_FALSE(report.changed);
  CHECK(report.generation == Generation(1));
  CHECK(report.tables_written.empty());
  CHECK(f.selector() == before);
}

TEST_CASE("only the tables that differ are written, the others are shared by both slots") {
  Fixture f;
  f.adopt(small_tables(1, 2));
  Tables next = small_tables(1, 2);
  next.owners4[1].second.id = 6;
  const SwapReport report = f.adopt(next);
  CHECK(report.tables_written == std::vector<std::string_view>{"owners4"});
  CHECK(f.inner_id("owners4", 0) != f.inner_id("owners4", 1));
  for (const char* table : {"ports", "segments", "peers", "endpoints", "owners6", "policy"}) {
    CHECK(f.inner_id(table, 0) == f.inner_id(table, 1));
  }
  CHECK(equal_bytes(*f.generations.read_active(), next));
}

TEST_CASE("the small tables of the active generation can be read alone") {
  Fixture f;
  REQUIRE(f.generations.ports());
  CHECK(f.generations.ports()->empty());
  CHECK(f.generations.gateway()->serial == 0);
  f.adopt(small_tables(1));
  const Result<Tables> all = f.generations.read_active();
  REQUIRE(all);
  REQUIRE(!all->ports.empty());
  Tables small = *all;
  small.ports = *f.generations.ports();
  CHECK(equal_bytes(small, *all));
  CHECK(f.generations.gateway()->serial == all->gateway.serial);
  CHECK(f.generations.gateway()->open == all->gateway.open);
}

TEST_CASE("a fill that the kernel refuses leaves the active generation untouched") {
  Fixture f;
  f.adopt(small_tables(1));
  const std::uint64_t before = f.selector();
  Tables bad = small_tables(2);
  bad.owners4[0].first.prefixlen = 200;
  const Result<SwapReport> refused = f.generations.adopt(bad);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::map);
  CHECK(f.selector() == before);
  CHECK(equal_bytes(*f.generations.read_active(), small_tables(1)));
  // Nor is the next adoption harmed by what the failed one left in the idle slot.
  f.adopt(small_tables(3));
  CHECK(equal_bytes(*f.generations.read_active(), small_tables(3)));
}

TEST_CASE("rows that do not read back as written are never served") {
  Fixture f;
  f.adopt(small_tables(1));
  const std::uint64_t before = f.selector();
  Tables twice = small_tables(2);
  twice.policy.push_back(twice.policy[0]);
  twice.policy[1].second.rule = 9;
  const Result<SwapReport> refused = f.generations.adopt(twice);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::digest);
  CHECK(f.selector() == before);
  CHECK(equal_bytes(*f.generations.read_active(), small_tables(1)));
}

TEST_CASE("tables beyond capacity are refused before anything is touched") {
  Fixture f;
  f.adopt(small_tables(1));
  const std::uint32_t idle_owners = [&] {
    const std::uint32_t slot = 1 - PT_SELECTOR_SLOT(f.selector());
    std::uint32_t id = 0;
    ::bpf_map_lookup_elem(f.plane->map_fd("owners4"), &slot, &id);
    return id;
  }();
  Tables big = small_tables(2);
  for (std::uint32_t i = 0; i <= PT_MAX_SEGMENTS; ++i)
    big.segments.push_back({200 + i, pt_segment{}});
  const Result<SwapReport> refused = f.generations.adopt(big);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::capacity);
  CHECK(f.generations.active() == Generation(1));
  const std::uint32_t slot = 1 - PT_SELECTOR_SLOT(f.selector());
  std::uint32_t id = 0;
  ::bpf_map_lookup_elem(f.plane->map_fd("owners4"), &slot, &id);
  CHECK(id == idle_owners);
}

TEST_CASE("a restarted agent finds the tables it left and adopts them without a write") {
  Fixture f;
  const Tables tables = small_tables(4, 5000);
  f.adopt(small_tables(3));
  f.adopt(tables);
  const std::uint64_t before = f.selector();
  Generations again = f.reopen();
  CHECK(again.active() == Generation(2));
  CHECK(equal_bytes(*again.read_active(), tables));
  const Result<SwapReport> report = again.adopt(tables);
  REQUIRE(report);
  CHECK_FALSE(report->changed);
  CHECK(f.selector() == before);
}

TEST_CASE("generation numbers rise above the floor, so that they rise across lost pins") {
  Fixture f;
  CHECK(f.adopt(small_tables(1), Generation(41)).generation == Generation(42));
  CHECK(f.adopt(small_tables(2), Generation(7)).generation == Generation(43));
}

TEST_CASE("a fence is raised and never lowered") {
  Fixture f;
  REQUIRE(f.generations.raise_fences({{ResourceNumber(3), Epoch(8)}}));
  REQUIRE(f.generations.raise_fences({{ResourceNumber(3), Epoch(5)}, {ResourceNumber(4), Epoch(2)}}));
  CHECK(f.generations.fence(ResourceNumber(3)) == Epoch(8));
  CHECK(f.generations.fence(ResourceNumber(4)) == Epoch(2));
  CHECK(f.generations.fence(ResourceNumber(5)) == Epoch(0));
}

TEST_CASE("a fence for a resource number beyond the table is refused, and none is raised") {
  Fixture f;
  const Result<> refused = f.generations.raise_fences(
      {{ResourceNumber(1), Epoch(8)}, {ResourceNumber(PT_MAX_RESOURCES), Epoch(8)}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::capacity);
  CHECK(f.generations.fence(ResourceNumber(1)) == Epoch(0));
  CHECK_FALSE(f.generations.fence(ResourceNumber(PT_MAX_RESOURCES)));
}

TEST_CASE("a slot is never rewritten under a packet that still reads it") {
  Fixture f;
  f.adopt(small_tables(1));
  const UniqueFd reader = slow_reader(*f.plane);
  REQUIRE(reader);
  std::atomic<bool> stop = false;
  std::atomic<std::uint32_t> torn = 0;
  std::atomic<std::uint32_t> runs = 0;
  std::thread packets([&] {
    while (!stop) {
      torn += run(reader.get());
      ++runs;
    }
  });
  // The row of the gateway alone differs: each swapped table would bring a grace period of its own.
  for (std::uint64_t serial = 2; serial < 102 || runs < 60; ++serial)
    f.adopt(small_tables(serial));
  stop = true;
  packets.join();
  CHECK(torn == 0);
}

}  // namespace postern::dataplane
