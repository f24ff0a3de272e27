// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/claims_status.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

// Says each change of claims once: who holds what, conflicts, discontinuities.
class ClaimsNews {
 public:
  // Whether this gateway holds a resource of which it is a candidate: told of each of them at first, and then
  // of every change. Under which epoch it holds or has lost it, or at first the top one's.
  using Told = std::function<void(const claims::ResourceView&, bool held, Epoch)>;

  // `log` must outlive this.
  ClaimsNews(spdlog::logger& log, Told told) : log_(log), told_(std::move(told)) {}

  void tell(const ClaimsStatus& status);

 private:
  struct Seen {
    claims::Standing standing = claims::Standing::unheld;
    std::optional<ledger::Token> top;
    ledger::Verdict verdict = ledger::Verdict::live;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  void tell_resource(const claims::ResourceView& view, const ClaimsStatus& status);
  void tell_conflicts(const ClaimsStatus& status);

  spdlog::logger& log_;
  Told told_;
  std::map<ResourceNumber, Seen> seen_;
  std::map<ResourceNumber, std::optional<Epoch>> held_;  // under which epoch; none: it does not
  // What was there at the start was said by the agent before.
  bool started_ = false;
  std::set<std::pair<ResourceNumber, ledger::Token>> conflicts_;
  std::uint64_t discontinuities_ = 0;
};

}  // namespace postern::agent
