// SPDX-License-Identifier: Apache-2.0
// The gateway's surroundings for BPF_PROG_TEST_RUN: a network namespace of the test process with an underlay
// interface u0, two site interfaces l0 and l1, and one, x0, that no configuration names. All are veths with a
// native XDP program, since a test run can only claim to come from an interface whose receive queue is
// registered.
//
//   u0 192.0.2.1/24 2001:db8::1/64   neighbours .2 to .12 and ::e; .99 is not resolved; 203.0.113.0/24 is
//   routed out of l1
//   l0 10.1.0.1/24 fd01::1/64   hosts 10.1.0.10, fd01::10; 10.1.0.99 and fd01::99 are not resolved
//   l1 10.9.0.1/24      host 10.9.0.10
//   h0, without addresses: the far end of a host port
//   v3 10.1.30.1/24, host 10.1.30.10; v4 10.1.40.1/24, host 10.1.40.10: stand in for VLANs
//   u9 198.18.0.1/24, MTU 9216, neighbour .15; l9 10.1.64.1/24, MTU 9216, host 10.1.64.10
//   routes into the site: 10.1.5.0/24 MTU 600 by l0; 10.1.7.0/24 by x0; 10.1.8.0/24 by u0; 10.1.9.0/24 by l1;
//   no others
#pragma once

#include <cstdint>

#include "core/ip.h"

namespace postern::testing {

struct Interface {
  std::uint32_t ifindex = 0;
  MacAddress mac;
};

class Network {
 public:
  // One for the process: moves the calling thread into a new network namespace the first time.
  static const Network& get();

  Interface underlay;        // u0
  Interface site;            // l0
  Interface other_site;      // l1
  Interface stray;           // x0
  Interface host_port;       // h0
  Interface jumbo_underlay;  // u9
  Interface jumbo_site;      // l9
  Interface blue;            // v3
  Interface red;             // v4
  MacAddress host;           // every neighbour on a site interface
  MacAddress router;         // every neighbour on the underlay

 private:
  Network();
};

}  // namespace postern::testing
