// SPDX-License-Identifier: Apache-2.0
#include "test_gateway.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <map>
#include <optional>

#include "loaded_plane.h"

namespace postern::testing {
namespace {

constexpr std::uint32_t kSlotsInUse[] = {0, 1, 2, 3, 4, 5, PT_PORT_SLOT_UNKNOWN};
constexpr Who kCounted[] = {kAlpha, kBeta, kRevoked};

template <class T>
T need(Result<T>&& result) {
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}

std::shared_ptr<dataplane::Plane> load() {
  Network::get();  // first: test runs happen in its namespace
  return loaded_plane();
}

template <class Value>
std::vector<Value> per_cpu(int map_fd, const void* key) {
  std::vector<Value> values(static_cast<std::size_t>(::libbpf_num_possible_cpus()));
  REQUIRE(::bpf_map_lookup_elem(map_fd, key, values.data()) == 0);
  return values;
}

pt_count row(int map_fd, std::uint32_t key) {
  pt_count sum{};
  for (const pt_count& part : per_cpu<pt_count>(map_fd, &key)) {
    sum.packets += part.packets;
    sum.bytes += part.bytes;
  }
  return sum;
}

// Counters by what they count: verdicts of the slots in use, and reasons.
struct Books {
  std::map<std::pair<std::uint32_t, unsigned>, pt_count> verdicts;
  std::map<unsigned, pt_count> drops;
};

Books read_books(const dataplane::Plane& plane) {
  Books books;
  for (const std::uint32_t slot : kSlotsInUse) {
    for (unsigned verdict = 0; verdict < PT_VERDICT_COUNT; ++verdict)
      books.verdicts[{slot, verdict}] = row(plane.map_fd("verdicts"), slot * PT_VERDICT_COUNT + verdict);
  }
  for (unsigned reason = 0; reason < PT_DROP_REASON_COUNT; ++reason)
    books.drops[reason] = row(plane.map_fd("drops"), reason);
  return books;
}

// The one counter of `now` that is one packet of `length` bytes above `before`; all others must be equal.
template <class Key>
std::optional<Key> moved(const std::map<Key, pt_count>& before, const std::map<Key, pt_count>& now,
                         std::size_t length) {
  std::optional<Key> found;
  for (const auto& [key, count] : now) {
    const pt_count& old = before.at(key);
    if (count.packets == old.packets && count.bytes == old.bytes) continue;
    CHECK_FALSE(found.has_value());
    CHECK(count.packets == old.packets + 1);
    CHECK(count.bytes == old.bytes + length);
    found = key;
  }
  return found;
}

End audit(const Books& before, const Books& now, std::size_t length, unsigned action) {
  const auto verdict = moved(before.verdicts, now.verdicts, length);
  const auto reason = moved(before.drops, now.drops, length);
  REQUIRE(verdict.has_value());
  const bool told = verdict->second == PT_VERDICT_REFUSED;
  CHECK(reason.has_value() == (verdict->second == PT_VERDICT_DROP || told));
  const unsigned fitting = verdict->second == PT_VERDICT_DROP   ? XDP_DROP
                           : verdict->second == PT_VERDICT_PASS ? XDP_PASS
                                                                : XDP_REDIRECT;
  CHECK(action == fitting);
  return {reason ? -static_cast<int>(*reason) : static_cast<int>(verdict->second), told};
}

void fill_devmap(int map_fd, std::initializer_list<Interface> interfaces) {
  for (const Interface& interface : interfaces)
    REQUIRE(::bpf_map_update_elem(map_fd, &interface.ifindex, &interface.ifindex, BPF_ANY) == 0);
}

}  // namespace

std::string End::text() const {
  static const std::map<int, std::string> names = {
#define PT_X(number, name, label, help) {number, "verdict " label},
      PT_VERDICTS(PT_X)
#undef PT_X
#define PT_X(number, name, label, help) {-number, "drop " label},
          PT_DROP_REASONS(PT_X)
#undef PT_X
  };
  const auto found = names.find(code);
  return found == names.end() ? "unknown end " + std::to_string(code)
                              : found->second + (told ? ", told" : "");
}

std::vector<pt_count> read_counts(int map_fd, std::uint32_t rows) {
  std::vector<pt_count> counts;
  for (std::uint32_t key = 0; key < rows; ++key)
    counts.push_back(row(map_fd, key));
  return counts;
}

TestGateway::TestGateway() : plane_(load()), generations_(need(dataplane::Generations::open(*plane_))) {
  const Network& network = Network::get();
  fill_devmap(plane_->map_fd("egress_underlay"), {network.underlay, network.jumbo_underlay});
  fill_devmap(plane_->map_fd("egress_local"),
              {network.site, network.other_site, network.jumbo_site, network.host_port});
  const std::vector<pt_peer_count> zero(static_cast<std::size_t>(::libbpf_num_possible_cpus()));
  for (const std::uint32_t peer : kCounted)
    REQUIRE(::bpf_map_update_elem(plane_->map_fd("peer_counts"), &peer, zero.data(), BPF_ANY) == 0);
}

TestGateway::TestGateway(const dataplane::Tables& tables) : TestGateway() {
  adopt(tables);
}

void TestGateway::adopt(const dataplane::Tables& tables, std::uint64_t closes_ns) {
  dataplane::Tables sorted = tables;
  sort_rows(sorted);
  need(generations_.adopt(sorted, Generation(), closes_ns));
}

Run TestGateway::run(Side side, const Bytes& frame, std::uint32_t ifindex, std::size_t metadata,
                     std::size_t linear) const {
  Bytes in(metadata);
  in.insert(in.end(), frame.begin(), frame.end());
  Run run;
  run.out.resize(in.size() + 256);
  xdp_md context{};
  context.data = static_cast<__u32>(metadata);
  context.data_end = static_cast<__u32>(linear != 0 ? metadata + linear : in.size());
  context.ingress_ifindex = ifindex;
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = in.data();
  options.data_size_in = static_cast<__u32>(in.size());
  options.data_out = run.out.data();
  options.data_size_out = static_cast<__u32>(run.out.size());
  options.ctx_in = &context;
  options.ctx_size_in = sizeof context;
  options.repeat = 1;
  const Books before = read_books(*plane_);
  const config::Role role = side == Side::underlay ? config::Role::underlay : config::Role::local;
  REQUIRE(::bpf_prog_test_run_opts(plane_->program_fd(role), &options) == 0);
  run.action = options.retval;
  run.out.resize(options.data_size_out);
  run.end = audit(before, read_books(*plane_), frame.size(), run.action);
  return run;
}

bool TestGateway::can_take(std::size_t metadata) const {
  return takes(Bytes(metadata + 64), metadata, metadata + 64);
}

bool TestGateway::can_split() const {
  return takes(Bytes(64), 0, 32);
}

bool TestGateway::takes(const Bytes& frame, std::size_t data, std::size_t data_end) const {
  xdp_md context{};
  context.data = static_cast<__u32>(data);
  context.data_end = static_cast<__u32>(data_end);
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<__u32>(frame.size());
  options.ctx_in = &context;
  options.ctx_size_in = sizeof context;
  return ::bpf_prog_test_run_opts(plane_->program_fd(config::Role::local), &options) == 0;
}

Run TestGateway::underlay(const Bytes& frame) const {
  return run(Side::underlay, frame, Network::get().underlay.ifindex);
}

Run TestGateway::local(const Bytes& frame) const {
  return run(Side::local, frame, Network::get().site.ifindex);
}

void TestGateway::remove_inner(std::string_view table) {
  const std::uint32_t zero = 0;
  __u64 selector = 0;
  REQUIRE(::bpf_map_lookup_elem(plane_->map_fd("selector"), &zero, &selector) == 0);
  const std::uint32_t slot = PT_SELECTOR_SLOT(selector);
  REQUIRE(::bpf_map_delete_elem(plane_->map_fd(table), &slot) == 0);
}

std::array<std::uint64_t, PT_INCIDENT_COUNT> TestGateway::incidents() const {
  std::array<std::uint64_t, PT_INCIDENT_COUNT> sums{};
  for (std::uint32_t key = 0; key < PT_INCIDENT_COUNT; ++key)
    for (const std::uint64_t part : per_cpu<std::uint64_t>(plane_->map_fd("incidents"), &key))
      sums[key] += part;
  return sums;
}

pt_peer_count TestGateway::peer_count(Who who) const {
  const std::uint32_t key = who;
  pt_peer_count sum{};
  for (const pt_peer_count& part : per_cpu<pt_peer_count>(plane_->map_fd("peer_counts"), &key)) {
    for (const auto& [to, from] : {std::pair(&sum.rx, &part.rx), std::pair(&sum.tx, &part.tx),
                                   std::pair(&sum.dropped, &part.dropped)}) {
      to->packets += from->packets;
      to->bytes += from->bytes;
    }
  }
  return sum;
}

}  // namespace postern::testing
