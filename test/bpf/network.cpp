// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "core/unique_fd.h"
#include "support/frame.h"

namespace postern::testing {
namespace {

constexpr const char* kHostMac = "02:00:00:00:0a:01";
constexpr const char* kRouterMac = "02:00:00:00:0b:01";

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "cannot build the test network: %s: %s\n", what.c_str(), std::strerror(errno));
  std::abort();
}

void write_setting(const std::string& path, const char* value) {
  std::ofstream file(path);
  file << value << std::flush;
  if (!file) give_up(path);
}

void run_ip_batch(const std::string& commands) {
  FILE* pipe = ::popen("ip -batch -", "w");
  if (pipe == nullptr) give_up("ip");
  std::fputs(commands.c_str(), pipe);
  if (::pclose(pipe) != 0) give_up("ip -batch");
}

std::string commands() {
  std::string out = "link set lo up\n";
  const auto link = [&out](const std::string& name, const std::string& last) {
    out += "link add " + name + " address 02:00:00:00:00:" + last + " type veth peer name " + name + "p\n";
    out += "link set " + name + " up\nlink set " + name + "p up\n";
  };
  const auto neighbour = [&out](const std::string& address, const char* device, const char* address_mac) {
    out += "neigh replace " + address + " lladdr " + address_mac + " dev " + device + " nud permanent\n";
  };
  link("u0", "10");
  link("l0", "11");
  link("l1", "12");
  link("x0", "13");
  link("u9", "14");
  link("h0", "16");
  link("l9", "15");
  link("v3", "17");
  link("v4", "18");
  for (const char* device : {"u9", "u9p", "l9", "l9p"})
    out += std::string("link set ") + device + " mtu 9216\n";
  out += "addr add 198.18.0.1/24 dev u9\naddr add 10.1.64.1/24 dev l9\n";
  neighbour("198.18.0.15", "u9", kRouterMac);
  neighbour("10.1.64.10", "l9", kHostMac);
  out += "addr add 10.1.30.1/24 dev v3\naddr add 10.1.40.1/24 dev v4\n";
  neighbour("10.1.30.10", "v3", kHostMac);
  neighbour("10.1.40.10", "v4", kHostMac);
  out += "addr add 192.0.2.1/24 dev u0\naddr add 2001:db8::1/64 dev u0 nodad\n";
  neighbour("2001:db8::e", "u0", kRouterMac);
  out += "addr add 10.1.0.1/24 dev l0\naddr add fd01::1/64 dev l0 nodad\n";
  out += "addr add 10.9.0.1/24 dev l1\n";
  for (int i = 2; i <= 12; ++i)
    neighbour("192.0.2." + std::to_string(i), "u0", kRouterMac);
  neighbour("10.1.0.10", "l0", kHostMac);
  neighbour("fd01::10", "l0", kHostMac);
  neighbour("10.9.0.10", "l1", kHostMac);
  neighbour("10.1.7.7", "x0", kHostMac);
  neighbour("10.1.8.8", "u0", kRouterMac);
  out += "route add 10.1.5.0/24 via 10.1.0.10 dev l0 mtu lock 600\n";
  out += "route add 10.1.7.0/24 dev x0\n";
  out += "route add 10.1.8.0/24 dev u0\n";
  out += "route add 10.1.9.0/24 via 10.9.0.10 dev l1\n";
  out += "route add 203.0.113.0/24 via 10.9.0.10 dev l1\n";
  return out;
}

UniqueFd pass_program() {
  const bpf_insn code[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = XDP_PASS},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_XDP_HAS_FRAGS);
  UniqueFd program(::bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", code, 2, &options));
  if (!program) give_up("an XDP program that passes");
  return program;
}

Interface interface(const char* name, int program_fd, const char* address) {
  const unsigned ifindex = ::if_nametoindex(name);
  if (ifindex == 0) give_up(name);
  if (::bpf_xdp_attach(static_cast<int>(ifindex), program_fd, XDP_FLAGS_DRV_MODE, nullptr) != 0)
    give_up(name);
  return {ifindex, testing::mac(address)};
}

}  // namespace

const Network& Network::get() {
  static const Network network;
  return network;
}

Network::Network() : host(testing::mac(kHostMac)), router(testing::mac(kRouterMac)) {
  if (::unshare(CLONE_NEWNET) != 0) give_up("unshare (root is needed)");
  write_setting("/proc/sys/net/ipv4/conf/all/forwarding", "1");
  write_setting("/proc/sys/net/ipv6/conf/all/forwarding", "1");
  run_ip_batch(commands());
  const UniqueFd program = pass_program();
  underlay = interface("u0", program.get(), "02:00:00:00:00:10");
  site = interface("l0", program.get(), "02:00:00:00:00:11");
  other_site = interface("l1", program.get(), "02:00:00:00:00:12");
  stray = interface("x0", program.get(), "02:00:00:00:00:13");
  host_port = interface("h0", program.get(), "02:00:00:00:00:16");
  jumbo_underlay = interface("u9", program.get(), "02:00:00:00:00:14");
  jumbo_site = interface("l9", program.get(), "02:00:00:00:00:15");
  blue = interface("v3", program.get(), "02:00:00:00:00:17");
  red = interface("v4", program.get(), "02:00:00:00:00:18");
}

}  // namespace postern::testing
