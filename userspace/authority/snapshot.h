// SPDX-License-Identifier: Apache-2.0
// The snapshot: the complete statement of a mesh that the authority signs (SPEC 3.3). This header is the
// document's grammar as types; snapshot_codec.h reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/ip.h"
#include "wire/sign.h"

namespace postern::authority {

enum class State { active, revoked };
enum class OnExpiry { hold, close };
enum class Protocol { tcp, udp, icmp, icmpv6, any };

struct Root {
  std::uint32_t threshold = 1;
  std::vector<wire::PublicKey> keys;
  friend bool operator==(const Root&, const Root&) = default;
};

struct SegmentAddress {
  std::string segment;
  IpAddress address;
  friend bool operator==(const SegmentAddress&, const SegmentAddress&) = default;
};

// {"addresses":[{"address","segment"}],"id","key","links":["ip:port"],"mac","state","underlay":["ip"]}
struct Gateway {
  std::string id;
  wire::PublicKey key;
  std::vector<Endpoint> links;
  std::vector<IpAddress> underlay;        // tunnel addresses
  MacAddress mac;                         // inner MAC
  std::vector<SegmentAddress> addresses;  // its own address in a segment, at most one a family and segment
  State state = State::active;
  friend bool operator==(const Gateway&, const Gateway&) = default;
};

// {"id","key"}: a gateway that was removed; its key stays known.
struct Tombstone {
  std::string id;
  wire::PublicKey key;
  friend bool operator==(const Tombstone&, const Tombstone&) = default;
};

// {"gateway"?,"id","mac"?,"vni"}: mac and gateway are the segment's virtual MAC and address, if it has them.
struct Segment {
  std::string id;
  Vni vni;
  std::optional<MacAddress> mac;
  std::optional<IpAddress> gateway;
  friend bool operator==(const Segment&, const Segment&) = default;
};

enum class Tunnel { vxlan, geneve };

// {"addresses":["ip"],"expires"?,"id","mac"?,"not_before"?,"packet_rate"?,"rate"?,"segments":["id"],"state",
//  "tunnel"?,"via"?}
struct Peer {
  std::string id;
  std::vector<IpAddress> addresses;  // underlay
  std::vector<std::string> segments;
  std::optional<MacAddress> mac;  // inner
  std::optional<std::string> via;
  State state = State::active;
  std::optional<UtcSeconds> not_before;
  std::optional<UtcSeconds> expires;
  // What it may send, and what may be sent to it, each.
  std::optional<std::uint64_t> rate_bytes_per_s;
  std::optional<std::uint64_t> rate_packets_per_s;
  Tunnel tunnel = Tunnel::vxlan;
  friend bool operator==(const Peer&, const Peer&) = default;
};

enum class OwnerKind { peer, gateway, resource, service };
// {"peer":ID} | {"gateway":ID} | {"resource":ID} | {"service":ID}
struct Owner {
  OwnerKind kind = OwnerKind::peer;
  std::string id;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// {"class","owner","prefix","segment"}
struct Prefix {
  std::string segment;
  IpPrefix prefix;
  Owner owner;
  std::string class_id;
  friend bool operator==(const Prefix&, const Prefix&) = default;
};

// {"candidates":[gateway],"former":[gateway],"id","number","ttl_ms"}
struct Resource {
  std::string id;
  ResourceNumber number;
  std::vector<std::string> candidates;
  std::vector<std::string> former;
  std::uint32_t ttl_ms = 10'000;
  friend bool operator==(const Resource&, const Resource&) = default;
};

struct Backend {
  IpAddress address;
  std::uint32_t weight = 1;
  bool drain = false;  // keeps the flows that it has, and gets no new ones
  friend bool operator==(const Backend&, const Backend&) = default;
};

// {"backends":[{"address","drain"?,"weight"}],"id","port","protocol"}. Its address is the prefix that it
// owns.
struct Service {
  std::string id;
  Protocol protocol = Protocol::tcp;  // tcp or udp
  std::uint16_t port = 0;
  std::vector<Backend> backends;
  friend bool operator==(const Service&, const Service&) = default;
};

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 65535;
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

// {"codes"?:[code],"fragments"?,"from","ports"?:[[first,last]],"protocol","strict"?,"to","types"?:[type]}.
// No ports, types or codes: all of them.
struct Rule {
  std::string from;
  std::string to;
  Protocol protocol = Protocol::tcp;
  std::vector<PortRange> ports;     // tcp, udp
  std::vector<std::uint8_t> types;  // icmp, icmpv6
  std::vector<std::uint8_t> codes;  // of each of the types
  bool strict = false;              // replies are not implied
  bool fragments = false;           // later fragments, which have no ports, pass too
  friend bool operator==(const Rule&, const Rule&) = default;
};

struct EpochFloor {
  std::string resource;
  Epoch epoch;
  friend bool operator==(const EpochFloor&, const EpochFloor&) = default;
};

struct Snapshot {
  std::string mesh;
  Serial serial;
  Hash256 prev{};  // hash of the payload before; zero for the first
  UtcSeconds issued;
  UtcSeconds expires;
  OnExpiry on_expiry = OnExpiry::hold;
  Root root;
  std::vector<Gateway> gateways;
  std::vector<Tombstone> tombstones;
  std::vector<Segment> segments;
  std::vector<Peer> peers;
  std::vector<Prefix> prefixes;
  std::vector<Resource> resources;
  std::vector<Service> services;
  std::vector<std::string> classes;  // {"id"} each
  std::vector<Rule> rules;
  std::vector<EpochFloor> epoch_floors;
  // grants: the list must be empty in this version of the document (SPEC 3.3).
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace postern::authority
