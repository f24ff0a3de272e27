// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/claims_status.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/replica.h"
#include "wire/json.h"

namespace postern::agent {

// The number of a resource that somebody names. errc::control_bad_argument lists those that there are.
Result<ResourceNumber> resource_named(const std::string& id, const ClaimsStatus& status);

// postern/claims/v1: {automatic, discontinuities, gateways, on, problem, resources}. `only`: of this resource
// alone.
wire::Json claims_report(const ClaimsStatus& status, std::optional<ResourceNumber> only);
// postern/claim/v1: how it stands with one resource after an operator's order.
wire::Json claim_report(const ClaimsStatus& status, ResourceNumber resource);
// postern/conflicts/v1: {conflicts}
wire::Json conflicts_report(const ClaimsStatus& status);

// postern/claims-history/v1: {owners, resource}: each claim that was ever made of it, in the order of their
// epochs, from when to when it was made good for. Instants are by the clocks of those who wrote the events.
// `at_ms`: those that were in force then alone; there may be several, and none.
Result<wire::Json> history_report(ledger::Replica& replica, const ClaimsStatus& status,
                                  ResourceNumber resource, std::optional<std::int64_t> at_ms);

}  // namespace postern::agent
