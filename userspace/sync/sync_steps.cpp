// SPDX-License-Identifier: Apache-2.0
// Steps over what others compacted away (SPEC 9.6).
#include "ledger/skeleton.h"
#include "sync/limits.h"
#include "sync/sync.h"

namespace postern::sync {

using ledger::Offer;

void Sync::hear_skip(Session& session, const Skip& said) {
  ++counts_.skipped;
  if (session.skips.size() < 2 * ledger::kMaxStreams || session.skips.count(said.stream) != 0)
    session.skips[said.stream] = said.available;
}

void Sync::hear_step(std::string_view gateway, Account& account, const Step& step, std::size_t bytes) {
  Inbox& inbox = account.session->inbox;
  // Sent before it heard of the session.
  if (step.session != inbox.session()) return;
  if (!inbox.admit(bytes)) {
    ++counts_.overdrawn;
    return punish(gateway, account, "it sends more events than it has credit for");
  }
  VerifyJob job{step.stream, Seq(1), {}, StepPart{step.to, step.first, step.last}};
  job.sealed.assign(step.sealed.begin(), step.sealed.end());
  inbox.add(std::move(job), bytes);
  work(gateway, account);
}

// Parts come one after another, of one step at a time; what does not belong to the step that was begun is
// dropped, and so is the step.
void Sync::take_part(Account& account, Verdict verdict) {
  std::optional<Assembly>& step = account.session->step;
  const Id128& stream = verdict.good.front().event.stream;
  if (verdict.step->first) step = Assembly{stream, verdict.step->to, {}, 0};
  if (!step || step->stream != stream || step->to != verdict.step->to) return step.reset();
  std::size_t bytes = 0;
  for (const ledger::VerifiedEvent& event : verdict.good)
    bytes += event.sealed.size();
  if (!make_room(*step, bytes)) {
    ++counts_.step_dropped;
    return step.reset();
  }
  for (ledger::VerifiedEvent& event : verdict.good)
    step->events.push_back(std::move(event));
  if (!verdict.step->last) return;
  Assembly whole = std::move(*step);
  step.reset();
  end_step(account, std::move(whole));
}

bool Sync::make_room(Assembly& assembly, std::size_t bytes) {
  std::size_t all = 0;
  for (const auto& [gateway, account] : accounts_) {
    if (!account.session) continue;
    if (account.session->step) all += account.session->step->bytes;
    for (const Assembly& waiting : account.session->put_off)
      all += waiting.bytes;
  }
  if (assembly.bytes + bytes > kMaxStepBytes || all + bytes > kAllStepsBytes) return false;
  assembly.bytes += bytes;
  return true;
}

void Sync::end_step(Account& account, Assembly whole) {
  if (may_step(whole.stream)) return take_step(account, std::move(whole));
  ++counts_.step_waits;
  std::vector<Assembly>& waiting = account.session->put_off;
  std::erase_if(waiting, [&](const Assembly& earlier) { return earlier.stream == whole.stream; });
  if (waiting.size() < kMaxStepsPutOff)
    waiting.push_back(std::move(whole));
  else
    ++counts_.step_dropped;
}

void Sync::retry_steps(Account& account) {
  std::vector<Assembly> waiting = std::exchange(account.session->put_off, {});
  for (Assembly& step : waiting) {
    if (may_step(step.stream))
      take_step(account, std::move(step));
    else
      account.session->put_off.push_back(std::move(step));
  }
}

void Sync::take_step(Account& account, Assembly whole) {
  const std::size_t events = whole.events.size();
  if (replica_.in_flight() >= kMaxEventsInFlight) {
    ++counts_.step_dropped;
    return;
  }
  Offer came_of = replica_.offer_step(whole.events);
  // As of single events: the own stream was given up.
  if (came_of == Offer::own) {
    all_changed_ = true;
    came_of = replica_.offer_step(std::move(whole.events));
  }
  if (came_of == Offer::taken) {
    ++counts_.stepped;
    account.events_in += events;
    steps_put_off_.erase(whole.stream);
  } else if (came_of == Offer::diverges) {
    ++counts_.step_unproven;
  } else {
    counts_.count(came_of);
  }
}

// What a peer may still have is not stepped over on another's word that it is gone. A peer that says neither
// is waited for a while.
bool Sync::may_step(const Id128& stream) {
  const ledger::StreamState* const state = replica_.fold().find(stream);
  const Seq head = state == nullptr ? Seq() : state->head;
  bool gone = true;
  for (const auto& [gateway, account] : accounts_)
    gone = gone && !(account.listens() && may_have(*account.session, stream, head.next()));
  if (gone) return true;
  if (steps_put_off_.size() >= 2 * ledger::kMaxStreams) steps_put_off_.clear();
  const auto [at, fresh] = steps_put_off_.try_emplace(stream, PutOff{head, now_ns_});
  if (at->second.head != head) at->second = {head, now_ns_};
  return now_ns_ - at->second.since_ns >= kStepPatience_ns;
}

bool Sync::may_have(const Session& session, const Id128& stream, Seq seq) const {
  if (!session.view.told()) return true;
  if (session.view.mark(stream).seq < seq) return false;
  const auto skip = session.skips.find(stream);
  return skip == session.skips.end() || skip->second <= seq;
}

}  // namespace postern::sync
