// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/gateway.h"
#include "wire/check.h"
#include "wire/json.h"

namespace postern::agent {

// What the agent alone can tell of the gateway's health (SPEC 7.5): {"checks":[...],"schema"}.
wire::Json doctor_report(const Gateway& gateway);

}  // namespace postern::agent
