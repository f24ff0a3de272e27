// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "dataplane/attachments.h"
#include "dataplane/counters.h"
#include "dataplane/losses.h"
#include "mesh/refusal.h"
#include "observe/duration_histogram.h"

namespace postern::observe {

struct InterfaceObservation {
  std::string name;
  std::optional<dataplane::XdpMode> mode;  // none for what is no interface of the config
  dataplane::VerdictCounts verdicts{};
  std::optional<dataplane::LossCounts> lost = std::nullopt;  // none: not counted
};

struct TableObservation {
  std::string_view name;
  std::uint64_t entries = 0;
  std::uint64_t max = 0;
};

// The link to another gateway.
struct LinkObservation {
  std::string gateway;
  bool up = false;
  std::optional<std::uint64_t> rtt_ns{};
  // Of the sync with it (SPEC 9).
  std::uint64_t events_in = 0;
  std::uint64_t events_out = 0;
  std::uint64_t events_missing = 0;
  bool throttled = false;
};

// The epoch that a resource was last claimed under.
struct ResourceObservation {
  std::string resource;
  std::uint64_t epoch = 0;
};

// Everything that the metrics tell, at one moment. Plain values: the loop fills it, another thread renders
// it.
struct Observation {
  std::vector<InterfaceObservation> interfaces;
  dataplane::DropCounts drops{};
  dataplane::IncidentCounts incidents{};
  dataplane::EventLossCounts events_lost{};
  std::uint64_t events_lost_by_readers = 0;
  std::vector<TableObservation> tables;

  std::optional<Serial> adopted_serial;
  std::optional<Serial> active_serial;
  std::optional<Serial> announced_serial;  // by the last timestamp
  std::optional<UtcSeconds> expires;
  std::optional<UtcSeconds> timestamp_expires;
  bool clock_suspect = false;
  bool authority_conflict = false;
  bool authority_frozen = false;
  bool authority_on_trial = false;
  bool authority_reverted = false;
  Generation generation;
  unsigned generations_alive = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> peers;  // by state

  DurationHistogram apply_duration;
  std::vector<std::pair<std::string_view, std::uint64_t>> apply_failures;  // by stage
  std::vector<std::pair<std::string_view, std::uint64_t>> source_looks;    // by result
  std::optional<bool> source_ok;  // none: the config names no source of snapshots

  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_flushes = 0;
  double journal_flush_seconds = 0;
  bool journal_poisoned = false;
  std::uint64_t journal_torn = 0;
  std::uint64_t events_digest = 0;  // the first 48 bits: what a gauge can tell apart
  std::uint64_t streams_whole = 0;
  std::uint64_t streams_forked = 0;
  bool backstop_intact = false;

  std::vector<std::pair<std::string_view, std::uint64_t>> claims;  // resources by standing
  std::vector<std::pair<std::string_view, std::uint64_t>> claim_messages_refused;
  std::uint64_t conflicts = 0;                 // that stand
  std::vector<ResourceObservation> resources;  // the first of them, so that a large mesh has a bounded page

  std::vector<LinkObservation> links;
  mesh::RefusalCounts link_refusals;
  std::uint64_t link_timeouts = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> sync_results;      // by what came of it
  std::vector<std::pair<std::string_view, std::uint64_t>> snapshot_results;  // over links, likewise
};

}  // namespace postern::observe
