// SPDX-License-Identifier: Apache-2.0
// Following a chain of snapshots (SPEC 3.7). A gateway that slept through root changes cannot verify the
// newest snapshot: its signers are strangers to it. It follows the chain from the root that it trusts, each
// step verified by the root before it and judged by the rules of history; only the last step is adopted.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "authority/adoption_rules.h"
#include "authority/bundle.h"

namespace postern::authority {

struct Chain {
  Candidate last;
  std::string_view file;        // of the last step; a view into the text that was followed
  std::optional<Adopted> base;  // what the last step follows: the step before it, or what was adopted
};

// `text` is one signed snapshot, or a bundle of them. Entries of a bundle up to the adopted serial are passed
// over; an intermediate step may have expired. Whether the last step may be adopted is for may_adopt(last,
// base) or may_recover() to say. Fails with what the first bad step fails with, naming its serial;
// errc::rollback when a bundle holds nothing new. `text` must outlive the result.
Result<Chain> follow_chain(std::string_view text, const Root& trusted, std::string_view mesh,
                           const std::optional<Adopted>& adopted);

// What is remembered of a snapshot.
Adopted remembered(const Candidate& candidate);

}  // namespace postern::authority
