// SPDX-License-Identifier: Apache-2.0
// Who holds resources: by name, as claims say it, and by number, as the table `resources` has it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "abi.h"
#include "core/ids.h"
#include "dataplane/tables.h"

namespace postern::dataplane {

// Who holds a resource, as the claims say.
struct Holding {
  std::string holder;  // a gateway
  Epoch epoch;

  friend bool operator==(const Holding&, const Holding&) = default;
};
using Holders = std::map<ResourceNumber, Holding>;

// Whom the snapshot lets hold each resource, by name, and the number that rows know that gateway by: a peer
// id, or PT_HOLDER_LOCAL.
using Claimants = std::map<ResourceNumber, std::map<std::string, std::uint32_t>>;

// A resource without a row is held by nobody, and its addresses are dropped even inside of a prefix that
// somebody owns (SPEC 1.5). Holders that are none of the claimants have no row: the claims are to say why.
Rows<__u32, pt_resource> holder_rows(const Claimants& claimants, const Holders& holders);

// The way back. Rows of unknown holders are left out.
Holders holders_of(const Rows<__u32, pt_resource>& rows, const std::map<std::uint32_t, std::string>& names);

}  // namespace postern::dataplane
