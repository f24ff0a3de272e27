// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

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

// A program that reads twice who holds resource 3 in the slot that was active at first, with about ten
// milliseconds between, and returns 1 when the epoch changed under it.
UniqueFd slow_holder_reader(const Plane& plane) {
  const int move_imm = BPF_ALU64 | BPF_MOV | BPF_K;
  const int move_reg = BPF_ALU64 | BPF_MOV | BPF_X;
  const int call = BPF_JMP | BPF_CALL;
  const auto look_up = [&](int slot_of_key, int map_fd, int to_the_end) {
    return std::vector<bpf_insn>{
        insn(move_reg, 2, 10, 0, 0),
        insn(kAddImmediate, 2, 0, 0, slot_of_key),
        insn(kLoadImmediate64, 1, BPF_PSEUDO_MAP_FD, 0, map_fd),
        insn(0, 0, 0, 0, 0),
        insn(call, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        insn(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, to_the_end, 0),
    };
  };
  const auto epoch_into = [&](int to, int to_the_end) {
    std::vector<bpf_insn> out = look_up(-4, plane.map_fd("resources"), to_the_end);
    const bpf_insn rest[] = {
        insn(move_reg, 1, 0, 0, 0),
        insn(move_reg, 2, 10, 0, 0),
        insn(kAddImmediate, 2, 0, 0, -8),
        insn(call, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        insn(move_imm, to, 0, 0, 0),
        insn(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0),
        insn(BPF_LDX | BPF_MEM | BPF_DW, to, 0, static_cast<int>(offsetof(pt_resource, epoch)), 0),
    };
    out.insert(out.end(), std::begin(rest), std::end(rest));
    return out;
  };
  constexpr int kEpochInsns = 13;
  constexpr int kWaitInsns = 4;
  std::vector<bpf_insn> program = {insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
                                   insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, -8, 3)};
  const auto add = [&](const std::vector<bpf_insn>& more) {
    program.insert(program.end(), more.begin(), more.end());
  };
  // Behind the last epoch stand two instructions, and then the end that returns 0.
  const auto to_the_end = [](int behind) { return behind + 2; };
  add(look_up(-4, plane.map_fd("selector"), to_the_end(3 + 2 * kEpochInsns + kWaitInsns)));
  add({insn(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0), insn(BPF_ALU64 | BPF_AND | BPF_K, 1, 0, 0, 1),
       insn(BPF_STX | BPF_MEM | BPF_W, 10, 1, -4, 0)});
  add(epoch_into(7, to_the_end(7 + kWaitInsns + kEpochInsns)));
  add({insn(move_imm, 8, 0, 0, 250'000), insn(call, 0, 0, 0, BPF_FUNC_ktime_get_ns),
       insn(BPF_ALU64 | BPF_SUB | BPF_K, 8, 0, 0, 1), insn(BPF_JMP | BPF_JNE | BPF_K, 8, 0, -3, 0)});
  add(epoch_into(9, to_the_end(7)));
  add({insn(move_imm, 0, 0, 0, 1), insn(BPF_JMP | BPF_JNE | BPF_X, 9, 7, 1, 0), insn(move_imm, 0, 0, 0, 0),
       insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)});
  return UniqueFd(
      ::bpf_prog_load(BPF_PROG_TYPE_XDP, "slow_holder", "GPL", program.data(), program.size(), nullptr));
}

constexpr std::array<const char*, 10> kOthers = {"ports",   "segments", "peers", "endpoints", "owners4",
                                                 "owners6", "policy",   "rates", "services",  "backends"};

Rows<__u32, pt_resource> held(std::uint32_t holder, std::uint64_t epoch) {
  return {{3, pt_resource{epoch, holder, 0}}};
}

}  // namespace

TEST_CASE("a change of holders makes a generation that shares every other table") {
  Fixture f;
  Tables tables = small_tables(1, 300);
  tables.port_classes[5].class_of[7] = 9;
  tables.gateway.clamp_mss = 1;
  // The idle slot has tables of its own, which must not come back.
  f.adopt(small_tables(7, 2));
  f.adopt(tables);
  std::array<std::uint32_t, kOthers.size()> before{};
  const std::uint32_t slot = PT_SELECTOR_SLOT(f.selector());
  for (std::size_t i = 0; i < kOthers.size(); ++i)
    before[i] = f.inner_id(kOthers[i], slot);

  const Result<SwapReport> report = f.generations.hold(held(5, 8));
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  CHECK(report->changed);
  CHECK(report->generation == Generation(3));
  CHECK(report->tables_written == std::vector<std::string_view>{"resources"});
  CHECK(PT_SELECTOR_SLOT(f.selector()) == 1 - slot);
  for (std::size_t i = 0; i < kOthers.size(); ++i) {
    CAPTURE(kOthers[i]);
    CHECK(f.inner_id(kOthers[i], 1 - slot) == before[i]);
  }
  CHECK(f.inner_id("resources", 0) != f.inner_id("resources", 1));
  tables.resources = held(5, 8);
  const Result<Tables> read = f.generations.read_active();
  REQUIRE(read);
  CHECK(equal_bytes(*read, tables));
  const auto holders = f.generations.holders();
  REQUIRE(holders);
  REQUIRE(holders->size() == 1);
  CHECK((*holders)[0].second.holder == 5);
  CHECK((*holders)[0].second.epoch == 8);
}

TEST_CASE("a change of holders carries the closing instant and the rule bank over") {
  Fixture f;
  f.adopt(small_tables(1));
  Tables other = small_tables(1);
  other.policy[0].second.rule = 4;  // another list of rules, so another bank
  REQUIRE(f.generations.adopt(other, Generation(), 12'345));
  const auto bank = [&f] {
    const std::uint32_t slot = PT_SELECTOR_SLOT(f.selector());
    pt_gateway row{};
    REQUIRE(::bpf_map_lookup_elem(f.plane->map_fd("gateway"), &slot, &row) == 0);
    return row.rule_bank;
  };
  const unsigned before = bank();
  REQUIRE(f.generations.hold(held(5, 8)));
  CHECK(f.generations.closes_ns() == 12'345);
  CHECK(bank() == before);
}

TEST_CASE("holders that hold already are no change, and a later adoption finds them") {
  Fixture f;
  Tables tables = small_tables(1);
  f.adopt(tables);
  REQUIRE(f.generations.hold(held(5, 8)));
  const std::uint64_t before = f.selector();
  const Result<SwapReport> again = f.generations.hold(held(5, 8));
  REQUIRE(again);
  CHECK_FALSE(again->changed);
  CHECK(again->tables_written.empty());
  tables.resources = held(5, 8);
  CHECK_FALSE(f.adopt(tables).changed);
  CHECK_FALSE(f.reopen().hold(held(5, 8))->changed);
  CHECK(f.selector() == before);
  tables.resources = held(6, 9);
  CHECK(f.adopt(tables).tables_written == std::vector<std::string_view>{"resources"});
  REQUIRE(f.generations.hold({}));
  CHECK(f.generations.read_active()->resources.empty());
  tables.resources.clear();
  CHECK_FALSE(f.adopt(tables).changed);
}

TEST_CASE("a change of holders that cannot be is refused and leaves the active generation untouched") {
  Fixture f;
  REQUIRE_FALSE(f.generations.hold(held(5, 8)));
  CHECK(f.generations.active() == Generation());
  CHECK(f.generations.holders()->empty());
  f.adopt(small_tables(1));
  const std::uint64_t before = f.selector();
  Rows<__u32, pt_resource> twice = held(5, 8);
  twice.push_back({3, pt_resource{9, 6, 0}});
  CHECK(f.generations.hold(twice).error().code == errc::digest);
  Rows<__u32, pt_resource> many;
  for (std::uint32_t number = 0; number <= PT_MAX_RESOURCES; ++number)
    many.push_back({number, pt_resource{}});
  CHECK(f.generations.hold(many).error().code == errc::capacity);
  CHECK(f.selector() == before);
  CHECK(f.generations.hold(held(5, 8), Generation(41))->generation == Generation(42));
}

TEST_CASE("a packet sees one holder, however often that changes meanwhile") {
  Fixture f;
  f.adopt(small_tables(1));
  REQUIRE(f.generations.hold(held(5, 1)));
  const UniqueFd reader = slow_holder_reader(*f.plane);
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
  for (std::uint64_t epoch = 2; epoch < 102 || runs < 60; ++epoch)
    REQUIRE(f.generations.hold(held(5, epoch)));
  stop = true;
  packets.join();
  CHECK(torn == 0);
}

}  // namespace postern::dataplane
