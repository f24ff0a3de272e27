// SPDX-License-Identifier: Apache-2.0
// Events travel over the links until all gateways that are linked, directly or by others, hold the same ones
// and show the same digest (SPEC 9). Each tells the others its marks: how far its durable copy of each stream
// reaches. Whoever has more sends it. What comes is bounded by credit, verified beside the loop, offered to
// the replica, and tells on when it is durable. Nobody waits for anybody: a peer that says to have what it
// has not, or sends what is wrong, costs itself alone.
//
// Sans I/O and deterministic: links, time and the verifier are the caller's. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/replica.h"
#include "mesh/link_handler.h"
#include "sync/carrier.h"
#include "sync/early_events.h"
#include "sync/inbox.h"
#include "sync/mark_table.h"
#include "sync/outbox.h"
#include "sync/peer_view.h"
#include "sync/penalty.h"
#include "sync/sync_row.h"
#include "sync/verifier.h"

namespace postern::sync {

class Sync final : public mesh::LinkHandler {
 public:
  // All must outlive this, but for jobs of the verifier that are out. `own`: whose replica it is.
  Sync(ledger::Replica& replica, const wire::PublicKey& own, Carrier& carrier, Verifier& verifier);
  Sync(const Sync&) = delete;
  Sync& operator=(const Sync&) = delete;

  void on_up(const mesh::PeerLink& peer) override;
  void on_message(std::string_view gateway, ByteView message) override;
  void on_down(std::string_view gateway, std::string_view why) override;
  void on_room(std::string_view gateway) override;

  // The replica's `on_durable`.
  void durable(const ledger::VerifiedEvent& event);
  // Tells of it at once, as far as this tick's rounds go.
  void flush();
  // Other authors are taken than before: what was refused is to be sent again.
  void authors_changed();
  // Several times a second: tells what became durable, goes on with everything that waits.
  void tick(std::uint64_t now_ns);

  std::vector<SyncRow> rows() const;
  const SyncCounts& counts() const { return counts_; }
  std::size_t early_bytes() const { return early_.bytes(); }

 private:
  struct Walk {
    Seq lowest;  // that is known to differ
    std::uint64_t patience_ns = 0;
  };
  // A step, as far as it came (SPEC 9.6).
  struct Assembly {
    Id128 stream{};
    Seq to;
    std::vector<ledger::VerifiedEvent> events;
    std::size_t bytes = 0;
  };
  struct PutOff {
    Seq head;
    std::uint64_t since_ns = 0;
  };
  struct Session {
    Session(ledger::Replica& replica, const MarkTable& marks, const wire::PublicKey& own)
        : view(replica, own), outbox(replica, marks, view) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    Inbox inbox{0};
    PeerView view;
    Outbox outbox;  // lives as long as the link does, since it counts what the peer's credit was used for
    std::map<Id128, Walk> walks;
    std::optional<Assembly> step;   // that comes in parts
    std::vector<Assembly> put_off;  // whole, and waiting for what other peers say
    std::map<Id128, Seq> skips;     // from where on the peer has what we lack of a stream
    std::size_t control_bytes = 0;  // since the last tick
    unsigned rounds = 0;            // likewise
    bool held = false;
    bool over = false;  // nothing is taken or sent until another one begins
  };
  // What is remembered of a gateway beyond its link.
  struct Account {
    std::unique_ptr<Session> session;  // none: not linked
    Penalty penalty;
    std::uint64_t events_in = 0;
    std::uint64_t events_out = 0;  // of sessions that are over

    bool listens() const { return session && !session->over; }
  };

  Account& account_of(std::string_view gateway);
  void begin(std::string_view gateway, Session& session);
  void punish(std::string_view gateway, Account& account, std::string why);
  void round(std::string_view gateway, Session& session);
  void hear(std::string_view gateway, Account& account, const Message& message, std::size_t bytes);
  void hear_marks(std::string_view gateway, Account& account, const Marks& marks);
  void hear_ranges(Session& session, const Ranges& ranges);
  void hear_events(std::string_view gateway, Account& account, const Events& events, std::size_t bytes);
  void hear_skip(Session& session, const Skip& said);
  void hear_step(std::string_view gateway, Account& account, const Step& step, std::size_t bytes);
  void take_part(Account& account, Verdict verdict);
  bool make_room(Assembly& assembly, std::size_t bytes);
  void end_step(Account& account, Assembly whole);
  void take_step(Account& account, Assembly whole);
  void retry_steps(Account& account);
  bool may_step(const Id128& stream);
  bool may_have(const Session& session, const Id128& stream, Seq seq) const;
  void review(Session& session, const Id128& stream);
  void review_ours(Session& session, const Span& span);
  void start_walk(Session& session, const Id128& stream);
  void go_on_walk(Session& session, const ledger::Event& event);
  void give_up_walks(Session& session);
  // Verifies and offers what waits, as far as the journal keeps up.
  void work(std::string_view gateway, Account& account);
  void judged(const std::string& gateway, std::uint32_t session, Verdict verdict);
  void offer_ready(Account& account);
  ledger::Offer offer(ledger::VerifiedEvent event);
  void tell_changes();
  std::size_t linked() const;

  ledger::Replica& replica_;
  wire::PublicKey own_;
  Carrier& carrier_;
  Verifier& verifier_;
  MarkTable marks_;
  EarlyEvents early_;
  SyncCounts counts_;
  std::map<std::string, Account, std::less<>> accounts_;
  std::map<Id128, PutOff> steps_put_off_;
  std::set<Id128> changed_;
  Lamport early_lamport_;  // when early events were last tried
  bool all_changed_ = true;
  std::uint32_t last_session_ = 0;
  std::uint64_t now_ns_ = 0;
  std::shared_ptr<Sync*> alive_;
};

}  // namespace postern::sync
