// SPDX-License-Identifier: Apache-2.0
// Snapshots travel over the links (SPEC 9.8): each gateway tells the others which one it serves by, and one
// that lags asks for it, chunk by chunk, one at a time. A peer is never trusted: what came whole goes through
// the door of `postern apply`, and whoever sent what is no newer snapshot of this authority is not asked for
// a while. Nothing that a peer says grows memory, and of what is fetched one file at a time is on the disk.
//
// Sans I/O: links, files and time are the caller's. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/link_handler.h"
#include "sync/carrier.h"
#include "sync/penalty.h"
#include "sync/snapshot_message.h"

namespace postern::sync {

// The gateway's own snapshot, and the place for one that comes.
class SnapshotShelf {
 public:
  virtual ~SnapshotShelf() = default;
  // What others may have: the file of the snapshot that is in force, and not on trial.
  virtual std::optional<SnapshotOffer> served() = 0;
  // Highest adopted serial; 0 for none.
  virtual Serial adopted() const = 0;
  virtual Result<Bytes> read(const SnapshotOffer& offer, std::uint64_t offset, std::size_t bytes) = 0;
  // What comes, from the start; the place is empty afterwards in any case but a success of append().
  virtual Result<> begin() = 0;
  virtual Result<> append(ByteView bytes) = 0;
  virtual void drop() = 0;
  // It is whole. `done` is told once, now or later: errc::malformed: not what was offered; else as `apply`
  // has it.
  using Done = std::function<void(Result<>)>;
  virtual void take(const SnapshotOffer& offer, std::string_view gateway, Done done) = 0;
};

// Since the start.
struct SnapshotCounts {
  std::uint64_t adopted = 0;    // that came over a link
  std::uint64_t refused = 0;    // that came whole, and were not adopted
  std::uint64_t garbage = 0;    // chunks and files that are not what was offered or asked for
  std::uint64_t abandoned = 0;  // fetches whose peer was too slow, went away or had it no more
  std::uint64_t sent = 0;       // chunks to others
};

struct SyncCount;
std::vector<SyncCount> named(const SnapshotCounts& counts);

class SnapshotExchange final : public mesh::LinkHandler {
 public:
  // Both must outlive this.
  SnapshotExchange(SnapshotShelf& shelf, Carrier& carrier) : shelf_(shelf), carrier_(carrier) {}
  SnapshotExchange(const SnapshotExchange&) = delete;
  SnapshotExchange& operator=(const SnapshotExchange&) = delete;

  void on_up(const mesh::PeerLink& peer) override;
  void on_message(std::string_view gateway, ByteView message) override;
  void on_down(std::string_view gateway, std::string_view why) override;
  void on_room(std::string_view gateway) override;
  // Several times a second. `fetches`: whether newer snapshots are asked for.
  void tick(std::uint64_t now_ns, bool fetches);

  const SnapshotCounts& counts() const { return counts_; }
  // From whom a snapshot is being fetched now.
  std::optional<std::string> fetching_from() const;
  // Why the last one that came was not adopted; "" when it was.
  const std::string& problem() const { return problem_; }

 private:
  struct Peer {
    bool linked = false;
    bool offer_due = true;
    std::optional<SnapshotOffer> offer;
    std::optional<SnapshotAsk> asks;
    unsigned answers = 0;  // since the last tick
    Penalty penalty;
  };
  struct Fetch {
    std::string gateway;
    SnapshotOffer offer;
    std::uint64_t received_bytes = 0;
    std::uint64_t begun_ns = 0;
    std::uint64_t asked_ns = 0;
    bool ask_due = true;
  };
  struct Refused {
    Hash256 hash{};
    std::uint64_t until_ns = 0;
  };

  void hear(const std::string& gateway, Peer& peer, const SnapshotOffer& offer);
  void hear(const std::string& gateway, Peer& peer, const SnapshotAsk& ask);
  void hear(const std::string& gateway, Peer& peer, const SnapshotChunk& chunk);
  void hear(const std::string& gateway, Peer& peer, const SnapshotGone& gone);
  void send_due(const std::string& gateway, Peer& peer);
  void answer(const std::string& gateway, Peer& peer);
  void ask();
  void finish();
  void taken(const Fetch& whole, const Result<>& result);
  void give_up(const std::string& why, bool blame);
  void watch_fetch();
  void choose();
  bool is_wanted(const Peer& peer) const;
  bool was_refused(const Hash256& hash) const;
  bool send(const std::string& gateway, const SnapshotMessage& message);

  SnapshotShelf& shelf_;
  Carrier& carrier_;
  std::map<std::string, Peer, std::less<>> peers_;
  std::optional<SnapshotOffer> served_;
  std::optional<Fetch> fetch_;
  bool taking_ = false;  // one that came is on its way through the door
  std::vector<Refused> refused_;
  SnapshotCounts counts_;
  std::string problem_;
  std::uint64_t now_ns_ = 0;
};

}  // namespace postern::sync
