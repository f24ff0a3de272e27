// SPDX-License-Identifier: Apache-2.0
// From canonical bytes to typed values. Only forms and types are judged here; what the parts say of each
// other is judged by snapshot_check.h, which the compiler of policies shares.
#include "authority/root_codec.h"
#include "authority/snapshot_check.h"
#include "authority/snapshot_codec.h"
#include "authority/snapshot_names.h"
#include "core/utc.h"
#include "wire/fields.h"
#include "wire/json.h"

namespace postern::authority {
namespace {

using wire::Fields;
using wire::Json;

constexpr std::string_view kAddressForm = "an IPv4 or IPv6 address in its shortest spelling";
constexpr std::string_view kUtcForm = "a UTC instant like 2026-11-29T13:50:48Z";

// One value has one spelling: what is read must be spelled as it would be written.
template <class T>
std::optional<T> parse_spelled(std::string_view text) {
  std::optional<T> value = T::parse(text);
  if (value && value->text() != text) return std::nullopt;
  return value;
}

std::string expected(std::string_view found, std::string_view form) {
  return "is \"" + std::string(found.substr(0, 64)) + "\", expected " + std::string(form);
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
T read_as(Fields& fields, std::string_view key, Parse parse, std::string_view form) {
  const std::string text = fields.text(key);
  std::optional<T> value = parse(text);
  if (!value) fields.reject(key, expected(text, form));
  return value ? *std::move(value) : T{};
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
std::optional<T> read_optional_as(Fields& fields, std::string_view key, Parse parse, std::string_view form) {
  if (fields.optional(key) == nullptr) return std::nullopt;
  return read_as(fields, key, parse, form);
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
std::vector<T> read_all_as(Fields& fields, std::string_view key, Parse parse, std::string_view form) {
  std::vector<T> out;
  const Json::Array& elements = fields.array(key);
  out.reserve(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string* text = elements[i].as_string();
    std::optional<T> value = text == nullptr ? std::nullopt : parse(*text);
    if (!value) {
      fields.reject(
          key, "at [" + std::to_string(i) + "] " +
                   (text == nullptr ? "is no string, expected " + std::string(form) : expected(*text, form)));
      return out;
    }
    out.push_back(*std::move(value));
  }
  return out;
}

template <class Read, class T = std::invoke_result_t<Read, Fields&>>
std::vector<T> read_list(Fields& parent, std::string_view key, Read read) {
  std::vector<T> out;
  const Json::Array& elements = parent.array(key);
  if (!parent.ok()) return out;
  out.reserve(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Fields fields(elements[i], parent, key, i);
    out.push_back(read(fields));
    if (Result<> done = fields.finish(); !done) {
      parent.adopt(std::move(done).error());
      return out;
    }
  }
  return out;
}

std::optional<std::string> any_text(std::string_view text) {
  return std::string(text);
}

std::vector<std::string> read_ids(Fields& fields, std::string_view key) {
  return read_all_as(fields, key, any_text, "an id");
}

std::vector<IpAddress> read_addresses(Fields& fields, std::string_view key) {
  return read_all_as(fields, key, parse_spelled<IpAddress>, kAddressForm);
}

wire::PublicKey read_key(Fields& fields) {
  return read_as(fields, "key", wire::PublicKey::parse, "base64 of a 32-byte Ed25519 key");
}

MacAddress read_mac(Fields& fields) {
  return read_as(fields, "mac", MacAddress::parse, "a MAC address like 02:00:00:00:00:01, in lower case");
}

State read_state(Fields& fields) {
  return read_as(fields, "state", state_of, "\"active\" or \"revoked\"");
}

// True or absent: a written `false` would be a second spelling of nothing.
bool read_flag(Fields& fields, std::string_view key) {
  const Json* value = fields.optional(key);
  if (value == nullptr) return false;
  if (value->as_bool() == nullptr || !*value->as_bool()) {
    fields.reject(key, "must be true where it is written; leave it out for false");
  }
  return true;
}

void refuse_empty(Fields& fields, std::string_view key, bool empty) {
  if (empty) fields.reject(key, "is empty; leave it out to mean all");
}

Gateway read_gateway(Fields& fields) {
  Gateway out;
  out.addresses = read_list(fields, "addresses", [](Fields& entry) {
    SegmentAddress address;
    address.address = read_as(entry, "address", parse_spelled<IpAddress>, kAddressForm);
    address.segment = entry.text("segment");
    return address;
  });
  out.id = fields.text("id");
  out.key = read_key(fields);
  out.links = read_all_as(fields, "links", parse_spelled<Endpoint>, "address:port, or [IPv6 address]:port");
  out.mac = read_mac(fields);
  out.state = read_state(fields);
  out.underlay = read_addresses(fields, "underlay");
  return out;
}

Tombstone read_tombstone(Fields& fields) {
  Tombstone out;
  out.id = fields.text("id");
  out.key = read_key(fields);
  return out;
}

Segment read_segment(Fields& fields) {
  Segment out;
  out.gateway = read_optional_as(fields, "gateway", parse_spelled<IpAddress>, kAddressForm);
  out.id = fields.text("id");
  if (fields.optional("mac") != nullptr) out.mac = read_mac(fields);
  out.vni = Vni(static_cast<std::uint32_t>(fields.integer("vni", 1, kMaxVni)));
  return out;
}

Peer read_peer(Fields& fields) {
  Peer out;
  out.addresses = read_addresses(fields, "addresses");
  out.expires = read_optional_as(fields, "expires", parse_utc, kUtcForm);
  out.id = fields.text("id");
  if (fields.optional("mac") != nullptr) out.mac = read_mac(fields);
  out.not_before = read_optional_as(fields, "not_before", parse_utc, kUtcForm);
  if (fields.optional("packet_rate") != nullptr) out.rate_packets_per_s = fields.decimal("packet_rate");
  if (fields.optional("rate") != nullptr) out.rate_bytes_per_s = fields.decimal("rate");
  out.segments = read_ids(fields, "segments");
  out.state = read_state(fields);
  if (fields.optional("tunnel") != nullptr) {
    out.tunnel = read_as(fields, "tunnel", tunnel_of, "\"vxlan\" or \"geneve\"");
    if (out.tunnel == Tunnel::vxlan) fields.reject("tunnel", "is vxlan, which is what leaving it out means");
  }
  if (fields.optional("via") != nullptr) out.via = fields.text("via");
  return out;
}

Owner read_owner(Fields& parent) {
  Owner out;
  const Json& owner = parent.any("owner");
  if (!parent.ok()) return out;
  const Json::Object* members = owner.as_object();
  const std::optional<OwnerKind> kind =
      members != nullptr && members->size() == 1 ? owner_kind_of(members->front().first) : std::nullopt;
  if (!kind) {
    parent.reject("owner", "must be an object with exactly one of peer, gateway, resource, service");
    return out;
  }
  Fields fields(owner, parent, "owner");
  out.kind = *kind;
  out.id = fields.text(members->front().first);
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return out;
}

Prefix read_prefix(Fields& fields) {
  Prefix out;
  out.class_id = fields.text("class");
  out.owner = read_owner(fields);
  out.prefix =
      read_as(fields, "prefix", parse_spelled<IpPrefix>, "an address block like 10.1.0.0/24, host bits zero");
  out.segment = fields.text("segment");
  return out;
}

Resource read_resource(Fields& fields) {
  Resource out;
  out.candidates = read_ids(fields, "candidates");
  out.former = read_ids(fields, "former");
  out.id = fields.text("id");
  out.number = ResourceNumber(static_cast<std::uint32_t>(fields.integer("number", 0, kMaxResourceNumber)));
  out.ttl_ms = static_cast<std::uint32_t>(fields.integer("ttl_ms", kMinTtlMs, kMaxTtlMs));
  return out;
}

std::vector<PortRange> read_ports(Fields& fields) {
  std::vector<PortRange> out;
  if (fields.optional("ports") == nullptr) return out;
  const auto port = [](const Json& value) -> std::optional<std::uint16_t> {
    const std::int64_t* number = value.as_integer();
    if (number == nullptr || *number < 0 || *number > 65535) return std::nullopt;
    return static_cast<std::uint16_t>(*number);
  };
  for (const Json& element : fields.array("ports")) {
    const Json::Array* pair = element.as_array();
    const bool is_pair = pair != nullptr && pair->size() == 2;
    const auto first = is_pair ? port((*pair)[0]) : std::nullopt;
    const auto last = is_pair ? port((*pair)[1]) : std::nullopt;
    if (!first || !last) {
      fields.reject("ports",
                    "at [" + std::to_string(out.size()) + "] is no pair [first,last] of ports 0 to 65535");
      return out;
    }
    out.push_back({*first, *last});
  }
  refuse_empty(fields, "ports", out.empty());
  return out;
}

// ICMP types, or codes of them.
std::vector<std::uint8_t> read_icmp(Fields& fields, std::string_view key, std::string_view what) {
  std::vector<std::uint8_t> out;
  if (fields.optional(key) == nullptr) return out;
  for (const Json& element : fields.array(key)) {
    const std::int64_t* number = element.as_integer();
    if (number == nullptr || *number < 0 || *number > 255) {
      fields.reject(key, "at [" + std::to_string(out.size()) + "] is no " + std::string(what) + " 0 to 255");
      return out;
    }
    out.push_back(static_cast<std::uint8_t>(*number));
  }
  refuse_empty(fields, key, out.empty());
  return out;
}

Service read_service(Fields& fields) {
  Service out;
  out.backends = read_list(fields, "backends", [](Fields& entry) {
    Backend backend;
    backend.address = read_as(entry, "address", parse_spelled<IpAddress>, kAddressForm);
    backend.drain = read_flag(entry, "drain");
    backend.weight = static_cast<std::uint32_t>(entry.integer("weight", 1, kMaxWeight));
    return backend;
  });
  out.id = fields.text("id");
  out.port = static_cast<std::uint16_t>(fields.integer("port", 1, 65535));
  out.protocol = read_as(fields, "protocol", protocol_of, "tcp or udp");
  return out;
}

Rule read_rule(Fields& fields) {
  Rule out;
  out.codes = read_icmp(fields, "codes", "ICMP code");
  out.fragments = read_flag(fields, "fragments");
  out.from = fields.text("from");
  out.ports = read_ports(fields);
  out.protocol = read_as(fields, "protocol", protocol_of, "tcp, udp, icmp, icmpv6 or any");
  out.strict = read_flag(fields, "strict");
  out.to = fields.text("to");
  out.types = read_icmp(fields, "types", "ICMP type");
  return out;
}

EpochFloor read_floor(Fields& fields) {
  EpochFloor out;
  out.epoch = Epoch(fields.decimal("epoch"));
  out.resource = fields.text("resource");
  return out;
}

Root read_root_object(Fields& parent) {
  Fields fields(parent.any("root"), parent, "root");
  if (!parent.ok()) return {};
  Root out = read_root(fields);
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return out;
}

void expect_none(Fields& fields, std::string_view key) {
  if (!fields.array(key).empty()) {
    fields.reject(key, "must be empty: entries of this list are not supported by this version");
  }
}

Snapshot read_snapshot(Fields& fields) {
  Snapshot out;
  out.classes = read_list(fields, "classes", [](Fields& entry) { return entry.text("id"); });
  out.epoch_floors = read_list(fields, "epoch_floors", read_floor);
  out.expires = read_as(fields, "expires", parse_utc, kUtcForm);
  out.gateways = read_list(fields, "gateways", read_gateway);
  expect_none(fields, "grants");
  out.issued = read_as(fields, "issued", parse_utc, kUtcForm);
  out.mesh = fields.text("mesh");
  out.on_expiry = read_as(fields, "on_expiry", on_expiry_of, "\"hold\" or \"close\"");
  out.peers = read_list(fields, "peers", read_peer);
  out.prefixes = read_list(fields, "prefixes", read_prefix);
  out.prev = read_as(fields, "prev", array_from_hex<32>, "32 bytes of lower-case hex");
  out.resources = read_list(fields, "resources", read_resource);
  out.root = read_root_object(fields);
  out.rules = read_list(fields, "rules", read_rule);
  out.segments = read_list(fields, "segments", read_segment);
  out.serial = Serial(static_cast<std::uint64_t>(fields.integer("serial", 1, wire::kMaxInteger)));
  out.services = read_list(fields, "services", read_service);
  out.tombstones = read_list(fields, "tombstones", read_tombstone);
  return out;
}

}  // namespace

Result<Snapshot> parse_snapshot(std::string_view payload) {
  if (payload.size() > kMaxSnapshotBytes) {
    return fail(errc::too_large, "the snapshot has " + std::to_string(payload.size()) +
                                     " bytes, the limit is " + std::to_string(kMaxSnapshotBytes));
  }
  const Result<Json> json = wire::parse_canonical(payload, kMaxSnapshotBytes);
  if (!json) return tl::unexpected<Error>(json.error());
  Fields fields(*json, "");
  const std::int64_t version = fields.integer("v", 1, wire::kMaxInteger);
  if (fields.ok() && version != 1) {
    return fail(errc::field, "v is " + std::to_string(version) +
                                 ", but this program reads version 1 only; use a program that is as new");
  }
  Snapshot snapshot = read_snapshot(fields);
  if (Result<> done = fields.finish(); !done) return pass_on(std::move(done));
  if (Result<> checked = check_snapshot(snapshot, place_in_document); !checked)
    return pass_on(std::move(checked));
  return snapshot;
}

}  // namespace postern::authority
