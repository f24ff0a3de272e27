// SPDX-License-Identifier: Apache-2.0
// The kernel's tables put back into the names of the snapshot (SPEC 7.2). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/ip.h"
#include "dataplane/compile.h"
#include "dataplane/tables.h"
#include "wire/json.h"

namespace postern::agent {

// Which rows: all by default, those of one segment, or per segment only the longest match for an address.
struct OwnersQuestion {
  std::optional<std::string> segment;
  std::optional<IpAddress> address;
};

// The answer to `owners`. Numbers that the legend does not know are spelled "#N".
wire::Json owners_report(const dataplane::Tables& tables, const dataplane::Legend& legend,
                         const std::string& own_gateway, const OwnersQuestion& question);

}  // namespace postern::agent
