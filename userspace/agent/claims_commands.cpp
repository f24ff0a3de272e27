// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_commands.h"

#include <algorithm>
#include <array>

#include "agent/claims_report.h"
#include "agent/errors.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::array<std::string_view, 6> kKnown = {"claim",     "claims",  "claims-history",
                                                    "conflicts", "release", "revoke"};

Result<> finish(wire::Fields& fields) {
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  return {};
}

}  // namespace

bool ClaimsCommands::knows(std::string_view command) {
  return std::find(kKnown.begin(), kKnown.end(), command) != kKnown.end();
}

Result<wire::Json> ClaimsCommands::run(std::string_view command, const wire::Json& arguments,
                                       std::string_view body) {
  if (command == "claims") return show(arguments);
  if (command == "claims-history") return history(arguments);
  if (command != "conflicts") return order(command, arguments, body);
  wire::Fields fields(arguments, "arguments");
  if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
  return conflicts_report(claims_->status());
}

Result<wire::Json> ClaimsCommands::show(const wire::Json& arguments) const {
  wire::Fields fields(arguments, "arguments");
  std::optional<std::string> id;
  if (fields.optional("resource") != nullptr) id = fields.text("resource");
  if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
  if (!id) return claims_report(claims_->status(), std::nullopt);
  const Result<ResourceNumber> resource = resource_named(*id, claims_->status());
  if (!resource) return tl::unexpected(resource.error());
  return claims_report(claims_->status(), *resource);
}

Result<wire::Json> ClaimsCommands::history(const wire::Json& arguments) {
  wire::Fields fields(arguments, "arguments");
  std::optional<std::int64_t> at_ms;
  if (fields.optional("at_ms") != nullptr) at_ms = fields.integer("at_ms", 0, wire::kMaxInteger);
  const std::string id = fields.text("resource");
  if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
  const Result<ResourceNumber> resource = resource_named(id, claims_->status());
  if (!resource) return tl::unexpected(resource.error());
  return history_report(gateway_->replica(), claims_->status(), *resource, at_ms);
}

Result<wire::Json> ClaimsCommands::order(std::string_view command, const wire::Json& arguments,
                                         std::string_view body) {
  wire::Fields fields(arguments, "arguments");
  const std::string id = fields.text("resource");
  if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
  const Result<ResourceNumber> resource = resource_named(id, claims_->status());
  if (!resource) return tl::unexpected(resource.error());
  Result<> done = command == "claim"     ? claims_->claim(*resource)
                  : command == "release" ? claims_->release(*resource)
                                         : claims_->revoke(*resource, std::string(body));
  if (!done) return pass_on(std::move(done));
  return claim_report(claims_->status(), *resource);
}

}  // namespace postern::agent
