// SPDX-License-Identifier: Apache-2.0
// The packet path's counters, summed over the CPUs (SPEC 1.10).
#pragma once

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "abi.h"
#include "core/ids.h"
#include "core/result.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

using VerdictCounts = std::array<pt_count, PT_VERDICT_COUNT>;
using DropCounts = std::array<pt_count, PT_DROP_REASON_COUNT>;
using EventLossCounts = std::array<std::uint64_t, PT_LOSS_COUNT>;
using IncidentCounts = std::array<std::uint64_t, PT_INCIDENT_COUNT>;

// The name under which PT_PORT_SLOT_UNKNOWN is shown: frames of no known port, and all before the first
// adoption.
inline constexpr std::string_view kUnknownInterface = "unknown";

Result<VerdictCounts> read_verdicts(const Plane& plane, std::uint16_t port_slot);
Result<DropCounts> read_drops(const Plane& plane);
Result<IncidentCounts> read_incidents(const Plane& plane);
// Events and samples that the packet path could not hand to the agent.
Result<EventLossCounts> read_events_lost(const Plane& plane);
// What was learnt of the path to a peer; mtu 0: nothing.
Result<pt_path_mtu> read_path_mtu(const Plane& plane, PeerId peer);
Result<pt_peer_count> read_peer(const Plane& plane, PeerId peer);

std::string_view verdict_label(unsigned verdict);
// PT_DROP_NONE and unknown numbers give "".
std::string_view drop_label(unsigned reason);
std::string_view drop_help(unsigned reason);
std::string_view incident_label(unsigned incident);
std::string_view loss_label(unsigned loss);

}  // namespace postern::dataplane
