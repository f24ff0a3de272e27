// SPDX-License-Identifier: Apache-2.0
// Random packets, noise and changed ones of the cases, through both programs. Whatever they are, the
// books balance, nothing aborts, and what comes out of a tunnel comes from an address that its sender owns.
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <cstdlib>
#include <numeric>
#include <random>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::uint64_t kSeed = 0x706f737465726e;
// A hundred times as many in the long runs (`make nightly`).
const unsigned kPackets = std::getenv("NIGHTLY") != nullptr ? 10'000'000 : 100'000;
constexpr std::size_t kLeast = 14;  // a test run takes no less
constexpr std::size_t kMost = 3000;

class Mutator {
 public:
  explicit Mutator(std::vector<Bytes> seeds) : seeds_(std::move(seeds)) {}

  Bytes next() {
    Bytes packet = below(10) == 0 ? noise() : seeds_[below(seeds_.size())];
    const std::size_t changes = below(4);
    for (std::size_t i = 0; i < changes; ++i)
      change(packet);
    packet.resize(std::clamp(packet.size(), kLeast, kMost));
    return packet;
  }
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

 private:
  std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }
  Bytes noise() {
    Bytes packet(below(1600));
    for (std::uint8_t& b : packet)
      b = byte();
    return packet;
  }
  void change(Bytes& packet) {
    if (packet.empty()) return;
    const std::size_t at = below(std::min<std::size_t>(packet.size(), 120));
    switch (below(6)) {
      case 0:
        packet[at] = byte();
        break;
      case 1:
        packet[at] = static_cast<std::uint8_t>(packet[at] ^ 1u << below(8));
        break;
      case 2:
        packet.resize(below(packet.size()) + 1);
        break;
      case 3:
        packet.resize(packet.size() + below(2000), byte());
        break;
      case 4: {
        const Bytes& other = seeds_[below(seeds_.size())];
        if (at < other.size())
          std::copy(other.begin() + static_cast<std::ptrdiff_t>(at), other.end(),
                    (packet.resize(std::max(packet.size(), other.size())),
                     packet.begin() + static_cast<std::ptrdiff_t>(at)));
        break;
      }
      default:
        packet.insert(packet.begin() + static_cast<std::ptrdiff_t>(at), below(8) + 1, byte());
    }
  }

  std::vector<Bytes> seeds_;
  std::mt19937_64 random_{kSeed};
};

struct Counted {
  std::uint64_t all = 0;
  std::uint64_t dropped = 0;
  std::uint64_t reasons = 0;
};

Counted count(const TestGateway& gateway) {
  Counted sum;
  const auto verdicts = read_counts(gateway.plane().map_fd("verdicts"), PT_PORT_SLOTS * PT_VERDICT_COUNT);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    sum.all += verdicts[i].packets;
    const std::size_t verdict = i % PT_VERDICT_COUNT;
    if (verdict == PT_VERDICT_DROP || verdict == PT_VERDICT_REFUSED) sum.dropped += verdicts[i].packets;
  }
  for (const pt_count& reason : read_counts(gateway.plane().map_fd("drops"), PT_DROP_REASON_COUNT))
    sum.reasons += reason.packets;
  return sum;
}

// The peer whose tunnel this frame claims to come from, 0 for none (192.0.2.<id>, see mesh.h).
unsigned claimed_sender(const Bytes& frame) {
  return frame.size() > 30 && load_be16(frame, 26) == 0xc000 && frame[28] == 2 ? frame[29] : 0;
}

bool may_be_icmp_error(const Bytes& out) {
  if (load_be16(out, 12) == kIpv6) return out[20] != 6 && out[20] != 17;  // behind extension headers, perhaps
  const std::uint8_t type = out[14 + (out[14] & 0xf) * 4];
  return out[23] == 1 && (type == 3 || type == 11 || type == 12);
}

// Out of a tunnel into the site: a frame to the host's MAC, with its source inside of the sender's prefix,
// or, for an ICMP error, in nobody's.
bool source_is_senders(const Bytes& in, const Bytes& out) {
  const unsigned sender = claimed_sender(in);
  const bool six = load_be16(out, 12) == kIpv6;
  const unsigned owner = out[six ? 23 : 27];
  // In the mesh of these tests 1 is the site, 2 to 15 but 9 are peers (mesh.h).
  const bool owned = out[six ? 22 : 26] == (six ? 0xfd : 10) && owner >= 1 && owner <= kJumbo && owner != 9;
  return owned ? owner == sender : may_be_icmp_error(out);
}

}  // namespace

TEST_CASE(
    "random and changed packets neither abort nor go uncounted nor get past the owner "
    "check") {
  std::vector<Bytes> seeds;
  for (const PacketCase& one : all_cases())
    seeds.push_back(one.frame);
  Mutator mutator(std::move(seeds));
  const TestGateway gateway(mesh_tables());
  const Network& network = Network::get();
  const Counted before = count(gateway);
  Bytes out(kMost + 512);
  unsigned delivered_count = 0;
  for (unsigned i = 0; i < kPackets; ++i) {
    Bytes in = mutator.next();
    const bool underlay = mutator.below(2) == 0;
    xdp_md context{};
    context.data_end = static_cast<__u32>(in.size());
    context.ingress_ifindex = underlay ? network.underlay.ifindex : network.site.ifindex;
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = in.data();
    options.data_size_in = static_cast<__u32>(in.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<__u32>(out.size());
    options.ctx_in = &context;
    options.ctx_size_in = sizeof context;
    const config::Role role = underlay ? config::Role::underlay : config::Role::local;
    REQUIRE(::bpf_prog_test_run_opts(gateway.plane().program_fd(role), &options) == 0);
    const bool known =
        options.retval == XDP_DROP || options.retval == XDP_PASS || options.retval == XDP_REDIRECT;
    if (!known) FAIL("packet " << i << " ended with action " << options.retval << ": " << to_hex(in));
    if (underlay && options.retval == XDP_REDIRECT &&
        std::equal(network.host.bytes.begin(), network.host.bytes.end(), out.begin())) {
      ++delivered_count;
      if (!source_is_senders(in, out))
        FAIL("packet " << i << " passed with a source not its own: " << to_hex(in));
    }
  }
  CHECK(delivered_count > kPackets / 1000);
  const Counted after = count(gateway);
  CHECK(after.all - before.all == kPackets);
  CHECK(after.dropped - before.dropped == after.reasons - before.reasons);
}

}  // namespace postern::testing
