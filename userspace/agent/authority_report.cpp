// SPDX-License-Identifier: Apache-2.0
#include "agent/authority_report.h"

#include "core/utc.h"

namespace postern::agent {
namespace {

using wire::Json;

Json number(Serial serial) {
  return Json(static_cast<std::int64_t>(serial.value));
}

Json number_or_null(const std::optional<Serial>& serial) {
  return serial ? number(*serial) : Json(nullptr);
}

Json instant_or_null(const std::optional<UtcSeconds>& instant) {
  return instant ? Json(utc_text(*instant)) : Json(nullptr);
}

const char* word_of(authority::ClockVerdict verdict) {
  if (verdict == authority::ClockVerdict::plausible) return "plausible";
  return verdict == authority::ClockVerdict::behind ? "behind" : "far_ahead";
}

Json timestamp_json(const std::optional<ledger::TimestampSeen>& seen) {
  if (!seen) return nullptr;
  return Json::object({{"expires", utc_text(seen->expires)},
                       {"hash", to_hex(seen->id.hash)},
                       {"issued", utc_text(seen->issued)},
                       {"serial", number(seen->id.serial)}});
}

}  // namespace

wire::Json snapshot_report(const Gateway& gateway) {
  const std::optional<ledger::SnapshotId> wanted = ledger::to_serve(gateway.foundation().lineage.authority);
  if (!wanted) return nullptr;
  Json json = Json::object({{"serial", number(wanted->serial)},
                            {"hash", to_hex(wanted->hash)},
                            {"issued", nullptr},
                            {"expires", nullptr},
                            {"on_expiry", nullptr},
                            {"expired", false},
                            {"state", gateway.adoption().is_in_force() ? "active" : "adopted"}});
  const std::optional<Served>& served = gateway.adoption().served();
  if (!served || served->hash != wanted->hash) return json;
  json.set("issued", utc_text(served->issued));
  json.set("expires", utc_text(served->expires));
  json.set("on_expiry", served->on_expiry == authority::OnExpiry::close ? "close" : "hold");
  json.set("expired", served->expires <= gateway.adoption().now());
  return json;
}

wire::Json authority_report(const Gateway& gateway) {
  const ledger::AuthorityState& state = gateway.foundation().lineage.authority;
  if (!state.adopted) return nullptr;
  const Standing standing = gateway.standing();
  return Json::object(
      {{"highest_serial", number(state.adopted->serial)},
       {"root", Json::object({{"keys", static_cast<std::int64_t>(state.adopted->root.keys.size())},
                              {"threshold", state.adopted->root.threshold}})},
       {"refused_serial", number_or_null(standing.refused)},
       {"unconfirmed_until", instant_or_null(standing.unconfirmed_until)},
       {"rollback_to",
        number_or_null(state.previous && !state.reverted ? std::optional(state.previous->id.serial)
                                                         : std::nullopt)},
       {"conflict", standing.in_conflict},
       {"clock", word_of(standing.clock)},
       {"clock_floor", utc_text(state.clock_floor)},
       {"behind_serial", number_or_null(standing.behind)},
       {"frozen", standing.frozen},
       {"timestamp", timestamp_json(state.timestamp)}});
}

wire::Json conflict_report(const Gateway& gateway) {
  const std::optional<ledger::AuthorityEquivocated>& conflict =
      gateway.foundation().lineage.authority.conflict;
  Json report = Json::object({{"schema", "postern/conflict/v1"}, {"conflict", nullptr}});
  if (!conflict) return report;
  const StateDirectory state{gateway.config().state};
  const auto side = [&](const Hash256& hash) {
    const std::string name = ledger::snapshot_file_name({conflict->id.serial, hash});
    return Json::object({{"hash", to_hex(hash)}, {"file", (state.journal() / name).string()}});
  };
  Json sides = Json::array();
  sides.push(side(conflict->id.hash));
  sides.push(side(conflict->other));
  Json json = Json::object(
      {{"serial", number(conflict->id.serial)}, {"sides", std::move(sides)}, {"timestamp", nullptr}});
  if (!conflict->document.empty()) json.set("timestamp", conflict->document);
  report.set("conflict", std::move(json));
  return report;
}

}  // namespace postern::agent
