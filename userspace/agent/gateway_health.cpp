// SPDX-License-Identifier: Apache-2.0
// What keeps a gateway from being well, in words for whoever is to mend it.
#include "agent/gateway.h"
#include "core/utc.h"

namespace postern::agent {

observe::Health Gateway::health() const {
  observe::Health health;
  add_authority_problems(health.problems);
  if (!source_.problem.empty()) health.problems.push_back(source_.problem);
  for (std::string& problem : problems_of(links_))
    health.problems.push_back(std::move(problem));
  for (std::string& problem : problems_of(claims_))
    health.problems.push_back(std::move(problem));
  for (const sync::SyncRow& row : sync_.rows) {
    if (row.penalty_left_ns == 0) continue;
    health.problems.push_back("nothing is taken from gateway " + row.gateway + " for now (" + row.why +
                              "); if that comes again, look after that gateway");
  }
  if (!base_->lineage.replica.own_lost().empty()) {
    health.problems.push_back(base_->lineage.replica.own_lost() +
                              "; what only the lost records told is forgotten; a restart ends this notice");
  }
  for (const InterfaceState& state : interfaces_.states())
    if (!state.problem.empty()) health.problems.push_back(state.problem);
  const ledger::JournalStatus journal = base_->lineage.journal->status();
  if (journal.poisoned) {
    health.problems.push_back("the journal is poisoned and accepts nothing (" + journal.poison_reason +
                              "); see to the disk, then restart posternd");
  }
  if (!base_->head_pin.problem().empty()) health.problems.push_back(base_->head_pin.problem());
  if (!backstop_intact_) {
    health.problems.push_back(
        "the nftables backstop is gone or was changed: without XDP this gateway would forward; "
        "`postern reload` brings it back");
  }
  if (!losses_problem_.empty()) health.problems.push_back(losses_problem_);
  if (!host_problem_.empty()) health.problems.push_back(host_problem_);
  for (const std::string& unreachable : neighbours_.unreachable())
    health.problems.push_back(unreachable);
  health.ready = adoption_.is_in_force() && interfaces_.all_attached() && !journal.poisoned;
  return health;
}

void Gateway::add_authority_problems(std::vector<std::string>& problems) const {
  const std::optional<authority::Adopted>& adopted = base_->lineage.authority.adopted;
  if (!adopted) {
    problems.push_back(
        "no snapshot is adopted yet, so the gateway is closed; apply one with `postern apply FILE`");
    return;
  }
  if (!adoption_.is_in_force()) {
    problems.push_back("serial " + std::to_string(adopted->serial.value) +
                       " is adopted but not in force: " + adoption_.obstacle());
  }
  for (std::string& problem : problems_of(standing(), base_->lineage.authority, clock_->now_utc()))
    problems.push_back(std::move(problem));
  const std::optional<Served>& served = adoption_.served();
  if (served && served->expires <= adoption_.now()) {
    problems.push_back("the snapshot expired at " + utc_text(served->expires) +
                       (served->on_expiry == authority::OnExpiry::close ? ", the gateway is closed"
                                                                        : ", it is still enforced") +
                       "; sign and apply a newer one");
  }
}

}  // namespace postern::agent
