// SPDX-License-Identifier: Apache-2.0
#include "authority/timestamp.h"

#include "authority/envelope.h"
#include "core/utc.h"
#include "wire/fields.h"
#include "wire/json.h"

namespace postern::authority {
namespace {

constexpr std::string_view kUtcForm = "expected a UTC instant like 2026-11-29T13:50:48Z";

UtcSeconds read_instant(wire::Fields& fields, std::string_view key) {
  const std::optional<UtcSeconds> instant = parse_utc(fields.text(key));
  if (!instant) fields.reject(key, kUtcForm);
  return instant.value_or(UtcSeconds());
}

}  // namespace

Result<Timestamp> parse_timestamp(std::string_view payload) {
  const Result<wire::Json> json = wire::parse_canonical(payload, kMaxTimestampBytes);
  if (!json) return tl::unexpected<Error>(json.error());
  wire::Fields fields(*json, "timestamp");
  Timestamp out;
  out.expires = read_instant(fields, "expires");
  const auto hash = array_from_hex<32>(fields.text("hash"));
  if (!hash) fields.reject("hash", "expected 64 digits of lower-case hex");
  out.hash = hash.value_or(Hash256{});
  out.issued = read_instant(fields, "issued");
  out.mesh = fields.text("mesh");
  out.serial = Serial(static_cast<std::uint64_t>(fields.integer("serial", 1, wire::kMaxInteger)));
  fields.integer("v", 1, 1);
  if (fields.ok() && out.expires <= out.issued) fields.reject("expires", "is not after issued");
  if (Result<> done = fields.finish(); !done) return pass_on(std::move(done));
  return out;
}

std::string encode_timestamp(const Timestamp& timestamp) {
  return wire::encode_canonical(
      wire::Json::object({{"expires", utc_text(timestamp.expires)},
                          {"hash", to_hex(timestamp.hash)},
                          {"issued", utc_text(timestamp.issued)},
                          {"mesh", timestamp.mesh},
                          {"serial", static_cast<std::int64_t>(timestamp.serial.value)},
                          {"v", 1}}));
}

Result<Timestamp> verify_timestamp(std::string_view file, const Root& trusted, std::string_view mesh) {
  if (file.size() > kMaxTimestampBytes) {
    return fail(errc::too_large, "the timestamp has " + std::to_string(file.size()) +
                                     " bytes, the limit is " + std::to_string(kMaxTimestampBytes));
  }
  const Result<Envelope> envelope = open_envelope(file);
  if (!envelope) return tl::unexpected<Error>(envelope.error());
  if (Result<> signed_by = verify_threshold(*envelope, trusted, wire::domain::timestamp); !signed_by)
    return pass_on(std::move(signed_by), "the timestamp");
  Result<Timestamp> timestamp = parse_timestamp(envelope->payload);
  if (!timestamp) return timestamp;
  if (timestamp->mesh != mesh) {
    return fail(errc::wrong_mesh, "the timestamp is of mesh \"" + timestamp->mesh +
                                      "\", this gateway is in \"" + std::string(mesh) + "\"");
  }
  return timestamp;
}

}  // namespace postern::authority
