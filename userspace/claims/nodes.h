// SPDX-License-Identifier: Apache-2.0
// What the other gateways' beats tell: who lives, what each sees, and what it has heard of this gateway
// (SPEC 10.3). Silence is counted from the receipt of a beat that rose, on this gateway's clock, and anew
// from every discontinuity: while this gateway was away it could not hear.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "claims/beat.h"
#include "claims/clock_rate.h"
#include "claims/row_table.h"
#include "claims/view.h"

namespace postern::claims {

// One other gateway, as far as it was heard.
struct Node {
  bool is_below(const Beat& other) const {
    return std::tie(beat.boots, beat.beats) < std::tie(other.boots, other.beats);
  }

  Beat beat;                           // the newest
  RowTable rows;                       // by that beat
  std::uint64_t heard_boot_ns = 0;     // when it came; 0: never
  std::uint64_t promised_boot_ns = 0;  // this gateway has agreed to a claim of its, and waits for it anew
  std::uint64_t claimed_boot_ns = 0;   // a claim of its was new here: it may be at more of them
  ClockRate clock;
  bool outrun = false;  // it has sent beats below this one: it must hear that it is behind itself
  bool round = false;   // has told all that it knows, since this gateway's last discontinuity
};

class Nodes {
 public:
  // Whose beats count; others are forgotten.
  void follow(const std::map<wire::PublicKey, std::string>& nodes);

  // Nobody has been heard since then.
  void discontinuity(std::uint64_t now_boot_ns);
  // A beat whose signature was verified, and which rises above the node's newest. False, and nothing changed:
  // its rows do not add up to what was signed.
  bool hear(const BeatMessage& message, std::uint64_t now_boot_ns);

  // Null for one that is not followed.
  const Node* find(const wire::PublicKey& node) const;
  Node* find(const wire::PublicKey& node);
  const std::map<wire::PublicKey, Node>& all() const { return nodes_; }

  // For how long the node has been silent: since it was heard, was promised something, or since the last
  // discontinuity. A node that is not followed is silent since then, too.
  std::uint64_t silent_ns(const wire::PublicKey& node, std::uint64_t now_boot_ns) const;

  // Of those that ask for one, or that are behind their own beats.
  std::vector<Echo> echoes() const;

 private:
  std::map<wire::PublicKey, Node> nodes_;
  std::uint64_t since_boot_ns_ = 0;
};

}  // namespace postern::claims
