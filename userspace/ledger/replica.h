// SPDX-License-Identifier: Apache-2.0
// The events that a gateway holds, its own and those replicated to it: one journal, what it adds up to, and
// where in it each event stands (SPEC 5.5). What others offer is judged, journaled, and counts from its
// durability on; so whatever is shown to anybody, in marks, pages or the digest, survives a crash.
//
// Lives on one thread. The journal tells on a thread of its own when a batch is durable; `post` brings that
// back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "ledger/event_index.h"
#include "ledger/fold.h"
#include "ledger/journal.h"
#include "ledger/stored_events.h"
#include "ledger/stream.h"

namespace postern::ledger {

inline constexpr std::size_t kMaxStreams = 8192;
inline constexpr std::size_t kMaxStreamsANode = 8;
// What one author's events may take of this journal between two starts: a gateway gone mad fills no disk.
inline constexpr std::uint64_t kMaxAuthorBytes = std::uint64_t{256} << 20;

// What came of an event that somebody offered.
enum class Offer {
  taken,      // it is being journaled
  known,      // it is there, or being journaled
  ahead,      // events before it are missing
  diverges,   // as Place: the fork lies further back
  forked,     // it proved a fork, which counts from now on
  excluded,   // at or behind a fork
  early,      // as Place
  compacted,  // as Place
  untrusted,  // its author is none of the mesh's gateways, or not yet
  newer,      // critical, and of a kind that this version does not know
  full,       // its author's quota is used up
  own,  // of the own stream, and further than this journal goes: its disk went back. A new stream was opened
  invalid,  // its author broke a rule, or it is not of this mesh
  failed,   // the journal takes no more
};

std::string_view offer_name(Offer offer);

// An event whose signature was verified, with its sealed bytes.
struct VerifiedEvent {
  Event event;
  std::string sealed;
  Hash256 hash{};
};

class Replica {
 public:
  using Authors = std::function<bool(const wire::PublicKey&)>;
  using Post = std::function<void(std::function<void()>)>;
  // Told of each event when it has become durable and was folded; own ones too.
  using Durable = std::function<void(const VerifiedEvent&, Lseq)>;

  explicit Replica(std::string mesh) : fold_(std::move(mesh)) {}

  // A start: the base that the journal goes on from, if there is one; each of the journal's events in order;
  // then started(), once. Both of its arguments must outlive this.
  void begin(const Base& base) { fold_.start(base.state.streams); }
  void replay(const Record& record, const Event& event);
  // What the own stream has to tell its events to; from its opening on. This must not move any more.
  Stream::Durable listener();
  void started(Journal& journal, Stream& stream);
  // From now on events of others are taken: of those authors whose key `authors` accepts.
  void take_from_others(Authors authors, Post post);
  void on_durable(Durable told) { durable_ = std::move(told); }
  // The same for readers of pages, who look themselves what it was.
  void on_change(std::function<void()> told) { changed_ = std::move(told); }

  // An event from elsewhere. At a new fork the proof is journaled at once, in the own stream; a new one is
  // opened first when it is the own stream that is forked, or that somebody knows more of than this journal.
  Offer offer(VerifiedEvent event);
  // A step over events that were compacted away elsewhere (SPEC 5.7): events of one stream, the last one a
  // StreamCondensed. Taken whole or not at all.
  Offer offer_step(std::vector<VerifiedEvent> step);
  // Writes what is missing in the own stream for others to know all forks, and opens a new one first when the
  // own one is forked itself: after a start, and whenever a fork became known.
  Result<> announce_forks();
  // The journal was compacted into `base`.
  void compacted(const Base& base);

  const Fold& fold() const { return fold_; }
  const EventIndex& index() const { return index_; }
  // The sealed event, if it is there.
  Result<std::optional<std::string>> read(const Id128& stream, Seq seq);
  void raise_lamport(Lamport lamport) { fold_.raise_lamport(lamport); }
  // Who may claim what, as the snapshot in force has it.
  void judge_by(Roster roster) { fold_.judge_by(std::move(roster)); }
  // Resources whose claims changed since the last call.
  std::set<ResourceNumber> take_changed_claims() { return fold_.claims().take_changed(); }
  std::uint64_t in_flight() const { return in_flight_; }
  // Events of this stream are being journaled: some may be durable and not count yet.
  bool lands(const Id128& stream) const { return tips_.find(stream) != tips_.end(); }
  // Why the own stream was given up since the start, for a new one: neither spend nor claim. "" usually.
  const std::string& own_lost() const { return own_lost_; }

 private:
  // Where a stream will end when what is in flight is durable.
  struct Tip {
    Seq seq;
    Hash256 hash{};
    Lamport lamport;
    std::size_t events = 0;  // in flight
    bool broken = false;     // one of them was not journaled: those behind it will not count
    wire::PublicKey author;
  };

  void count(const VerifiedEvent& event, Lseq lseq);
  std::optional<Offer> offer_behind_tip(const VerifiedEvent& event) const;
  static Offer offer_at(Place place);
  Offer take(VerifiedEvent event);
  struct Landing;
  Offer take_step(std::vector<VerifiedEvent> step);
  void landed_step(Landing& landing, Result<Lseq> lseq);
  void count_step(const Landing& landing);
  void note(const VerifiedEvent& event, Lseq lseq);
  void landed(VerifiedEvent event, Result<Lseq> lseq);
  Offer prove(const VerifiedEvent& other);
  Result<> give_up_own(std::string why);
  bool continues_own(const Event& event) const;
  bool within_quota(const Event& event, std::size_t bytes) const;

  Fold fold_;
  EventIndex index_;
  std::map<Id128, Tip> tips_;
  std::map<wire::PublicKey, std::uint64_t> author_bytes_;
  Journal* journal_ = nullptr;
  Stream* stream_ = nullptr;
  std::optional<StoredEvents> stored_;
  Authors authors_;
  Post post_;
  Durable durable_;
  std::function<void()> changed_;
  std::uint64_t in_flight_ = 0;
  bool failed_ = false;
  std::string own_lost_;
  std::shared_ptr<Replica*> alive_;  // set by started()
};

}  // namespace postern::ledger
