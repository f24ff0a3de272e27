// SPDX-License-Identifier: Apache-2.0
// A packet that an operator describes by its fields, made into the frame that would arrive (SPEC 1.17).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"
#include "core/bytes.h"
#include "core/ip.h"
#include "core/result.h"
#include "dataplane/compile.h"
#include "dataplane/tables.h"
#include "wire/json.h"

namespace postern::agent {

struct AskedPacket {
  IpAddress source;
  IpAddress destination;
  std::uint8_t protocol = 6;  // IANA's number
  std::uint16_t source_port = 40000;
  std::uint16_t destination_port = 0;
  std::uint8_t type = 8;  // ICMP
  std::uint8_t code = 0;
  std::uint8_t tcp_flags = 0x02;
  std::uint8_t ttl = 64;
  bool dont_fragment = true;
  std::size_t payload_bytes = 0;
  // On the underlay: the tunnel that it comes in.
  bool plain = false;                  // in none
  std::optional<std::string> peer;     // whose; default: the owner of `source`
  std::optional<std::string> segment;  // default: the only one, or the one in which `source` is owned
  std::optional<std::uint32_t> vni;    // instead of a segment's
  std::optional<IpAddress> from;       // tunnel address, instead of the peer's
};

// Reads the members of `packet`; control.bad_argument names what is wrong with which.
Result<AskedPacket> read_asked_packet(const wire::Json& packet);

// The interface that it is to arrive on.
struct AskedPort {
  config::Role role = config::Role::underlay;
  MacAddress mac;
  std::uint16_t vlan = 0;  // whose tag the frame has; 0: none
};

// Fails with control.bad_argument where a tunnel cannot be told from the tables, saying what to add.
Result<Bytes> frame_of(const AskedPacket& packet, const AskedPort& port, const dataplane::Tables& tables,
                       const dataplane::Legend& legend);

}  // namespace postern::agent
