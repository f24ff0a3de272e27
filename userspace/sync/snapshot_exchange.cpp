// SPDX-License-Identifier: Apache-2.0
#include "sync/snapshot_exchange.h"

#include <algorithm>

#include "sync/errors.h"
#include "sync/sync_row.h"

namespace postern::sync {
namespace {

constexpr unsigned kAnswersATick = 8;
constexpr std::uint64_t kAnswerPatience_ns = 10 * mesh::kSecond_ns;
// Whoever is slower than this, and has had a while, gives way to another peer that offers it too.
constexpr std::uint64_t kSlowAfter_ns = 30 * mesh::kSecond_ns;
constexpr std::uint64_t kLeastBytesPerSecond = std::uint64_t{64} << 10;
// A file that was refused is not fetched again before, whoever offers it: clocks and disks mend.
constexpr std::uint64_t kRefusedFor_ns = 300 * mesh::kSecond_ns;
constexpr std::size_t kMostRefused = 64;
constexpr std::size_t kMostPeers = 2 * mesh::kMaxGateways;

}  // namespace

// ---- links

void SnapshotExchange::on_up(const mesh::PeerLink& peer) {
  if (peers_.size() >= kMostPeers)
    std::erase_if(peers_, [](const auto& entry) { return !entry.second.linked; });
  Peer& now = peers_[std::string(peer.gateway)];
  now.linked = true;
  now.offer_due = true;
  now.offer.reset();
  now.asks.reset();
  send_due(std::string(peer.gateway), now);
}

void SnapshotExchange::on_down(std::string_view gateway, std::string_view /*why*/) {
  const auto found = peers_.find(gateway);
  if (found == peers_.end()) return;
  found->second.linked = false;
  found->second.offer.reset();
  found->second.asks.reset();
  if (fetch_ && fetch_->gateway == gateway) give_up("the link went down", false);
}

void SnapshotExchange::on_room(std::string_view gateway) {
  const auto found = peers_.find(gateway);
  if (found != peers_.end() && found->second.linked) send_due(found->first, found->second);
}

bool SnapshotExchange::send(const std::string& gateway, const SnapshotMessage& message) {
  return carrier_.send(gateway, encode(message)).has_value();
}

void SnapshotExchange::send_due(const std::string& gateway, Peer& peer) {
  if (peer.offer_due && (!served_ || send(gateway, *served_))) peer.offer_due = false;
  if (peer.asks) answer(gateway, peer);
  if (fetch_ && fetch_->gateway == gateway && fetch_->ask_due) ask();
}

// ---- what comes

void SnapshotExchange::on_message(std::string_view gateway, ByteView message) {
  const auto found = peers_.find(gateway);
  if (found == peers_.end() || !found->second.linked) return;
  const Result<SnapshotMessage> said = decode_snapshot_message(message);
  if (!said) {
    ++counts_.garbage;
    if (fetch_ && fetch_->gateway == gateway) return give_up(said.error().message(), true);
    return found->second.penalty.impose(said.error().message(), now_ns_);
  }
  std::visit([&](const auto& one) { hear(found->first, found->second, one); }, *said);
}

void SnapshotExchange::hear(const std::string& gateway, Peer& peer, const SnapshotOffer& offer) {
  peer.offer = offer;
  if (fetch_ && fetch_->gateway == gateway && fetch_->offer != offer)
    give_up("it serves another one now", false);
}

// One at a time: whoever asks twice is answered once.
void SnapshotExchange::hear(const std::string& gateway, Peer& peer, const SnapshotAsk& ask) {
  peer.asks = ask;
  answer(gateway, peer);
}

void SnapshotExchange::answer(const std::string& gateway, Peer& peer) {
  if (peer.answers >= kAnswersATick) return;
  ++peer.answers;
  const SnapshotAsk asked = *peer.asks;
  const bool there = served_ && served_->hash == asked.hash && asked.offset < served_->bytes;
  const std::size_t bytes = there ? static_cast<std::size_t>(std::min<std::uint64_t>(
                                        kSnapshotChunkBytes, served_->bytes - asked.offset))
                                  : 0;
  const Result<Bytes> chunk = there ? shelf_.read(*served_, asked.offset, bytes) : Result<Bytes>(Bytes());
  const bool whole = there && chunk && chunk->size() == bytes;
  const bool sent = whole ? send(gateway, SnapshotChunk{asked.hash, asked.offset, *chunk})
                          : send(gateway, SnapshotGone{asked.hash});
  // A link that is full says when it has room.
  if (!sent) return;
  peer.asks.reset();
  counts_.sent += whole ? 1 : 0;
}

void SnapshotExchange::hear(const std::string& gateway, Peer& peer, const SnapshotChunk& chunk) {
  const bool asked = fetch_ && fetch_->gateway == gateway && !fetch_->ask_due &&
                     fetch_->offer.hash == chunk.hash && fetch_->received_bytes == chunk.offset;
  if (!asked) {
    // A late answer to a fetch that was given up is no offence.
    return;
  }
  const std::uint64_t left = fetch_->offer.bytes - fetch_->received_bytes;
  if (chunk.bytes.size() != std::min<std::uint64_t>(left, kSnapshotChunkBytes)) {
    ++counts_.garbage;
    return give_up("a chunk of another size than it offered", true);
  }
  if (const Result<> kept = shelf_.append(chunk.bytes); !kept) {
    problem_ = kept.error().message();
    peer.penalty.impose(problem_, now_ns_);
    return give_up(problem_, false);
  }
  fetch_->received_bytes += chunk.bytes.size();
  if (fetch_->received_bytes == fetch_->offer.bytes) return finish();
  fetch_->ask_due = true;
  ask();
}

void SnapshotExchange::hear(const std::string& gateway, Peer& peer, const SnapshotGone& gone) {
  if (peer.offer && peer.offer->hash == gone.hash) peer.offer.reset();
  if (fetch_ && fetch_->gateway == gateway && fetch_->offer.hash == gone.hash)
    give_up("it has it no more", false);
}

// ---- fetching

void SnapshotExchange::ask() {
  if (!send(fetch_->gateway, SnapshotAsk{fetch_->offer.hash, fetch_->received_bytes})) return;
  fetch_->ask_due = false;
  fetch_->asked_ns = now_ns_;
}

void SnapshotExchange::finish() {
  const Fetch whole = *std::exchange(fetch_, std::nullopt);
  taking_ = true;
  shelf_.take(whole.offer, whole.gateway, [this, whole](const Result<>& result) { taken(whole, result); });
}

void SnapshotExchange::taken(const Fetch& whole, const Result<>& result) {
  taking_ = false;
  problem_.clear();
  if (result) {
    ++counts_.adopted;
    return;
  }
  problem_ = "a snapshot of serial " + std::to_string(whole.offer.serial.value) + " that gateway " +
             whole.gateway + " gave: " + result.error().message();
  if (const auto peer = peers_.find(whole.gateway); peer != peers_.end())
    peer->second.penalty.impose(problem_, now_ns_);
  if (result.error().code == errc::malformed) {
    ++counts_.garbage;
    return;
  }
  ++counts_.refused;
  if (refused_.size() >= kMostRefused) refused_.erase(refused_.begin());
  refused_.push_back({whole.offer.hash, now_ns_ + kRefusedFor_ns});
}

void SnapshotExchange::give_up(const std::string& why, bool blame) {
  ++counts_.abandoned;
  if (blame) peers_.at(fetch_->gateway).penalty.impose(why, now_ns_);
  fetch_.reset();
  shelf_.drop();
}

bool SnapshotExchange::was_refused(const Hash256& hash) const {
  return std::any_of(refused_.begin(), refused_.end(), [&](const Refused& refused) {
    return refused.hash == hash && now_ns_ < refused.until_ns;
  });
}

bool SnapshotExchange::is_wanted(const Peer& peer) const {
  return peer.linked && peer.offer && peer.offer->serial > shelf_.adopted() && !peer.penalty.holds(now_ns_) &&
         !was_refused(peer.offer->hash);
}

void SnapshotExchange::watch_fetch() {
  if (fetch_->offer.serial <= shelf_.adopted()) return give_up("another one came first", false);
  if (now_ns_ - fetch_->asked_ns >= kAnswerPatience_ns) return give_up("it does not answer", true);
  const std::uint64_t lasted_ns = now_ns_ - fetch_->begun_ns;
  const bool slow = lasted_ns >= kSlowAfter_ns &&
                    fetch_->received_bytes < lasted_ns / mesh::kSecond_ns * kLeastBytesPerSecond;
  const bool others = std::any_of(peers_.begin(), peers_.end(), [&](const auto& peer) {
    return peer.first != fetch_->gateway && is_wanted(peer.second);
  });
  if (slow && others) give_up("it is too slow", true);
}

// Of those that were punished least, the one with the newest. So a liar that outbids everybody is asked last.
void SnapshotExchange::choose() {
  const std::pair<const std::string, Peer>* best = nullptr;
  for (const auto& entry : peers_) {
    if (!is_wanted(entry.second)) continue;
    const auto rank = [](const Peer& peer) { return std::pair(~peer.penalty.times(), peer.offer->serial); };
    if (best == nullptr || rank(entry.second) > rank(best->second)) best = &entry;
  }
  if (best == nullptr) return;
  if (const Result<> begun = shelf_.begin(); !begun) {
    problem_ = begun.error().message();
    return;
  }
  fetch_ = Fetch{best->first, *best->second.offer, 0, now_ns_, now_ns_, true};
  ask();
}

void SnapshotExchange::tick(std::uint64_t now_ns, bool fetches) {
  now_ns_ = now_ns;
  const std::optional<SnapshotOffer> served = shelf_.served();
  const bool changed = served != served_;
  served_ = served;
  for (auto& [gateway, peer] : peers_) {
    peer.answers = 0;
    peer.offer_due = peer.offer_due || changed;
    if (peer.linked) send_due(gateway, peer);
  }
  if (fetch_ && fetches) watch_fetch();
  if (fetch_ && !fetches) give_up("snapshots are not fetched any more", false);
  if (!fetch_ && !taking_ && fetches) choose();
}

std::vector<SyncCount> named(const SnapshotCounts& counts) {
  return {{"adopted", counts.adopted},
          {"refused", counts.refused},
          {"garbage", counts.garbage},
          {"abandoned", counts.abandoned},
          {"sent", counts.sent}};
}

std::optional<std::string> SnapshotExchange::fetching_from() const {
  return fetch_ ? std::optional(fetch_->gateway) : std::nullopt;
}

}  // namespace postern::sync
