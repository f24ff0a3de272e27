// SPDX-License-Identifier: Apache-2.0
#include "agent/links_report.h"

#include "mesh/limits.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::uint64_t kNsPerMicrosecond = 1'000;

Json number(std::uint64_t value) {
  return Json(static_cast<std::int64_t>(value));
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json sync_json(const sync::SyncRow& row) {
  return Json::object({{"on", row.on},
                       {"events_in", Json::decimal(row.events_in)},
                       {"events_out", Json::decimal(row.events_out)},
                       {"missing", Json::decimal(row.missing)},
                       {"streams_behind", Json::decimal(row.streams_behind)},
                       {"credit_bytes", Json::decimal(row.credit_bytes)},
                       {"waiting_bytes", Json::decimal(row.waiting_bytes)},
                       {"penalties", Json::decimal(row.penalties)},
                       {"penalty_left_ms", Json::decimal(row.penalty_left_ns / mesh::kMillisecond_ns)},
                       {"why", text_or_null(row.why)}});
}

Json counts_json(const std::vector<sync::SyncCount>& counts) {
  Json out = Json::object({});
  for (const sync::SyncCount& count : counts)
    out.set(std::string(count.name), Json::decimal(count.value));
  return out;
}

Json snapshots_json(const SnapshotExchangeStatus& snapshots) {
  return Json::object({{"counts", counts_json(sync::named(snapshots.counts))},
                       {"from", text_or_null(snapshots.from)},
                       {"problem", text_or_null(snapshots.problem)}});
}

Json row_json(const mesh::LinkRow& row, const sync::SyncRow* sync, std::uint64_t now_ns) {
  const bool up = row.state == mesh::LinkState::up;
  return Json::object(
      {{"gateway", row.gateway},
       {"state", mesh::link_state_label(row.state)},
       {"since_s", number((now_ns - row.since_ns) / mesh::kSecond_ns)},
       {"address", text_or_null(row.address)},
       {"made_by", up ? Json(row.outgoing ? "us" : "them") : Json(nullptr)},
       {"protocol", up ? Json(std::int64_t{row.protocol}) : Json(nullptr)},
       {"rtt_us", up && row.rtt_ns ? number(*row.rtt_ns / kNsPerMicrosecond) : Json(nullptr)},
       {"incarnation", up ? Json(to_hex(row.incarnation)) : Json(nullptr)},
       {"ups", Json::decimal(row.ups)},
       {"messages_in", Json::decimal(row.messages_in)},
       {"messages_out", Json::decimal(row.messages_out)},
       {"bytes_in", Json::decimal(row.bytes_in)},
       {"bytes_out", Json::decimal(row.bytes_out)},
       {"queued_bytes", Json::decimal(row.queued_bytes)},
       {"trouble", text_or_null(row.trouble)},
       {"refused_us", row.refused_us ? Json(mesh::refusal_label(*row.refused_us)) : Json(nullptr)},
       {"twin", row.twin},
       {"sync", sync_json(sync == nullptr ? sync::SyncRow() : *sync)}});
}

}  // namespace

wire::Json links_report(const LinksStatus& status, const SyncStatus& sync) {
  Json rows = Json::array();
  for (const mesh::LinkRow& row : status.rows)
    rows.push(row_json(row, sync.find(row.gateway), status.made_ns));
  Json listening = Json::array();
  for (const Endpoint& endpoint : status.listening)
    listening.push(endpoint.text());
  Json refusals = Json::array();
  for (const mesh::Refusal refusal : mesh::kRefusals) {
    refusals.push(Json::object(
        {{"reason", mesh::refusal_label(refusal)}, {"count", Json::decimal(status.refusals.of(refusal))}}));
  }
  return Json::object({{"schema", "postern/links/v1"},
                       {"on", status.on},
                       {"incarnation", to_hex(status.incarnation)},
                       {"listening", std::move(listening)},
                       {"problem", text_or_null(status.problem)},
                       {"links", std::move(rows)},
                       {"refusals", std::move(refusals)},
                       {"snapshots", snapshots_json(sync.snapshots)},
                       {"sync", counts_json(sync::named(sync.counts))},
                       {"timeouts", Json::decimal(status.timeouts)},
                       {"half_open", number(status.half_open)}});
}

}  // namespace postern::agent
