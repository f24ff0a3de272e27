// SPDX-License-Identifier: Apache-2.0
#include "sync/sync.h"

#include <algorithm>

#include "ledger/event_kinds.h"
#include "sync/errors.h"
#include "sync/limits.h"

namespace postern::sync {
namespace {

using ledger::Offer;

// Of gateways that are not linked any more.
constexpr std::size_t kMostAccounts = 2 * mesh::kMaxGateways;

}  // namespace

Sync::Sync(ledger::Replica& replica, const wire::PublicKey& own, Carrier& carrier, Verifier& verifier)
    : replica_(replica),
      own_(own),
      carrier_(carrier),
      verifier_(verifier),
      alive_(std::make_shared<Sync*>(this)) {}

// ---- links

Sync::Account& Sync::account_of(std::string_view gateway) {
  const auto found = accounts_.find(gateway);
  if (found != accounts_.end()) return found->second;
  if (accounts_.size() >= kMostAccounts)
    std::erase_if(accounts_, [](const auto& entry) { return !entry.second.session; });
  return accounts_[std::string(gateway)];
}

std::size_t Sync::linked() const {
  return static_cast<std::size_t>(std::count_if(
      accounts_.begin(), accounts_.end(), [](const auto& entry) { return entry.second.session != nullptr; }));
}

// The credit begins the session at the peer, which then tells its marks and sends anew.
void Sync::begin(std::string_view gateway, Session& session) {
  session.inbox = Inbox(++last_session_);
  session.view = PeerView(replica_, own_);
  session.outbox.restart();
  session.walks.clear();
  session.step.reset();
  session.put_off.clear();
  session.skips.clear();
  session.over = false;
  session.outbox.tell_credit(*session.inbox.raise(window_bytes(linked()), true));
  round(gateway, session);
}

void Sync::on_up(const mesh::PeerLink& peer) {
  Account& account = account_of(peer.gateway);
  account.session = std::make_unique<Session>(replica_, marks_, own_);
  account.session->over = account.penalty.holds(now_ns_);
  if (!account.session->over) begin(peer.gateway, *account.session);
}

void Sync::on_down(std::string_view gateway, std::string_view /*why*/) {
  Account& account = account_of(gateway);
  if (account.session) account.events_out += account.session->outbox.events_out();
  account.session.reset();
}

void Sync::on_room(std::string_view gateway) {
  Account& account = account_of(gateway);
  if (account.listens()) round(gateway, *account.session);
}

// What comes while the penalty holds is passed over.
void Sync::punish(std::string_view gateway, Account& account, std::string why) {
  Session& session = *account.session;
  session.over = true;
  account.penalty.impose(std::move(why), now_ns_);
  // It is read on, or the link would seem dead.
  if (session.held) carrier_.resume(gateway);
  session.held = false;
}

void Sync::round(std::string_view gateway, Session& session) {
  if (session.rounds >= kRoundsATick) return;
  ++session.rounds;
  session.outbox.round(now_ns_,
                       [&](ByteView message) { return carrier_.send(gateway, message).has_value(); });
}

// ---- what comes

void Sync::on_message(std::string_view gateway, ByteView message) {
  Account& account = account_of(gateway);
  if (!account.listens()) {
    ++counts_.passed_over;
    return;
  }
  const Result<Message> said = decode(message);
  if (!said && said.error().code == errc::malformed) {
    ++counts_.malformed;
    return punish(gateway, account, said.error().message());
  }
  Session& session = *account.session;
  const bool has_credit =
      said && (std::holds_alternative<Events>(*said) || std::holds_alternative<Step>(*said));
  if (!has_credit) session.control_bytes += message.size();
  if (!session.held && session.control_bytes > kControlBytesATick) {
    session.held = true;
    carrier_.hold(gateway);
  }
  if (!said) {
    ++counts_.unknown;
    return;
  }
  hear(gateway, account, *said, message.size());
}

void Sync::hear(std::string_view gateway, Account& account, const Message& message, std::size_t bytes) {
  Session& session = *account.session;
  if (const auto* credit = std::get_if<Credit>(&message); credit != nullptr) {
    if (session.outbox.take(*credit)) {
      tell_changes();
      session.view.forget_sent();
      session.outbox.tell_all();
      session.outbox.tell_credit(*session.inbox.raise(window_bytes(linked()), true));
    }
  } else if (const auto* marks = std::get_if<Marks>(&message); marks != nullptr) {
    return hear_marks(gateway, account, *marks);
  } else if (const auto* ranges = std::get_if<Ranges>(&message); ranges != nullptr) {
    hear_ranges(session, *ranges);
  } else if (const auto* expand = std::get_if<Expand>(&message); expand != nullptr) {
    session.outbox.expand(*expand);
  } else if (const auto* want = std::get_if<Want>(&message); want != nullptr) {
    session.outbox.serve(*want);
  } else if (const auto* events = std::get_if<Events>(&message); events != nullptr) {
    return hear_events(gateway, account, *events, bytes);
  } else if (const auto* step = std::get_if<Step>(&message); step != nullptr) {
    return hear_step(gateway, account, *step, bytes);
  } else if (const auto* skip = std::get_if<Skip>(&message); skip != nullptr) {
    hear_skip(session, *skip);
  }
  round(gateway, session);
}

void Sync::hear_marks(std::string_view gateway, Account& account, const Marks& marks) {
  Session& session = *account.session;
  const std::optional<std::vector<Id128>> changed = session.view.take(marks);
  if (!changed) {
    ++counts_.malformed;
    return punish(gateway, account, "marks of more streams than a mesh has");
  }
  for (const Id128& stream : *changed)
    review(session, stream);
  if (marks.whole) review_ours(session, marks.span);
  round(gateway, session);
}

void Sync::hear_ranges(Session& session, const Ranges& ranges) {
  std::vector<Span> differing;
  Span span;
  std::vector<Span> alike;
  for (const Range& range : ranges.ranges) {
    span = {span.last, range.last};
    (marks_.agrees(span, range) ? alike : differing).push_back(span);
  }
  session.view.await(differing);
  for (const Span& same : alike)
    session.view.take_as_ours(marks_.within(same), same);
  review_ours(session, kAllStreams);
  if (!differing.empty()) session.outbox.ask(Expand{differing});
}

void Sync::review_ours(Session& session, const Span& span) {
  for (const StreamMark& mark : marks_.within(span))
    review(session, mark.stream);
}

void Sync::review(Session& session, const Id128& stream) {
  const PeerView::Calls calls = session.view.review(stream, now_ns_);
  if (calls == PeerView::Calls::skip) {
    session.outbox.skip({stream, replica_.index().dense_from(stream)});
  } else if (calls == PeerView::Calls::walk) {
    start_walk(session, stream);
  }
}

// Events that are known need no verification; of the rest each is looked at once.
void Sync::hear_events(std::string_view gateway, Account& account, const Events& events, std::size_t bytes) {
  Inbox& inbox = account.session->inbox;
  // Sent before it heard of the session.
  if (events.session != inbox.session()) return;
  if (!inbox.admit(bytes)) {
    ++counts_.overdrawn;
    return punish(gateway, account, "it sends more events than it has credit for");
  }
  VerifyJob job{events.stream, events.first, {}, std::nullopt};
  for (const std::string_view sealed : events.sealed) {
    const std::optional<Hash256> known =
        job.sealed.empty() ? replica_.fold().hash_at(job.stream, job.first) : std::nullopt;
    if (known && *known == ledger::event_hash(sealed)) {
      counts_.count(Offer::known);
      job.first = job.first.next();
    } else {
      job.sealed.emplace_back(sealed);
    }
  }
  if (job.sealed.empty())
    inbox.done(bytes);
  else
    inbox.add(std::move(job), bytes);
  work(gateway, account);
}

void Sync::work(std::string_view gateway, Account& account) {
  offer_ready(account);
  Session& session = *account.session;
  const std::uint32_t number = session.inbox.session();
  if (const std::optional<Credit> credit = session.inbox.raise(window_bytes(linked()), false)) {
    session.outbox.tell_credit(*credit);
    round(gateway, session);
  }
  std::optional<VerifyJob> job = session.inbox.next_job();
  if (!job) return;
  verifier_.verify(std::move(*job), [alive = std::weak_ptr<Sync*>(alive_), name = std::string(gateway),
                                     number](Verdict verdict) {
    if (const std::shared_ptr<Sync*> self = alive.lock()) (*self)->judged(name, number, std::move(verdict));
  });
}

void Sync::judged(const std::string& gateway, std::uint32_t session, Verdict verdict) {
  Account& account = account_of(gateway);
  // Of a session that is over: it will come again.
  if (!account.listens() || account.session->inbox.session() != session) return;
  account.session->inbox.verified(verdict.step ? std::vector<ledger::VerifiedEvent>()
                                               : std::move(verdict.good));
  if (verdict.unread) ++counts_.unread;
  if (verdict.forged) {
    ++counts_.forged;
    offer_ready(account);
    return punish(gateway, account, std::move(verdict.why));
  }
  if (verdict.step && !verdict.unread) take_part(account, std::move(verdict));
  work(gateway, account);
}

Offer Sync::offer(ledger::VerifiedEvent event) {
  Offer came_of = replica_.offer(event);
  // The own stream was given up, and this event belongs to one like others' now.
  if (came_of == Offer::own) {
    all_changed_ = true;
    counts_.count(came_of);
    came_of = replica_.offer(event);
  }
  if (came_of == Offer::forked) all_changed_ = true;
  counts_.count(came_of);
  return came_of;
}

void Sync::offer_ready(Account& account) {
  Session& session = *account.session;
  while (replica_.in_flight() < kMaxEventsInFlight) {
    std::optional<ledger::VerifiedEvent> event = session.inbox.next_event();
    if (!event) return;
    const bool follows_early = early_.holds_before(event->event);
    const Offer came_of = offer(*event);
    if (came_of == Offer::taken) ++account.events_in;
    if (came_of == Offer::early || (came_of == Offer::ahead && follows_early)) {
      if (!early_.hold(std::move(*event))) ++counts_.dropped_early;
    } else if (came_of == Offer::diverges) {
      go_on_walk(session, event->event);
    } else if (came_of == Offer::forked) {
      session.walks.erase(event->event.stream);
    }
  }
}

// ---- forks

// The peer holds another event than we do. Which one is the first that differs is found by asking for what
// lies before, each time twice as much; the proof follows from the events themselves.
void Sync::start_walk(Session& session, const Id128& stream) {
  const auto found = session.walks.find(stream);
  if (found == session.walks.end() && session.walks.size() >= kMaxWalks) {
    std::erase_if(session.walks, [&](const auto& walk) { return now_ns_ >= walk.second.patience_ns; });
    if (session.walks.size() >= kMaxWalks) return;
  }
  if (found != session.walks.end() && now_ns_ < found->second.patience_ns) return;
  const Seq seq = session.view.mark(stream).seq;
  session.walks[stream] = {seq.next(), now_ns_ + kWalkPatience_ns};
  session.outbox.ask(Want{stream, seq, seq});
}

void Sync::go_on_walk(Session& session, const ledger::Event& event) {
  const auto found = session.walks.find(event.stream);
  if (found == session.walks.end() && session.walks.size() >= kMaxWalks) return;
  const Seq above = found == session.walks.end() ? event.seq.next() : found->second.lowest;
  if (event.seq >= above || event.seq == Seq(1)) return;
  const std::uint64_t span = 2 * (above.value - event.seq.value);
  session.walks[event.stream] = {event.seq, now_ns_ + kWalkPatience_ns};
  const std::uint64_t first = event.seq.value > span ? event.seq.value - span : 1;
  session.outbox.ask(Want{event.stream, Seq(first), Seq(event.seq.value - 1)});
}

// What was asked for did not come: once more, if the marks still say so.
void Sync::give_up_walks(Session& session) {
  std::vector<Id128> late;
  for (const auto& [stream, walk] : session.walks)
    if (now_ns_ >= walk.patience_ns) late.push_back(stream);
  for (const Id128& stream : late) {
    session.walks.erase(stream);
    review(session, stream);
  }
}

// ---- what goes

void Sync::durable(const ledger::VerifiedEvent& event) {
  changed_.insert(event.event.stream);
  // It may cut another stream off.
  if (event.event.kind == ledger::kStreamForked) all_changed_ = true;
}

void Sync::flush() {
  tell_changes();
  for (auto& [gateway, account] : accounts_)
    if (account.listens()) round(gateway, *account.session);
}

void Sync::tell_changes() {
  std::set<Id128> told;
  if (all_changed_) {
    // Of a fork that only an excluded event told of. A journal that takes nothing says so itself.
    [[maybe_unused]] const Result<> announced = replica_.announce_forks();
    told = marks_.refresh_all(replica_.fold());
  } else {
    for (const Id128& stream : changed_)
      if (marks_.refresh(replica_.fold(), stream)) told.insert(stream);
  }
  all_changed_ = false;
  changed_.clear();
  for (auto& [gateway, account] : accounts_) {
    if (!account.listens()) continue;
    for (const Id128& stream : told) {
      account.session->outbox.tell(stream);
      review(*account.session, stream);
    }
  }
}

void Sync::authors_changed() {
  for (auto& [gateway, account] : accounts_) {
    if (account.listens()) begin(gateway, *account.session);
  }
}

void Sync::tick(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (early_lamport_ != replica_.fold().lamport()) {
    early_lamport_ = replica_.fold().lamport();
    early_.retry([this](ledger::VerifiedEvent event) { return offer(std::move(event)); });
  }
  tell_changes();
  for (auto& [gateway, account] : accounts_) {
    if (!account.session || account.penalty.holds(now_ns)) continue;
    Session& session = *account.session;
    session.control_bytes = 0;
    session.rounds = 0;
    if (session.over) begin(gateway, session);
    if (session.held) carrier_.resume(gateway);
    session.held = false;
    give_up_walks(session);
    retry_steps(account);
    work(gateway, account);
    if (!session.over) round(gateway, session);
  }
}

std::vector<SyncRow> Sync::rows() const {
  std::vector<SyncRow> out;
  for (const auto& [gateway, account] : accounts_) {
    SyncRow row;
    row.gateway = gateway;
    row.events_in = account.events_in;
    row.events_out = account.events_out;
    row.penalties = account.penalty.times();
    row.penalty_left_ns = account.penalty.left_ns(now_ns_);
    row.why = account.penalty.why();
    if (account.session) {
      row.on = account.listens() && account.session->view.told();
      row.events_out += account.session->outbox.events_out();
      row.missing = account.session->view.missing();
      row.streams_behind = account.session->view.behind();
      row.credit_bytes = account.session->outbox.credit_bytes();
      row.waiting_bytes = account.session->inbox.waiting_bytes();
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace postern::sync
