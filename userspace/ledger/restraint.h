// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace postern::ledger {

// What a gateway must not do while it may have forgotten something (SPEC 4.12): spend from grants, and claim
// resources. Lives as long as the process; a restart decides anew.
class Restraint {
 public:
  Restraint() = default;  // nothing is restrained
  explicit Restraint(std::string why) : spending_(false), claiming_(false), why_(std::move(why)) {}

  // Given up by an operator at an earlier start: spending goes on, claims wait.
  static Restraint of_claims(std::string why) {
    Restraint restraint(std::move(why));
    restraint.operator_allows_spending();
    return restraint;
  }

  bool may_spend() const { return spending_; }
  bool may_claim() const { return claiming_; }
  const std::string& why() const { return why_; }  // "" once nothing is restrained

  // A sync round is done with every peer that could know what was forgotten.
  void round_done() {
    spending_ = claiming_ = true;
    why_.clear();
  }
  // An operator answers for the budget. Claims are not an operator's to promise: others may hold them.
  void operator_allows_spending() { spending_ = true; }

 private:
  bool spending_ = true;
  bool claiming_ = true;
  std::string why_;
};

}  // namespace postern::ledger
