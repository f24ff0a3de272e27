// SPDX-License-Identifier: Apache-2.0
// What a peer told of its copies, and what it lacks of ours (SPEC 9.2). A stream that the peer lacks
// something of is `behind` until its marks say otherwise; what was sent is not sent again meanwhile, unless
// the marks stand still for too long: then one event at a time, each time later. So a peer that cannot take a
// stream, or says so, costs an event now and then, and nothing that is lost on the way stays lost.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ledger/replica.h"
#include "sync/message.h"

namespace postern::sync {

class PeerView {
 public:
  // What a look at a stream calls for, besides sending.
  enum class Calls { nothing, skip, walk };

  // What to send of a stream: from `first` up to `last`, as far as it fits a turn.
  struct Turn {
    Id128 stream{};
    Seq first;
    Seq last;
    bool step = false;    // a step up to `last`, with holes
    bool begins = false;  // the step's first part
  };

  // `replica` must outlive this. `own`: whose streams go out without delay.
  PeerView(const ledger::Replica& replica, const wire::PublicKey& own);

  // The streams that a message tells of. None: more streams than there may be.
  std::optional<std::vector<Id128>> take(const Marks& marks);
  // The peer has what we have there.
  void take_as_ours(const std::vector<StreamMark>& ours, const Span& span);
  // A list of ranges begins: all is told but for the spans that are awaited.
  void await(std::vector<Span> spans);

  // To be called when the peer's mark or our own copy of the stream changed.
  Calls review(const Id128& stream, std::uint64_t now_ns);
  // The next stream in turn that something can be sent of now.
  std::optional<Turn> next_turn(std::uint64_t now_ns);
  // Events up to `last` were sent, and the turn is the next stream's.
  void sent(const Id128& stream, Seq last, std::uint64_t now_ns);
  // Nothing of it can be sent for now.
  void put_off(const Id128& stream, std::uint64_t now_ns);
  // What was sent may have been dropped.
  void forget_sent();

  bool told() const { return told_; }
  std::size_t behind() const { return behind_.size(); }
  // Events that the peer says to have and we have not.
  std::uint64_t missing() const { return missing_; }
  StreamMark mark(const Id128& stream) const;

 private:
  struct Entry {
    Seq seq;
    Hash256 head{};
    Seq fork;
    Seq next{1};                 // to be sent
    std::uint64_t since_ns = 0;  // behind
    std::uint64_t patience_ns = 0;
    unsigned stalls = 0;
    std::uint64_t missing = 0;
    Seq step;  // what follows was compacted away here: a step up to this event leads on; 0: no need
  };

  void set(const StreamMark& mark);
  bool is_told(const Id128& stream) const;
  void note_missing(Entry& entry, const ledger::StreamState* own);
  Seq last_useful(const Entry& entry, const ledger::StreamState* own) const;
  std::optional<Turn> turn_of(const Id128& stream, std::uint64_t now_ns);
  static Turn step_of(const Id128& stream, const Entry& entry);

  const ledger::Replica* replica_;
  wire::PublicKey own_;
  std::map<Id128, Entry> entries_;
  std::set<Id128> behind_;
  std::vector<Span> awaited_;
  bool told_ = false;
  std::uint64_t missing_ = 0;
  Id128 turn_{};                   // the stream that was sent last
  std::optional<Id128> stepping_;  // whose step was begun: no other one begins before it is sent
};

}  // namespace postern::sync
