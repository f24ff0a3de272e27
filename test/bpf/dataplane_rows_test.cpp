// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <array>
#include <set>

#include "dataplane/counters.h"
#include "dataplane/errors.h"
#include "dataplane/event_ring.h"
#include "dataplane/journal_pin.h"
#include "dataplane/peer_ids.h"
#include "loaded_plane.h"
#include "support/tiny_program.h"

namespace postern::dataplane {
namespace {

using testing::insn;
using testing::kAddImmediate;
using testing::kLoadImmediate64;

}  // namespace

TEST_CASE("a peer keeps its id, whoever comes and goes") {
  const auto plane = testing::loaded_plane();
  const auto first = allot_peer_ids(*plane, {"a", "b", "a"});
  REQUIRE(first);
  CHECK(first->size() == 2);
  CHECK(first->at("a") != first->at("b"));
  CHECK(first->at("a").value > 0);
  const auto second = allot_peer_ids(*plane, {"c", "b"});
  REQUIRE(second);
  CHECK(second->at("b") == first->at("b"));
  CHECK(second->at("c") != first->at("a"));
  CHECK(allot_peer_ids(*plane, {"a"})->at("a") == first->at("a"));
}

TEST_CASE("an allotted id counts from zero and keeps its counts") {
  const auto plane = testing::loaded_plane();
  const PeerId id = allot_peer_ids(*plane, {"a"})->at("a");
  CHECK(read_peer(*plane, id)->rx.packets == 0);
  std::vector<pt_peer_count> parts(static_cast<std::size_t>(::libbpf_num_possible_cpus()));
  for (auto& part : parts)
    part.rx = {1, 100};
  REQUIRE(::bpf_map_update_elem(plane->map_fd("peer_counts"), &id.value, parts.data(), BPF_EXIST) == 0);
  REQUIRE(allot_peer_ids(*plane, {"a", "b"}));
  const Result<pt_peer_count> sum = read_peer(*plane, id);
  REQUIRE(sum);
  CHECK(sum->rx.packets == parts.size());
  CHECK(sum->rx.bytes == 100 * parts.size());
  CHECK(sum->tx.packets == 0);
  CHECK_FALSE(read_peer(*plane, PeerId(77)));
}

TEST_CASE("when all ids are taken a new peer is refused and known ones are not") {
  const auto plane = testing::loaded_plane();
  std::vector<pt_peer_name> names(PT_MAX_PEERS);
  std::vector<__u32> ids(PT_MAX_PEERS);
  REQUIRE(allot_peer_ids(*plane, {"known"})->at("known") == PeerId(1));
  for (__u32 i = 0; i < PT_MAX_PEERS; ++i) {
    std::copy_n(reinterpret_cast<const __u8*>(&i), sizeof i, names[i].hash);
    ids[i] = i + 2;
  }
  __u32 count = PT_MAX_PEERS - 1;
  REQUIRE(::bpf_map_update_batch(plane->map_fd("peer_ids"), names.data(), ids.data(), &count, nullptr) == 0);
  const auto refused = allot_peer_ids(*plane, {"known", "new"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::capacity);
  CHECK(allot_peer_ids(*plane, {"known"})->at("known") == PeerId(1));
}

TEST_CASE("counters are summed over the CPUs, each in its own row") {
  const auto plane = testing::loaded_plane();
  std::vector<pt_count> parts(static_cast<std::size_t>(::libbpf_num_possible_cpus()), pt_count{2, 50});
  const __u32 row = 3 * __u32{PT_VERDICT_COUNT} + PT_VERDICT_RELAYED;
  REQUIRE(::bpf_map_update_elem(plane->map_fd("verdicts"), &row, parts.data(), BPF_ANY) == 0);
  const __u32 reason = PT_DROP_UNTUNNELLED;
  REQUIRE(::bpf_map_update_elem(plane->map_fd("drops"), &reason, parts.data(), BPF_ANY) == 0);
  const Result<VerdictCounts> verdicts = read_verdicts(*plane, 3);
  REQUIRE(verdicts);
  CHECK((*verdicts)[PT_VERDICT_RELAYED].packets == 2 * parts.size());
  CHECK((*verdicts)[PT_VERDICT_RELAYED].bytes == 50 * parts.size());
  CHECK((*verdicts)[PT_VERDICT_PASS].packets == 0);
  CHECK((*read_verdicts(*plane, 2))[PT_VERDICT_RELAYED].packets == 0);
  CHECK((*read_drops(*plane))[PT_DROP_UNTUNNELLED].packets == 2 * parts.size());
  CHECK((*read_drops(*plane))[PT_DROP_CLOSED].packets == 0);
  CHECK_FALSE(read_verdicts(*plane, PT_PORT_SLOTS));
}

TEST_CASE("the journal's pin is none until it is written, and then reads back") {
  const auto plane = testing::loaded_plane();
  const Result<std::optional<JournalPin>> none = read_journal_pin(*plane);
  REQUIRE(none);
  CHECK_FALSE(*none);
  JournalPin pin;
  pin.journal[15] = 9;
  pin.head = Lseq(41);
  pin.hash[31] = 7;
  REQUIRE(write_journal_pin(*plane, pin));
  const Result<std::optional<JournalPin>> read = read_journal_pin(*plane);
  REQUIRE(read);
  REQUIRE(*read);
  CHECK((*read)->journal == pin.journal);
  CHECK((*read)->head == Lseq(41));
  CHECK((*read)->hash == pin.hash);
}

TEST_CASE("events of the packet path reach the agent once, in order") {
  const auto plane = testing::loaded_plane();
  std::vector<__u32> seen;
  const auto ring = EventRing::open(*plane, [&](const pt_event& event) { seen.push_back(event.ifindex); });
  REQUIRE(ring);
  const int move = BPF_ALU64 | BPF_MOV;
  // Sends {type 1, ifindex 11} and {type 1, ifindex 12}, and in between a record that is too short for an
  // event.
  const auto send = [&](int ifindex, int size) {
    const bpf_insn program[] = {
        insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
        insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0),
        insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, -24, PT_EVENT_NEIGHBOUR_WANTED),
        insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, -20, ifindex),
        insn(kLoadImmediate64, 1, BPF_PSEUDO_MAP_FD, 0, plane->map_fd("events")),
        insn(0, 0, 0, 0, 0),
        insn(move | BPF_X, 2, 10, 0, 0),
        insn(kAddImmediate, 2, 0, 0, -24),
        insn(move | BPF_K, 3, 0, 0, size),
        insn(move | BPF_K, 4, 0, 0, 0),
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output),
        insn(move | BPF_K, 0, 0, 0, XDP_PASS),
        insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    const UniqueFd fd = testing::load_xdp(program);
    REQUIRE(fd);
    std::array<char, 64> frame{};
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = frame.size();
    REQUIRE(::bpf_prog_test_run_opts(fd.get(), &options) == 0);
  };
  send(11, sizeof(pt_event));
  send(99, 8);
  send(12, sizeof(pt_event));
  REQUIRE((*ring)->drain());
  CHECK(seen == std::vector<__u32>{11, 12});
  REQUIRE((*ring)->drain());
  CHECK(seen.size() == 2);
  CHECK((*ring)->poll_fd() >= 0);
}

}  // namespace postern::dataplane
