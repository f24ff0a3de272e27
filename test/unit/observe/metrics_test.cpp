// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.h"

#include <doctest/doctest.h>

#include "dataplane/counters.h"
#include "sync/snapshot_exchange.h"
#include "sync/sync_row.h"

using namespace postern;
using namespace postern::observe;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("every drop reason is there at 0 before the first drop") {
  const std::string text = metrics_text({});
  unsigned reasons = 0;
  for (unsigned reason = 1; reason < PT_DROP_REASON_COUNT; ++reason) {
    const std::string label(dataplane::drop_label(reason));
    CAPTURE(reason);
    if (label.empty()) continue;
    ++reasons;
    CHECK(has_line(text, "postern_drops_total{reason=\"" + label + "\"} 0"));
  }
  CHECK(reasons > 20);
}

TEST_CASE("every reason for which a link is refused is there at 0, and links show by gateway") {
  Observation seen;
  seen.links = {{"g2", true, 1'500'000}, {"g3", false, std::nullopt}};
  seen.link_refusals.count(mesh::Refusal::untrusted);
  const std::string text = metrics_text(seen);
  for (const mesh::Refusal refusal : mesh::kRefusals) {
    const std::string count = refusal == mesh::Refusal::untrusted ? "1" : "0";
    CHECK(has_line(text, "postern_link_refusals_total{reason=\"" + std::string(mesh::refusal_label(refusal)) +
                             "\"} " + count));
  }
  CHECK(has_line(text, "postern_link_up{gateway=\"g2\"} 1"));
  CHECK(has_line(text, "postern_link_up{gateway=\"g3\"} 0"));
  CHECK(has_line(text, "postern_link_rtt_seconds{gateway=\"g2\"} 0.0015"));
  CHECK(has_line(text, "postern_link_timeouts_total 0"));
}

TEST_CASE("what was thrown away of messages for claims is counted by why") {
  Observation seen;
  seen.claim_messages_refused = {{"malformed", 2}, {"forged", 3}};
  const std::string text = metrics_text(seen);
  CHECK(has_line(text, "postern_claim_messages_refused_total{reason=\"malformed\"} 2"));
  CHECK(has_line(text, "postern_claim_messages_refused_total{reason=\"forged\"} 3"));
}

TEST_CASE("sync shows by gateway, and what came of events and snapshots by result") {
  Observation seen;
  LinkObservation link{"g2", true, std::nullopt};
  link.events_in = 7;
  link.events_out = 9;
  link.events_missing = 11;
  link.throttled = true;
  seen.links = {link, {"g3", false, std::nullopt}};
  sync::SyncCounts counts;
  counts.count(ledger::Offer::taken);
  counts.step_unproven = 3;
  for (const sync::SyncCount& count : sync::named(counts))
    seen.sync_results.emplace_back(count.name, count.value);
  sync::SnapshotCounts snapshots;
  snapshots.refused = 2;
  for (const sync::SyncCount& count : sync::named(snapshots))
    seen.snapshot_results.emplace_back(count.name, count.value);
  const std::string text = metrics_text(seen);
  CHECK(has_line(text, "postern_sync_events_total{gateway=\"g2\",direction=\"in\"} 7"));
  CHECK(has_line(text, "postern_sync_events_total{gateway=\"g2\",direction=\"out\"} 9"));
  CHECK(has_line(text, "postern_sync_events_total{gateway=\"g3\",direction=\"in\"} 0"));
  CHECK(has_line(text, "postern_replica_lag_events{gateway=\"g2\"} 11"));
  CHECK(has_line(text, "postern_sync_throttled{gateway=\"g2\"} 1"));
  CHECK(has_line(text, "postern_sync_throttled{gateway=\"g3\"} 0"));
  CHECK(has_line(text, "postern_sync_results_total{result=\"taken\"} 1"));
  CHECK(has_line(text, "postern_sync_results_total{result=\"step_unproven\"} 3"));
  for (const char* none : {"forged", "unread", "malformed", "overdrawn", "full", "diverges", "stepped"})
    CHECK(has_line(text, "postern_sync_results_total{result=\"" + std::string(none) + "\"} 0"));
  CHECK(has_line(text, "postern_link_snapshots_total{result=\"refused\"} 2"));
  CHECK(has_line(text, "postern_link_snapshots_total{result=\"adopted\"} 0"));
}

TEST_CASE("the kernel's totals are shown as they are") {
  Observation seen;
  InterfaceObservation eth0{"eth0", dataplane::XdpMode::generic, {}};
  eth0.verdicts[PT_VERDICT_DECAPSULATED] = {12, 3400};
  seen.interfaces.push_back(eth0);
  seen.drops[PT_DROP_POLICY_DENIED] = {5, 500};
  const std::string text = metrics_text(seen);
  CHECK(has_line(text, "postern_packets_total{iface=\"eth0\",verdict=\"decapsulated\"} 12"));
  CHECK(has_line(text, "postern_bytes_total{iface=\"eth0\",verdict=\"decapsulated\"} 3400"));
  CHECK(has_line(text, "postern_packets_total{iface=\"eth0\",verdict=\"drop\"} 0"));
  CHECK(has_line(text, "postern_drops_total{reason=\"policy_denied\"} 5"));
  CHECK(has_line(text, "postern_xdp_mode{iface=\"eth0\",mode=\"generic\"} 1"));
  CHECK(has_line(text, "postern_xdp_mode{iface=\"eth0\",mode=\"native\"} 0"));
  CHECK(has_line(text, "postern_xdp_mode{iface=\"eth0\",mode=\"none\"} 0"));
}

TEST_CASE("an adopted snapshot that is not active yet shows as two serials") {
  Observation seen;
  seen.adopted_serial = Serial(8);
  seen.active_serial = Serial(7);
  const std::string text = metrics_text(seen);
  CHECK(has_line(text, "postern_snapshot_serial{state=\"adopted\"} 8"));
  CHECK(has_line(text, "postern_snapshot_serial{state=\"active\"} 7"));
  CHECK(text.find("postern_snapshot_expiry_timestamp_seconds") == std::string::npos);
}

TEST_CASE("the duration of adoptions is a cumulative histogram") {
  Observation seen;
  seen.apply_duration.observe(0.004);
  seen.apply_duration.observe(0.2);
  seen.apply_duration.observe(100);
  const std::string text = metrics_text(seen);
  CHECK(has_line(text, "postern_apply_duration_seconds_count 3"));
  CHECK(has_line(text, "postern_apply_duration_seconds_bucket{le=\"0.001\"} 0"));
  CHECK(has_line(text, "postern_apply_duration_seconds_bucket{le=\"0.5\"} 2"));
  CHECK(has_line(text, "postern_apply_duration_seconds_bucket{le=\"+Inf\"} 3"));
}
