// SPDX-License-Identifier: Apache-2.0
// The YAML policy that people write, as a checked tree with its positions (SPEC 6.2; example in
// config/policy.yaml). authority/policy.h turns it into a snapshot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "core/ids.h"
#include "core/ip.h"
#include "core/result.h"

namespace postern::config {

inline constexpr std::size_t kMaxPolicyBytes = 64U << 20;

// A name that the policy uses: what it should be the name of, and where it stands.
enum class PolicyNameOf {
  segment,
  owner_peer,
  owner_gateway,
  owner_resource,
  owner_service,
  gateway,
  declared_class
};
struct PolicyReference {
  PolicyNameOf kind = PolicyNameOf::segment;
  std::string name;
  int line = 0;
  int column = 0;
};

// Every item carries the line where it stands, for errors found when the policy is compiled.
struct PolicySegmentAddress {
  std::string segment;
  IpAddress address;
};
struct PolicyGateway {
  std::string id;
  std::vector<std::string> tags;  // of all its prefixes
  std::string key;                // base64
  std::vector<Endpoint> links;
  std::vector<IpAddress> underlay;
  MacAddress mac;
  std::vector<PolicySegmentAddress> addresses;
  bool revoked = false;
  int line = 0;
};
struct PolicySegment {
  std::string id;
  Vni vni;
  int line = 0;
};
struct PolicyPeer {
  std::string id;
  std::vector<std::string> tags;  // of all its prefixes
  std::vector<IpAddress> addresses;
  std::vector<std::string> segments;
  std::optional<MacAddress> mac;
  bool revoked = false;
  std::optional<UtcSeconds> not_before;
  std::optional<UtcSeconds> expires;
  std::optional<std::string> via;
  std::optional<std::uint64_t> rate_bytes_per_s;
  std::optional<std::uint64_t> rate_packets_per_s;
  std::string tunnel = "vxlan";
  int line = 0;
};
struct PolicyPrefix {
  std::string segment;
  IpPrefix prefix;
  std::string owner_kind;  // "peer", "gateway", "resource" or "service"
  std::string owner;
  std::string class_id;           // empty: the class is found by tags
  std::vector<std::string> tags;  // besides its owner's
  int line = 0;
};
struct PolicyResource {
  std::string id;
  std::vector<std::string> tags;  // of all its prefixes
  std::uint32_t number = 0;
  std::vector<std::string> candidates;
  std::uint32_t ttl_ms = 10'000;
  std::uint64_t floor = 0;
  int line = 0;
};
struct PolicyBackend {
  IpAddress address;
  std::uint32_t weight = 1;
  bool drain = false;
};
struct PolicyService {
  std::string id;
  std::string protocol;
  std::uint16_t port = 0;
  std::vector<PolicyBackend> backends;
  int line = 0;
};
// A prefix without a class is of the class whose tags it has; of several, of the one with most tags.
struct PolicyClass {
  std::string id;
  std::vector<std::string> tags;
  int line = 0;
};
struct PolicyRule {
  std::string from;
  std::string to;
  std::string protocol;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> ports;
  std::vector<std::uint8_t> types;
  std::vector<std::uint8_t> codes;
  bool strict = false;
  bool fragments = false;
  int line = 0;
  int from_column = 0;  // of the two classes
  int to_column = 0;
};

// Who must reach what, or must not. `from` and `to` are addresses of the segment.
struct PolicyTest {
  std::string segment;
  IpAddress from;
  IpAddress to;
  std::string protocol;
  std::optional<std::uint16_t> port;  // tcp, udp
  std::optional<std::uint8_t> type;   // icmp, icmpv6
  std::optional<std::uint8_t> code;   // of the type; none: all of them
  bool allow = false;
  int line = 0;
};

struct PolicyFile {
  std::string mesh;
  bool close_on_expiry = false;
  std::uint32_t threshold = 1;
  std::vector<std::string> root_keys;  // base64
  std::vector<PolicyGateway> gateways;
  std::vector<PolicySegment> segments;
  std::vector<PolicyPeer> peers;
  std::vector<PolicyClass> classes;
  std::vector<PolicyPrefix> prefixes;
  std::vector<PolicyResource> resources;
  std::vector<PolicyService> services;
  std::vector<PolicyRule> rules;
  std::vector<PolicyTest> tests;
  std::vector<PolicyReference> references;  // in the order of the text
};

Result<PolicyFile> parse_policy_file(std::string_view yaml, std::string_view origin);

}  // namespace postern::config
