// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_news.h"

#include <spdlog/logger.h>

namespace postern::agent {
namespace {

std::string standing_words(const claims::ResourceView& view, const ClaimsStatus& status) {
  if (!view.top) return "nobody claims it";
  const std::string who = status.name(view.top->author);
  const std::string epoch = " under epoch " + std::to_string(view.top->token.epoch.value);
  switch (view.standing) {
    case claims::Standing::held:
      return who + " holds it" + epoch;
    case claims::Standing::waiting:
      return who + " claims it" + epoch +
             (view.waits_for.empty() ? "" : ", and waits for " + waits_for_words(view, status));
    case claims::Standing::expired:
      return "the claim of " + who + epoch + " is expired";
    case claims::Standing::parting:
      return who + " has released it" + epoch + ", and serves until it is followed";
    case claims::Standing::unheld:
      break;
  }
  return "nobody holds it; the claim of " + who + epoch + " is " +
         std::string(ledger::verdict_name(view.verdict));
}

}  // namespace

void ClaimsNews::tell(const ClaimsStatus& status) {
  for (const claims::ResourceView& view : status.resources)
    tell_resource(view, status);
  std::erase_if(seen_, [&](const auto& entry) { return status.find(entry.first) == nullptr; });
  tell_conflicts(status);
  if (started_ && status.discontinuities > discontinuities_)
    log_.warn("claims: this gateway slept or its loop was late; silence and contact count anew");
  discontinuities_ = status.discontinuities;
  started_ = true;
}

void ClaimsNews::tell_resource(const claims::ResourceView& view, const ClaimsStatus& status) {
  Seen now{view.standing, std::nullopt, view.verdict};
  if (view.top) now.top = view.top->token;
  const auto [seen, is_new] = seen_.try_emplace(view.resource, now);
  if (is_new ? view.top.has_value() : seen->second != now) {
    // Who holds is reason enough for why another one does not.
    const bool told = view.standing == claims::Standing::held || view.why.empty();
    log_.info("resource {}: {}{}{}", view.id, standing_words(view, status), told ? "" : ": ",
              told ? "" : view.why);
  }
  seen->second = now;

  const bool serves = view.standing == claims::Standing::held || view.standing == claims::Standing::parting;
  const bool held = view.own && serves;
  const Epoch top = view.top ? view.top->token.epoch : Epoch();
  const auto before = held_.find(view.resource);
  if (before == held_.end() ? (view.candidate || held) : before->second.has_value() != held) {
    // What it has lost may be another one's by now.
    const Epoch lost = before == held_.end() ? top : before->second.value_or(top);
    held_[view.resource] = held ? std::optional(top) : std::nullopt;
    told_(view, held, held ? top : lost);
  }
}

void ClaimsNews::tell_conflicts(const ClaimsStatus& status) {
  for (const ledger::Conflict& conflict : status.conflicts) {
    if (!is_announced(conflict, status)) continue;
    if (!conflicts_.emplace(conflict.claim.resource, conflict.claim.token).second || !started_) continue;
    const claims::ResourceView* const view = status.find(conflict.claim.resource);
    log_.warn(
        "conflict over resource {}: {} owned it under epoch {}, and {} under epoch {}, who keeps it ({})",
        view == nullptr ? std::to_string(conflict.claim.resource.value) : view->id,
        status.name(conflict.claim.author), conflict.claim.token.epoch.value,
        status.name(conflict.rival.author), conflict.rival.token.epoch.value, ledger::word_of(conflict.kind));
  }
}

}  // namespace postern::agent
