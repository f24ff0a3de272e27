// SPDX-License-Identifier: Apache-2.0
// What one packet costs in the packet path, by how it ends: BPF_PROG_TEST_RUN of the loaded programs with the
// mesh of the kernel tests. Ways that leave the packet as it is run in one call with many repeats; ways that
// rewrite it run once a call, because a repeat would be fed the rewritten packet. Both are compared with the
// cheapest verdict of the same program measured in the same manner, in alternation, so that machine and
// harness cancel out.
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cpu_time.h"
#include "dataplane/attachments.h"
#include "dataplane/generations.h"
#include "dataplane/plane.h"
#include "mesh.h"

namespace postern::testing {
namespace {

using bench::median;

struct Way {
  const char* name;
  config::Role role;
  Bytes frame;
  bool rewritten;
  // Sent once before, so that the packet measured finds a flow.
  Bytes opened_by = {};
};

constexpr int kRounds = 15;
constexpr unsigned kRepeats = 200'000;
constexpr unsigned kSingles = 20'000;

// A Geneve packet without options: a VXLAN packet but for its port and the first word.
Bytes geneve_from(Who who, const Bytes& packet) {
  Bytes frame = from_peer_packet(who, packet);
  constexpr std::size_t kUdp = 34;
  store_be16(frame, kUdp + 2, PT_GENEVE_PORT);
  store_be16(frame, kUdp + 8, 0);
  store_be16(frame, kUdp + 10, 0x6558);
  return frame;
}

// The tests' mesh, with a rate, a resource, a service and a UDP rule of one direction.
dataplane::Tables bench_tables() {
  constexpr std::uint64_t kNs = 1'000'000'000;
  dataplane::Tables tables = mesh_tables();
  set_port_class(tables, PT_PROTO_UDP, 123, 2);
  allow(tables, kSiteClass, kPeerClass, PT_PROTO_UDP, 2);
  allow(tables, kResourceClass, kSiteClass, PT_PROTO_TCP, 1);
  peer_row(tables, kBeta).flags = PT_PEER_METERED;
  endpoint_row(tables, kBeta).flags = PT_PEER_METERED;
  // More than the bench can send, in chunks of a millisecond.
  tables.rates.push_back({kBeta, {{kNs / 1000, kNs, 10'000'000}, {kNs / 1000, kNs, 10'000}}});
  tables.resources.push_back({1, {1, kGatewayC, 0}});
  endpoint_row(tables, kGatewayC).tunnel = PT_TUNNEL_GENEVE;
  add_owner(tables, kVni, *IpPrefix::parse("10.30.0.1/32"), {PT_OWNER_SERVICE, 0, kSiteClass, 0});
  pt_service door{};
  door.port = 80;
  door.protocol = PT_PROTO_TCP;
  tables.services.push_back({0, door});  // every place is backend 0
  tables.backends.push_back({{0, 0}, {table_address(site_host())}});
  sort_rows(tables);
  return tables;
}

std::vector<Way> ways() {
  const auto syn = [](const IpAddress& from, const IpAddress& to) {
    return tcp_packet({from, to}, 40000, 80, kSyn);
  };
  const auto in = [&](const IpAddress& from, const IpAddress& to) {
    return from_peer_packet(kAlpha, syn(from, to));
  };
  using config::Role;
  return {
      {"pass: ARP on the underlay", Role::underlay, ethernet(our_mac(), peer_mac(kAlpha), kArp, Bytes(28)),
       false},
      {"drop: unknown peer", Role::underlay,
       on_underlay(vxlan_packet({ip("192.0.2.77"), our_underlay()}, 50000, kVni, Bytes(64))), false},
      {"decapsulate, IPv4", Role::underlay, in(inside(kAlpha), site_host()), true},
      {"decapsulate, IPv6", Role::underlay, in(inside6(kAlpha), site_host6()), true},
      {"drop: denied by policy", Role::underlay,
       from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 81, kSyn)), true},
      {"drop: denied UDP, no flow", Role::underlay,
       from_peer_packet(kAlpha, udp_packet({inside(kAlpha), site_host()}, 40000, 7000)), true},
      {"decapsulate, UDP by a rule", Role::underlay,
       from_peer_packet(kAlpha, udp_packet({inside(kAlpha), site_host()}, 40000, 53)), true},
      {"decapsulate, UDP by a flow", Role::underlay,
       from_peer_packet(kAlpha, udp_packet({inside(kAlpha), site_host()}, 123, 40000)), true,
       on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 123))},
      {"decapsulate, metered peer", Role::underlay, from_peer_packet(kBeta, syn(inside(kBeta), site_host())),
       true},
      {"decapsulate, Geneve", Role::underlay, geneve_from(kGatewayC, syn(inside(kGatewayC), site_host())),
       true},
      {"decapsulate, held resource", Role::underlay,
       from_peer_packet(kGatewayC, syn(ip("10.20.0.7"), site_host())), true},
      {"decapsulate, to a service", Role::underlay, in(inside(kAlpha), ip("10.30.0.1")), true},
      {"encapsulate, Geneve", Role::local, on_site(syn(site_host(), inside(kGatewayC))), true},
      {"relay, IPv4", Role::underlay, in(inside(kAlpha), inside(kBeta)), true},
      {"encapsulate, IPv4", Role::local, on_site(syn(site_host(), inside(kAlpha))), true},
      {"encapsulate, IPv6", Role::local, on_site(syn(site_host6(), inside6(kAlpha))), true},
  };
}

std::uint32_t run_once(int program, const Way& way, unsigned repeat) {
  Bytes out(way.frame.size() + 512);
  xdp_md context{};
  context.data_end = static_cast<__u32>(way.frame.size());
  context.ingress_ifindex =
      way.role == config::Role::underlay ? Network::get().underlay.ifindex : Network::get().site.ifindex;
  LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = way.frame.data(), .data_out = out.data(),
              .data_size_in = static_cast<__u32>(way.frame.size()),
              .data_size_out = static_cast<__u32>(out.size()), .ctx_in = &context,
              .ctx_size_in = sizeof context, .repeat = static_cast<int>(repeat));
  return ::bpf_prog_test_run_opts(program, &options) == 0 ? options.duration : 0;
}

// Nanoseconds a packet.
double measure(int program, const Way& way) {
  if (!way.rewritten) return run_once(program, way, kRepeats);
  std::vector<std::uint32_t> single(kSingles);
  for (std::uint32_t& ns : single)
    ns = run_once(program, way, 1);
  std::nth_element(single.begin(), single.begin() + kSingles / 2, single.end());
  return single[kSingles / 2];
}

int fill(int devmap, std::initializer_list<std::uint32_t> interfaces) {
  for (const std::uint32_t ifindex : interfaces)
    if (::bpf_map_update_elem(devmap, &ifindex, &ifindex, BPF_ANY) != 0) return -1;
  return 0;
}

int run() {
  const Network& network = Network::get();
  Result<std::unique_ptr<dataplane::Plane>> plane = dataplane::Plane::open_unpinned();
  if (!plane) return std::fprintf(stderr, "%s\n", plane.error().message().c_str()), 1;
  Result<dataplane::Generations> generations = dataplane::Generations::open(**plane);
  if (!generations || !generations->adopt(bench_tables())) return std::fprintf(stderr, "no tables\n"), 1;
  if (fill((*plane)->map_fd("egress_underlay"), {network.underlay.ifindex}) != 0 ||
      fill((*plane)->map_fd("egress_local"), {network.site.ifindex, network.other_site.ifindex}) != 0) {
    return std::fprintf(stderr, "no devmaps\n"), 1;
  }

  const dataplane::Leases& leases = generations->leases();
  if (!leases.raise_fence(ResourceNumber(1), Epoch(1)) ||
      !leases.extend(ResourceNumber(1), Epoch(1), ~std::uint64_t{0})) {
    return std::fprintf(stderr, "no lease\n"), 1;
  }
  const std::vector<Way> all = ways();
  for (const Way& way : all) {
    if (way.opened_by.empty()) continue;
    run_once((*plane)->program_fd(config::Role::local), {"", config::Role::local, way.opened_by, true}, 1);
  }
  std::vector<std::vector<double>> ns(all.size());
  std::vector<double> single_floor;
  Way floor = all.front();
  floor.rewritten = true;
  for (int round = 0; round < kRounds; ++round) {
    single_floor.push_back(measure((*plane)->program_fd(floor.role), floor));
    for (std::size_t i = 0; i < all.size(); ++i)
      ns[i].push_back(measure((*plane)->program_fd(all[i].role), all[i]));
  }

  utsname machine{};
  ::uname(&machine);
  std::printf("datapath: %s %s; BPF_PROG_TEST_RUN, median of %d rounds\n", machine.sysname, machine.release,
              kRounds);
  std::printf("%-28s %10s %10s\n", "way", "ns/packet", "ratio");
  std::string json;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double base = all[i].rewritten ? median(single_floor) : median(ns[0]);
    const double own = median(ns[i]);
    std::printf("%-28s %10.0f %10.2f\n", all[i].name, own, own / base);
    json += std::string(i ? "," : "") + "{\"ns\":" + std::to_string(own) +
            ",\"ratio\":" + std::to_string(own / base) + ",\"way\":\"" + all[i].name + "\"}";
  }
  std::printf("(ratio to \"%s\" measured in the same manner: repeated %.0f ns, single %.0f ns)\n",
              all[0].name, median(ns[0]), median(single_floor));
  std::FILE* file = std::fopen("build/bench-datapath.json", "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "{\"kernel\":\"%s\",\"ways\":[%s]}\n", machine.release, json.c_str());
  return std::fclose(file);
}

}  // namespace
}  // namespace postern::testing

int main() {
  return postern::testing::run();
}
