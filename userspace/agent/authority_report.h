// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/gateway.h"
#include "wire/json.h"

namespace postern::agent {

// "snapshot" of `postern status`: the snapshot to serve; null before the first adoption.
wire::Json snapshot_report(const Gateway& gateway);

// "authority" of `postern status`: how the gateway stands with its authority; null before the first adoption.
wire::Json authority_report(const Gateway& gateway);

// postern/conflict/v1: both sides of the equivocation that stands, and the files that prove it; "conflict" is
// null when none stands.
wire::Json conflict_report(const Gateway& gateway);

}  // namespace postern::agent
