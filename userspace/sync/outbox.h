// SPDX-License-Identifier: Apache-2.0
// What one peer is to be sent, and the rounds in which it is (SPEC 9.2): credit, marks, questions and
// answers, then events, stream after stream, as far as the peer's credit and a round's bound go. Each round
// moves at least one event or range, if the peer takes any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "ledger/replica.h"
#include "sync/mark_table.h"
#include "sync/message.h"
#include "sync/peer_view.h"

namespace postern::sync {

class Outbox {
 public:
  // False: the link takes no more now; the message is not sent.
  using Send = std::function<bool(ByteView)>;

  // All must outlive this.
  Outbox(ledger::Replica& replica, const MarkTable& marks, PeerView& view)
      : replica_(replica), marks_(marks), view_(view) {}

  // The peer's credit. True: it has begun a session, and is to be told everything anew.
  bool take(const Credit& credit);
  void tell_credit(const Credit& credit) { credit_due_ = credit; }
  void tell_all();
  // Before the peer has begun a session nothing is told: it will be told all.
  void tell(const Id128& stream) {
    if (session_ != 0) marks_due_.insert(stream);
  }
  // Answers to the peer's questions, up to a bound; more are passed over, and asked again.
  void expand(const Expand& asked);
  void serve(const Want& asked);
  // Own questions.
  void ask(const Expand& asked) { expands_.push_back(encode(asked)); }
  void ask(const Want& asked);
  void skip(const Skip& said);

  // Drops what is due; what it owes the peer's credit stays.
  void restart();
  // Sends what is due, as far as the round goes.
  void round(std::uint64_t now_ns, const Send& send);

  std::uint64_t credit_bytes() const { return allowed_bytes_ - sent_bytes_; }
  std::uint64_t events_out() const { return events_out_; }

 private:
  struct Round {
    const Send& send;
    std::uint64_t now_ns = 0;
    std::size_t sealed_bytes = 0;
    bool open = true;  // the link takes more
  };

  bool put(Round& round, const Message& message);
  bool put(Round& round, ByteView message);
  bool has_room(const Round& round, std::size_t message_bytes) const;
  void put_credit(Round& round);
  void put_marks(Round& round);
  void put_whole(Round& round, std::size_t& budget_bytes);
  void put_changes(Round& round, std::size_t& budget_bytes);
  void put_notes(Round& round);
  void put_events(Round& round);
  void answer_wants(Round& round);
  // Sends events from `first` on; the last that was sent, or 0.
  Seq put_turn(Round& round, const Id128& stream, Seq first, Seq last);
  // The same of a step.
  Seq put_step(Round& round, const PeerView::Turn& turn);
  std::optional<std::string> read_kept(const Id128& stream, Seq seq, Seq to);

  ledger::Replica& replica_;
  const MarkTable& marks_;
  PeerView& view_;
  std::uint32_t session_ = 0;  // of the peer's credit; 0: it gave none yet
  std::uint64_t allowed_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t events_out_ = 0;
  std::optional<Credit> credit_due_;
  bool all_due_ = false;
  std::deque<Span> spans_due_;
  std::set<Id128> marks_due_;
  std::deque<Bytes> expands_;
  std::map<Id128, Want> wants_;    // to be sent
  std::map<Id128, Skip> skips_;    // to be sent
  std::map<Id128, Seq> skipped_;   // what was said of a stream
  std::deque<Want> wants_served_;  // asked by the peer
};

}  // namespace postern::sync
