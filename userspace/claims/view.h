// SPDX-License-Identifier: Apache-2.0
// How it stands with claims, for people and metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/claim_fold.h"

namespace postern::claims {

enum class Standing {
  unheld,   // nobody claims it, or nothing of what was claimed counts
  waiting,  // its claimant waits for the others to agree
  held,     // its holder serves
  expired,  // its holder was not heard of for too long, or stopped; somebody may take it over
  parting,  // its holder has released it, and serves until it is followed
};
inline constexpr std::size_t kStandings = 5;
std::string_view standing_name(Standing standing);

// A gateway that a claim waits for.
struct WaitsFor {
  wire::PublicKey node;
  std::string why;
};

struct ResourceView {
  ResourceNumber resource;
  std::string id;
  Standing standing = Standing::unheld;
  std::optional<ledger::Claim> top;
  ledger::Verdict verdict = ledger::Verdict::live;  // of the top one
  Epoch floor;
  Epoch fence;                         // of the kernel
  std::uint64_t deadline_boot_ns = 0;  // until when its holder serves, as this kernel has it
  bool candidate = false;              // this gateway is one
  bool own = false;                    // the top claim is this gateway's
  bool yields = false;                 // released by hand: left to others for a while
  std::vector<WaitsFor> waits_for;     // to be armed, or to claim
  std::string why;                     // why it stands like this, in words; "" where nothing is to say
};

struct NodeView {
  wire::PublicKey node;
  std::uint64_t boots = 0;
  std::uint64_t beats = 0;
  std::uint64_t silent_ns = 0;                  // not heard of
  std::optional<std::uint64_t> clock_permille;  // how fast its clock runs by this one's, once that is known
  bool clock_beyond_rho = false;                // too fast or slow for leases to keep what they promise
  bool round = false;  // since this gateway's last discontinuity it has told what it knows
};

}  // namespace postern::claims
