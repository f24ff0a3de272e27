// SPDX-License-Identifier: Apache-2.0
// From canonical bytes to typed values in one pass: members are read in the order in which canonical JSON has
// them, straight into the structs. Only forms and types are judged here; what the parts say of each other is
// judged by snapshot_check.h, which the compiler of policies shares. Lists stop at their limits, so that
// memory is bounded by what a snapshot may hold, not by what a document may spell.
#include <algorithm>
#include <charconv>

#include "abi.h"
#include "authority/root_codec.h"
#include "authority/snapshot_check.h"
#include "authority/snapshot_codec.h"
#include "authority/snapshot_names.h"
#include "core/utc.h"
#include "wire/fields.h"
#include "wire/json_record.h"

namespace postern::authority {
namespace {

using wire::JsonCursor;
using wire::JsonRecord;

constexpr std::string_view kAddressForm = "an IPv4 or IPv6 address in its shortest spelling";
constexpr std::string_view kUtcForm = "a UTC instant like 2026-11-29T13:50:48Z";
// Elements of a list inside an entry; each such list has a tighter limit of its own, or refers to gateways.
constexpr std::size_t kMaxListed = std::max<std::size_t>(kMaxGateways, PT_MAX_SEGMENTS);
constexpr std::size_t kMaxFloors = 65'536;      // they outlive their resources
constexpr std::size_t kMaxTombstones = 65'536;  // they outlive their gateways
constexpr std::size_t kMaxPortRanges = 32'768;  // more must touch or overlap
constexpr std::size_t kMaxIcmpNumbers = 256;

// One value has one spelling: what is read must be spelled as it would be written. parse() takes dotted quads
// in their one spelling only.
template <class T>
std::optional<T> parse_spelled(std::string_view text) {
  std::optional<T> value = T::parse(text);
  const bool dotted = text.find(':') == std::string_view::npos;
  if (value && !dotted && value->text() != text) return std::nullopt;
  return value;
}

std::string expected(std::string_view found, std::string_view form) {
  return "is \"" + std::string(found.substr(0, 64)) + "\", expected " + std::string(form);
}

// The value that the cursor is at.
template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
T parse_here(JsonRecord& record, std::string_view key, Parse parse, std::string_view form) {
  const std::string_view text = record.text_here(key);
  if (!record.ok()) return T{};
  std::optional<T> value = parse(text);
  if (!value) record.reject(key, expected(text, form));
  return value ? *std::move(value) : T{};
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
T read_as(JsonRecord& record, std::string_view key, Parse parse, std::string_view form) {
  return record.needs(key) ? parse_here(record, key, parse, form) : T{};
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
std::optional<T> read_optional_as(JsonRecord& record, std::string_view key, Parse parse,
                                  std::string_view form) {
  if (!record.has(key)) return std::nullopt;
  return parse_here(record, key, parse, form);
}

// Whether there is a next element; more of them than `limit` is an error.
bool next_within(JsonRecord& record, std::string_view key, std::size_t count, std::size_t limit) {
  if (!record.cursor().next_element()) return false;
  if (count < limit) return true;
  if (record.ok()) {
    record.cursor().fail_with({errc::capacity, record.path_of(key) + " has more than " +
                                                   std::to_string(limit) +
                                                   " entries, which is the limit; split the mesh"});
  }
  return false;
}

// Each element of the array at `key` with `read`, which gets its index.
template <class Read, class T = std::invoke_result_t<Read, std::size_t>>
std::vector<T> read_array(JsonRecord& record, std::string_view key, std::size_t limit, Read read) {
  std::vector<T> out;
  if (!record.needs(key) || !record.enter_array_here(key)) return out;
  while (next_within(record, key, out.size(), limit))
    out.push_back(read(out.size()));
  return out;
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
std::vector<T> read_all_as(JsonRecord& record, std::string_view key, Parse parse, std::string_view form) {
  return read_array(record, key, kMaxListed, [&](std::size_t at) -> T {
    JsonCursor& cursor = record.cursor();
    const bool is_text = cursor.kind() == JsonCursor::Kind::string;
    const std::string_view text = is_text ? cursor.read_string() : std::string_view();
    std::optional<T> value = is_text && cursor.ok() ? parse(text) : std::nullopt;
    if (value) return *std::move(value);
    record.reject(key, "at [" + std::to_string(at) + "] " +
                           (is_text ? expected(text, form) : "is no string, expected " + std::string(form)));
    return T{};
  });
}

template <class Read, class T = std::invoke_result_t<Read, JsonRecord&>>
std::vector<T> read_list(JsonRecord& parent, std::string_view key, std::size_t limit, Read read) {
  return read_array(parent, key, limit, [&](std::size_t at) {
    JsonRecord record(parent, key, at);
    T out = read(record);
    record.finish();
    return out;
  });
}

std::optional<std::string> any_text(std::string_view text) {
  return std::string(text);
}

std::string read_text(JsonRecord& record, std::string_view key) {
  return std::string(record.text(key));
}

std::vector<std::string> read_ids(JsonRecord& record, std::string_view key) {
  return read_all_as(record, key, any_text, "an id");
}

std::vector<IpAddress> read_addresses(JsonRecord& record, std::string_view key) {
  return read_all_as(record, key, parse_spelled<IpAddress>, kAddressForm);
}

wire::PublicKey read_key(JsonRecord& record) {
  return read_as(record, "key", wire::PublicKey::parse, "base64 of a 32-byte Ed25519 key");
}

constexpr std::string_view kMacForm = "a MAC address like 02:00:00:00:00:01, in lower case";

State read_state(JsonRecord& record) {
  return read_as(record, "state", state_of, "\"active\" or \"revoked\"");
}

// True or absent: a written `false` would be a second spelling of nothing.
bool read_flag(JsonRecord& record, std::string_view key) {
  if (!record.has(key)) return false;
  const bool is_true = record.cursor().kind() == JsonCursor::Kind::boolean && record.cursor().read_boolean();
  if (!is_true) record.reject(key, "must be true where it is written; leave it out for false");
  return is_true;
}

void refuse_empty(JsonRecord& record, std::string_view key, bool empty) {
  if (empty) record.reject(key, "is empty; leave it out to mean all");
}

Gateway read_gateway(JsonRecord& record) {
  Gateway out;
  out.addresses = read_list(record, "addresses", kMaxListed, [](JsonRecord& entry) {
    SegmentAddress address;
    address.address = read_as(entry, "address", parse_spelled<IpAddress>, kAddressForm);
    address.segment = read_text(entry, "segment");
    return address;
  });
  out.id = read_text(record, "id");
  out.key = read_key(record);
  out.links = read_all_as(record, "links", parse_spelled<Endpoint>, "address:port, or [IPv6 address]:port");
  out.mac = read_as(record, "mac", MacAddress::parse, kMacForm);
  out.state = read_state(record);
  out.underlay = read_addresses(record, "underlay");
  return out;
}

Tombstone read_tombstone(JsonRecord& record) {
  Tombstone out;
  out.id = read_text(record, "id");
  out.key = read_key(record);
  return out;
}

Segment read_segment(JsonRecord& record) {
  Segment out;
  out.gateway = read_optional_as(record, "gateway", parse_spelled<IpAddress>, kAddressForm);
  out.id = read_text(record, "id");
  out.mac = read_optional_as(record, "mac", MacAddress::parse, kMacForm);
  out.vni = Vni(static_cast<std::uint32_t>(record.integer("vni", 1, kMaxVni)));
  return out;
}

Peer read_peer(JsonRecord& record) {
  Peer out;
  out.addresses = read_addresses(record, "addresses");
  out.expires = read_optional_as(record, "expires", parse_utc, kUtcForm);
  out.id = read_text(record, "id");
  out.mac = read_optional_as(record, "mac", MacAddress::parse, kMacForm);
  out.not_before = read_optional_as(record, "not_before", parse_utc, kUtcForm);
  if (record.has("packet_rate")) out.rate_packets_per_s = record.decimal_here("packet_rate");
  if (record.has("rate")) out.rate_bytes_per_s = record.decimal_here("rate");
  out.segments = read_ids(record, "segments");
  out.state = read_state(record);
  if (record.has("tunnel")) {
    out.tunnel = parse_here(record, "tunnel", tunnel_of, "\"vxlan\" or \"geneve\"");
    if (out.tunnel == Tunnel::vxlan) record.reject("tunnel", "is vxlan, which is what leaving it out means");
  }
  if (record.has("via")) out.via = record.text_here("via");
  return out;
}

Owner read_owner(JsonRecord& parent) {
  Owner out;
  if (!parent.needs("owner")) return out;
  JsonCursor& cursor = parent.cursor();
  std::string_view word;
  const bool entered = cursor.kind() == JsonCursor::Kind::object && cursor.enter_object();
  const std::optional<OwnerKind> kind =
      entered && cursor.next_member(word) ? owner_kind_of(word) : std::nullopt;
  if (kind) {
    out.kind = *kind;
    out.id = parent.text_here("owner." + std::string(word));
    if (!cursor.next_member(word)) return out;
  }
  parent.reject("owner", "must be an object with exactly one of peer, gateway, resource, service");
  return out;
}

Prefix read_prefix(JsonRecord& record) {
  Prefix out;
  out.class_id = read_text(record, "class");
  out.owner = read_owner(record);
  out.prefix =
      read_as(record, "prefix", parse_spelled<IpPrefix>, "an address block like 10.1.0.0/24, host bits zero");
  out.segment = read_text(record, "segment");
  return out;
}

Resource read_resource(JsonRecord& record) {
  Resource out;
  out.candidates = read_ids(record, "candidates");
  out.former = read_ids(record, "former");
  out.id = read_text(record, "id");
  out.number = ResourceNumber(static_cast<std::uint32_t>(record.integer("number", 0, kMaxResourceNumber)));
  out.ttl_ms = static_cast<std::uint32_t>(record.integer("ttl_ms", kMinTtlMs, kMaxTtlMs));
  return out;
}

std::vector<PortRange> read_ports(JsonRecord& record) {
  std::vector<PortRange> out;
  if (!record.has("ports") || !record.enter_array_here("ports")) return out;
  JsonCursor& cursor = record.cursor();
  const auto port = [&cursor]() -> std::optional<std::uint16_t> {
    if (!cursor.next_element() || cursor.kind() != JsonCursor::Kind::integer) return std::nullopt;
    const std::int64_t number = cursor.read_integer();
    return number < 0 || number > 65535 ? std::nullopt : std::optional(static_cast<std::uint16_t>(number));
  };
  while (next_within(record, "ports", out.size(), kMaxPortRanges)) {
    const bool is_pair = cursor.kind() == JsonCursor::Kind::array && cursor.enter_array();
    const std::optional<std::uint16_t> first = is_pair ? port() : std::nullopt;
    const std::optional<std::uint16_t> last = first ? port() : std::nullopt;
    if (!last || cursor.next_element()) {
      record.reject("ports",
                    "at [" + std::to_string(out.size()) + "] is no pair [first,last] of ports 0 to 65535");
      return out;
    }
    out.push_back({*first, *last});
  }
  refuse_empty(record, "ports", out.empty());
  return out;
}

// ICMP types, or codes of them.
std::vector<std::uint8_t> read_icmp(JsonRecord& record, std::string_view key, std::string_view what) {
  std::vector<std::uint8_t> out;
  if (!record.has(key) || !record.enter_array_here(key)) return out;
  while (next_within(record, key, out.size(), kMaxIcmpNumbers)) {
    const bool is_number = record.cursor().kind() == JsonCursor::Kind::integer;
    const std::int64_t number = is_number ? record.cursor().read_integer() : -1;
    if (number < 0 || number > 255) {
      record.reject(key, "at [" + std::to_string(out.size()) + "] is no " + std::string(what) + " 0 to 255");
      return out;
    }
    out.push_back(static_cast<std::uint8_t>(number));
  }
  refuse_empty(record, key, out.empty());
  return out;
}

Service read_service(JsonRecord& record) {
  Service out;
  out.backends = read_list(record, "backends", kMaxListed, [](JsonRecord& entry) {
    Backend backend;
    backend.address = read_as(entry, "address", parse_spelled<IpAddress>, kAddressForm);
    backend.drain = read_flag(entry, "drain");
    backend.weight = static_cast<std::uint32_t>(entry.integer("weight", 1, kMaxWeight));
    return backend;
  });
  out.id = read_text(record, "id");
  out.port = static_cast<std::uint16_t>(record.integer("port", 1, 65535));
  out.protocol = read_as(record, "protocol", protocol_of, "tcp or udp");
  return out;
}

Rule read_rule(JsonRecord& record) {
  Rule out;
  out.codes = read_icmp(record, "codes", "ICMP code");
  out.fragments = read_flag(record, "fragments");
  out.from = read_text(record, "from");
  out.ports = read_ports(record);
  out.protocol = read_as(record, "protocol", protocol_of, "tcp, udp, icmp, icmpv6 or any");
  out.strict = read_flag(record, "strict");
  out.to = read_text(record, "to");
  out.types = read_icmp(record, "types", "ICMP type");
  return out;
}

EpochFloor read_floor(JsonRecord& record) {
  EpochFloor out;
  out.epoch = Epoch(record.decimal("epoch"));
  out.resource = read_text(record, "resource");
  return out;
}

Root read_root_object(JsonRecord& record) {
  Root out;
  if (!record.needs("root")) return out;
  const wire::Json tree = record.cursor().read_tree();
  if (!record.ok()) return out;
  wire::Fields fields(tree, record.path_of("root"));
  out = read_root(fields);
  if (Result<> done = fields.finish(); !done) record.cursor().fail_with(std::move(done).error());
  return out;
}

void expect_none(JsonRecord& record, std::string_view key) {
  if (!record.needs(key) || !record.enter_array_here(key) || !record.cursor().next_element()) return;
  record.reject(key, "must be empty: entries of this list are not supported by this version");
}

Snapshot read_snapshot(JsonRecord& record) {
  Snapshot out;
  out.classes =
      read_list(record, "classes", PT_MAX_CLASSES, [](JsonRecord& entry) { return read_text(entry, "id"); });
  out.epoch_floors = read_list(record, "epoch_floors", kMaxFloors, read_floor);
  out.expires = read_as(record, "expires", parse_utc, kUtcForm);
  out.gateways = read_list(record, "gateways", kMaxGateways, read_gateway);
  expect_none(record, "grants");
  out.issued = read_as(record, "issued", parse_utc, kUtcForm);
  out.mesh = read_text(record, "mesh");
  out.on_expiry = read_as(record, "on_expiry", on_expiry_of, "\"hold\" or \"close\"");
  out.peers = read_list(record, "peers", PT_MAX_PEERS, read_peer);
  out.prefixes = read_list(record, "prefixes", 2 * PT_MAX_PREFIXES, read_prefix);
  out.prev = read_as(record, "prev", array_from_hex<32>, "32 bytes of lower-case hex");
  out.resources = read_list(record, "resources", PT_MAX_RESOURCES, read_resource);
  out.root = read_root_object(record);
  out.rules = read_list(record, "rules", PT_MAX_RULES, read_rule);
  out.segments = read_list(record, "segments", PT_MAX_SEGMENTS, read_segment);
  out.serial = Serial(static_cast<std::uint64_t>(record.integer("serial", 1, wire::kMaxInteger)));
  out.services = read_list(record, "services", PT_MAX_SERVICES, read_service);
  out.tombstones = read_list(record, "tombstones", kMaxTombstones, read_tombstone);
  record.integer("v", 1, wire::kMaxInteger);
  return out;
}

// The version, which is a canonical snapshot's last member; 0 when it is not found there. It is looked at
// first, so that a document of a newer version is not called malformed.
std::int64_t version_of(std::string_view payload) {
  static constexpr std::string_view kKey = ",\"v\":";
  const std::string_view tail = payload.substr(payload.size() - std::min<std::size_t>(payload.size(), 32));
  const std::size_t at = tail.rfind(kKey);
  std::int64_t version = 0;
  if (at == std::string_view::npos || !payload.ends_with('}')) return 0;
  const std::string_view number = tail.substr(at + kKey.size(), tail.size() - at - kKey.size() - 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), version);
  return error == std::errc{} && end == number.data() + number.size() ? version : 0;
}

}  // namespace

Result<Snapshot> parse_snapshot(std::string_view payload) {
  if (payload.size() > kMaxSnapshotBytes) {
    return fail(errc::too_large, "the snapshot has " + std::to_string(payload.size()) +
                                     " bytes, the limit is " + std::to_string(kMaxSnapshotBytes));
  }
  if (const std::int64_t version = version_of(payload); version > 1) {
    return fail(errc::field, "v is " + std::to_string(version) +
                                 ", but this program reads version 1 only; use a program that is as new");
  }
  JsonCursor cursor(payload, kMaxSnapshotBytes);
  JsonRecord record(cursor);
  Snapshot snapshot = read_snapshot(record);
  record.finish();
  if (Result<> done = cursor.finish(); !done) {
    if (done.error().code == errc::capacity) return pass_on(std::move(done));
    // Members out of order look like missing ones: what is wrong with the text itself is said first.
    JsonCursor again(payload, kMaxSnapshotBytes);
    again.skip_value();
    if (Result<> canonical = again.finish(); !canonical) return pass_on(std::move(canonical));
    return pass_on(std::move(done));
  }
  if (Result<> checked = check_snapshot(snapshot, place_in_document); !checked)
    return pass_on(std::move(checked));
  return snapshot;
}

}  // namespace postern::authority
