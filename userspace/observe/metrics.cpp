// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>

namespace postern::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::pair<dataplane::XdpMode, std::string_view> kModes[] = {
    {dataplane::XdpMode::native, "native"},
    {dataplane::XdpMode::generic, "generic"},
    {dataplane::XdpMode::none, "none"},
};

MetricFamily counter(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Counter, {}};
}

MetricFamily gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Gauge, {}};
}

template <class Number>
void add(MetricFamily& family, Labels labels, Number value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter)
    metric.counter.value = static_cast<double>(value);
  else
    metric.gauge.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

template <class Number>
MetricFamily single(MetricFamily family, Number value) {
  add(family, {}, value);
  return family;
}

MetricFamily by_label(MetricFamily family, const char* label,
                      const std::vector<std::pair<std::string_view, std::uint64_t>>& values) {
  for (const auto& [name, value] : values)
    add(family, {{label, std::string(name)}}, value);
  return family;
}

void traffic(const Observation& seen, std::vector<MetricFamily>& out) {
  MetricFamily packets = counter("postern_packets_total", "Packets by interface of arrival and verdict.");
  MetricFamily bytes = counter("postern_bytes_total", "Bytes by interface of arrival and verdict.");
  MetricFamily mode =
      gauge("postern_xdp_mode", "1 for the mode in which Postern's program runs on the interface.");
  MetricFamily lost =
      counter("postern_lost_packets_total",
              "Packets lost after they were let go: the kernel could not redirect what came by "
              "this interface, or its driver did not take what was redirected to it.");
  for (const InterfaceObservation& interface : seen.interfaces) {
    if (interface.lost) {
      add(lost, {{"iface", interface.name}, {"stage", "redirect"}}, interface.lost->redirect);
      add(lost, {{"iface", interface.name}, {"stage", "transmit"}}, interface.lost->transmit);
    }
    for (unsigned verdict = 0; verdict < PT_VERDICT_COUNT; ++verdict) {
      const Labels labels{{"iface", interface.name},
                          {"verdict", std::string(dataplane::verdict_label(verdict))}};
      add(packets, labels, interface.verdicts[verdict].packets);
      add(bytes, labels, interface.verdicts[verdict].bytes);
    }
    for (const auto& [value, label] : kModes)
      if (interface.mode)
        add(mode, {{"iface", interface.name}, {"mode", std::string(label)}}, interface.mode == value ? 1 : 0);
  }
  MetricFamily drops = counter("postern_drops_total", "Dropped packets by reason.");
  for (unsigned reason = 1; reason < PT_DROP_REASON_COUNT; ++reason)
    if (const std::string_view label = dataplane::drop_label(reason); !label.empty())
      add(drops, {{"reason", std::string(label)}}, seen.drops[reason].packets);
  MetricFamily incidents = counter("postern_incidents_total", "What happened beside packets' verdicts.");
  for (unsigned incident = 0; incident < PT_INCIDENT_COUNT; ++incident)
    add(incidents, {{"incident", std::string(dataplane::incident_label(incident))}},
        seen.incidents[incident]);
  MetricFamily events =
      counter("postern_events_lost_total",
              "Events and samples that did not reach the agent or who watched, by where they "
              "were lost.");
  for (unsigned loss = 0; loss < PT_LOSS_COUNT; ++loss)
    add(events, {{"stage", std::string(dataplane::loss_label(loss))}}, seen.events_lost[loss]);
  add(events, {{"stage", "reader"}}, seen.events_lost_by_readers);
  for (MetricFamily* family : {&packets, &bytes, &drops, &incidents, &events, &lost, &mode})
    out.push_back(std::move(*family));
}

void authority(const Observation& seen, std::vector<MetricFamily>& out) {
  MetricFamily serial = gauge("postern_snapshot_serial", "Serial of the authority's snapshot, 0 for none.");
  add(serial, {{"state", "adopted"}}, seen.adopted_serial.value_or(Serial()).value);
  add(serial, {{"state", "active"}}, seen.active_serial.value_or(Serial()).value);
  add(serial, {{"state", "announced"}}, seen.announced_serial.value_or(Serial()).value);
  out.push_back(std::move(serial));
  if (seen.expires) {
    out.push_back(single(gauge("postern_snapshot_expiry_timestamp_seconds",
                               "When the active snapshot expires, in seconds since 1970."),
                         seen.expires->value));
  }
  if (seen.timestamp_expires) {
    out.push_back(single(gauge("postern_timestamp_expiry_timestamp_seconds",
                               "When the last signed timestamp expires, in seconds since 1970."),
                         seen.timestamp_expires->value));
  }
  MetricFamily trouble =
      gauge("postern_authority", "1 while the gateway is in this state with its authority.");
  for (const auto& [state, holds] : {std::pair{"conflict", seen.authority_conflict},
                                     {"frozen", seen.authority_frozen},
                                     {"on_trial", seen.authority_on_trial},
                                     {"reverted", seen.authority_reverted}})
    add(trouble, {{"state", state}}, holds ? 1 : 0);
  out.push_back(std::move(trouble));
  out.push_back(single(gauge("postern_clock_suspect",
                             "1 while the clock contradicts what is signed; nothing expires by it then."),
                       seen.clock_suspect ? 1 : 0));
  out.push_back(
      by_label(gauge("postern_peers", "Peers of the active snapshot by state."), "state", seen.peers));

  MetricFamily entries = gauge("postern_map_entries", "Rows of the active generation by table.");
  MetricFamily max = gauge("postern_map_entries_max", "Rows that the table can hold.");
  for (const TableObservation& table : seen.tables) {
    add(entries, {{"table", std::string(table.name)}}, table.entries);
    add(max, {{"table", std::string(table.name)}}, table.max);
  }
  out.push_back(std::move(entries));
  out.push_back(std::move(max));
  out.push_back(single(gauge("postern_generation", "Number of the active generation, 0 for none."),
                       seen.generation.value));
  out.push_back(single(gauge("postern_generations_alive", "Generations whose tables the kernel holds."),
                       seen.generations_alive));
}

void adoptions(const Observation& seen, std::vector<MetricFamily>& out) {
  const DurationHistogram& duration = seen.apply_duration;
  ClientMetric metric;
  metric.histogram.sample_count = duration.count();
  metric.histogram.sample_sum = duration.sum_seconds();
  for (std::size_t i = 0; i < DurationHistogram::kUpperBoundsSeconds.size(); ++i)
    metric.histogram.bucket.push_back({duration.at_most(i), DurationHistogram::kUpperBoundsSeconds[i]});
  metric.histogram.bucket.push_back({duration.count(), std::numeric_limits<double>::infinity()});
  out.push_back({"postern_apply_duration_seconds",
                 "How long adoptions that succeeded took.",
                 MetricType::Histogram,
                 {std::move(metric)}});
  out.push_back(by_label(counter("postern_apply_failures_total", "Adoptions that failed, by stage."), "stage",
                         seen.apply_failures));
  out.push_back(by_label(counter("postern_source_looks_total",
                                 "Looks at the source of snapshots: documents offered for adoption, looks "
                                 "without news, and failures, "
                                 "refused documents among them."),
                         "result", seen.source_looks));
  if (seen.source_ok) {
    out.push_back(single(gauge("postern_source_ok",
                               "1 while the source of snapshots is there and what it brings "
                               "is taken."),
                         *seen.source_ok ? 1 : 0));
  }
}

void journal(const Observation& seen, std::vector<MetricFamily>& out) {
  out.push_back(
      single(gauge("postern_journal_bytes", "Bytes of the journal's segments."), seen.journal_bytes));
  ClientMetric flush;
  flush.summary.sample_count = seen.journal_flushes;
  flush.summary.sample_sum = seen.journal_flush_seconds;
  out.push_back({"postern_journal_fsync_seconds",
                 "Time spent waiting for the journal's flushes.",
                 MetricType::Summary,
                 {std::move(flush)}});
  out.push_back(
      single(gauge("postern_journal_poisoned", "1 after a failed flush: nothing is accepted any more."),
             seen.journal_poisoned ? 1 : 0));
  out.push_back(
      single(counter("postern_journal_torn_total", "Starts that found an unacknowledged torn tail."),
             seen.journal_torn));
  out.push_back(
      single(gauge("postern_events_digest",
                   "First 48 bits of the digest over all events, the same on gateways that hold the same."),
             seen.events_digest));
  out.push_back(
      by_label(gauge("postern_event_streams", "Streams of events by whether a fork of them is proven."),
               "state", {{"whole", seen.streams_whole}, {"forked", seen.streams_forked}}));
}

void links(const Observation& seen, std::vector<MetricFamily>& out) {
  MetricFamily up = gauge("postern_link_up", "1 while there is a link to the gateway.");
  MetricFamily rtt = gauge("postern_link_rtt_seconds", "Round-trip time of the link's last ping.");
  for (const LinkObservation& link : seen.links) {
    add(up, {{"gateway", link.gateway}}, link.up ? 1 : 0);
    if (link.up && link.rtt_ns)
      add(rtt, {{"gateway", link.gateway}}, static_cast<double>(*link.rtt_ns) / 1e9);
  }
  out.push_back(std::move(up));
  out.push_back(std::move(rtt));
  MetricFamily events =
      counter("postern_sync_events_total", "New events by the gateway that they came from or went to.");
  MetricFamily missing =
      gauge("postern_replica_lag_events", "Events that the gateway says to have and this one has not.");
  MetricFamily throttled =
      gauge("postern_sync_throttled", "1 while nothing is taken from the gateway: it sent what none sends.");
  for (const LinkObservation& link : seen.links) {
    add(events, {{"gateway", link.gateway}, {"direction", "in"}}, static_cast<double>(link.events_in));
    add(events, {{"gateway", link.gateway}, {"direction", "out"}}, static_cast<double>(link.events_out));
    add(missing, {{"gateway", link.gateway}}, static_cast<double>(link.events_missing));
    add(throttled, {{"gateway", link.gateway}}, link.throttled ? 1 : 0);
  }
  out.push_back(std::move(events));
  out.push_back(std::move(missing));
  out.push_back(std::move(throttled));
  out.push_back(
      by_label(counter("postern_sync_results_total", "What came of events and messages of other gateways."),
               "result", seen.sync_results));
  out.push_back(by_label(
      counter("postern_link_snapshots_total", "What came of snapshots over links, and chunks sent of them."),
      "result", seen.snapshot_results));
  MetricFamily refusals =
      counter("postern_link_refusals_total", "What was refused of connections between gateways, by reason.");
  for (const mesh::Refusal refusal : mesh::kRefusals)
    add(refusals, {{"reason", std::string(mesh::refusal_label(refusal))}}, seen.link_refusals.of(refusal));
  out.push_back(std::move(refusals));
  out.push_back(
      single(counter("postern_link_timeouts_total", "Connections that did not become a link in time."),
             seen.link_timeouts));
}

void claims(const Observation& seen, std::vector<MetricFamily>& out) {
  out.push_back(
      by_label(gauge("postern_claims", "Resources by how it stands with them, as this gateway sees it."),
               "state", seen.claims));
  out.push_back(single(
      gauge("postern_conflicts", "Resources that two gateways owned at once, and that nobody claimed since."),
      seen.conflicts));
  out.push_back(by_label(counter("postern_claim_messages_refused_total",
                                 "What other gateways sent for claims and was thrown away, by why."),
                         "reason", seen.claim_messages_refused));
  MetricFamily epochs =
      gauge("postern_resource_epoch", "Epoch that the resource was last claimed under, of the first 64.");
  for (const ResourceObservation& resource : seen.resources)
    add(epochs, {{"resource", resource.resource}}, static_cast<double>(resource.epoch));
  out.push_back(std::move(epochs));
}

}  // namespace

std::string metrics_text(const Observation& seen) {
  std::vector<MetricFamily> families;
  traffic(seen, families);
  authority(seen, families);
  adoptions(seen, families);
  journal(seen, families);
  links(seen, families);
  claims(seen, families);
  families.push_back(
      single(gauge("postern_backstop_intact", "1 while the nftables backstop is as it was installed."),
             seen.backstop_intact ? 1 : 0));
  MetricFamily build = gauge("postern_build_info", "1, labelled with the running version.");
  add(build, {{"version", POSTERN_VERSION}}, 1);
  families.push_back(std::move(build));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace postern::observe
