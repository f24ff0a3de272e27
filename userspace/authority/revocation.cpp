// SPDX-License-Identifier: Apache-2.0
#include "authority/revocation.h"

#include "authority/envelope.h"
#include "core/utc.h"
#include "wire/fields.h"
#include "wire/json.h"

namespace postern::authority {

std::string encode_revocation(const Revocation& revocation) {
  return wire::encode_canonical(
      wire::Json::object({{"epoch", wire::Json::decimal(revocation.epoch.value)},
                          {"issued", utc_text(revocation.issued)},
                          {"mesh", revocation.mesh},
                          {"resource", static_cast<std::int64_t>(revocation.resource.value)},
                          {"v", 1}}));
}

Result<Revocation> parse_revocation(std::string_view payload) {
  const Result<wire::Json> json = wire::parse_canonical(payload, kMaxRevocationBytes);
  if (!json) return tl::unexpected<Error>(json.error());
  wire::Fields fields(*json, "revocation");
  Revocation out;
  out.epoch = Epoch(fields.decimal("epoch"));
  const std::optional<UtcSeconds> issued = parse_utc(fields.text("issued"));
  if (!issued) fields.reject("issued", "expected a UTC instant like 2026-11-29T13:50:48Z");
  out.issued = issued.value_or(UtcSeconds());
  out.mesh = fields.text("mesh");
  out.resource = ResourceNumber(static_cast<std::uint32_t>(fields.integer("resource", 0, UINT32_MAX)));
  fields.integer("v", 1, 1);
  if (fields.ok() && out.epoch == Epoch()) fields.reject("epoch", "expected one from 1 on");
  if (Result<> done = fields.finish(); !done) return pass_on(std::move(done));
  return out;
}

Result<Revocation> verify_revocation(std::string_view file, const Root& trusted, std::string_view mesh) {
  if (file.size() > kMaxRevocationBytes) {
    return fail(errc::too_large, "the revocation has " + std::to_string(file.size()) +
                                     " bytes, the limit is " + std::to_string(kMaxRevocationBytes));
  }
  const Result<Envelope> envelope = open_envelope(file);
  if (!envelope) return tl::unexpected<Error>(envelope.error());
  if (Result<> signed_by = verify_threshold(*envelope, trusted, wire::domain::revocation); !signed_by)
    return pass_on(std::move(signed_by), "the revocation");
  Result<Revocation> revocation = parse_revocation(envelope->payload);
  if (!revocation || revocation->mesh == mesh) return revocation;
  return fail(errc::wrong_mesh, "the revocation is of mesh \"" + revocation->mesh +
                                    "\", this gateway is in \"" + std::string(mesh) + "\"");
}

}  // namespace postern::authority
