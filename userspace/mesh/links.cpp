// SPDX-License-Identifier: Apache-2.0
#include "mesh/links.h"

#include <algorithm>

#include "mesh/errors.h"
#include "mesh/limits.h"

namespace postern::mesh {
namespace {

constexpr std::size_t kMostSuperseded = 16;
constexpr std::uint64_t kTwinAlarm_ns = 600 * kSecond_ns;

std::string_view bye_words(const ControlMessage& said) {
  switch (said.bye) {
    case Bye::duplicate:
      return "another connection is kept";
    case Bye::refused:
      return "refused by the other side";
    case Bye::stopping:
      return "the other side stops";
    case Bye::superseded:
      return "superseded by a newer connection";
  }
  return "";
}

}  // namespace

Links::Links(LinkIdentity identity, Randomness& randomness, LinkTransport& transport, LinkHandler& handler)
    : identity_(std::move(identity)), randomness_(randomness), transport_(transport), handler_(handler) {}

void Links::set_members(const Members& members, std::uint64_t now_ns) {
  if (members == members_) return;
  members_ = members;
  const bool in_it = members_.find(identity_.node) != nullptr;
  if (!in_it) members_ = Members();
  std::vector<ConnectionId> cut;
  for (const auto& [id, connection] : connections_) {
    const std::optional<NodeId>& peer = connection.session.peer();
    if (peer && members_.find(*peer) == nullptr) cut.push_back(id);
  }
  for (const ConnectionId id : cut)
    if (connections_.count(id) != 0) refuse(id, Refusal::untrusted, now_ns);
  std::erase_if(rows_, [&](const auto& row) { return members_.find(row.first) == nullptr; });
  for (const auto& [node, member] : members_.all()) {
    if (node == identity_.node) continue;
    const auto [at, fresh] = rows_.try_emplace(node, Row{member});
    at->second.peer = member;
    if (!fresh) continue;
    at->second.shown.since_ns = now_ns;
    put_off(at->second, now_ns);
  }
}

Links::Row* Links::row_of(const std::optional<NodeId>& node) {
  if (!node) return nullptr;
  const auto found = rows_.find(*node);
  return found == rows_.end() ? nullptr : &found->second;
}

Links::Row* Links::row_of(std::string_view gateway) {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& row) { return row.second.peer.gateway == gateway; });
  return found == rows_.end() ? nullptr : &found->second;
}

// ---- connections that others make

std::size_t Links::half_open() const {
  return static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(), [](const auto& entry) {
        return !entry.second.session.is_initiator() && !entry.second.session.is_up();
      }));
}

// Strangers share what there is for strangers, so that no number of them keeps a gateway out.
bool Links::has_room_for(const IpAddress& from, bool stranger, std::uint64_t now_ns) {
  std::size_t of_strangers = 0;
  std::size_t of_address = 0;
  for (const auto& [id, connection] : connections_) {
    if (connection.session.is_initiator() || connection.session.is_up()) continue;
    of_strangers += connection.stranger ? 1 : 0;
    of_address += connection.from == from ? 1 : 0;
  }
  if (of_address >= kMaxHalfOpenOfAddress) return false;
  if (!stranger) return true;
  if (of_strangers >= kMaxHalfOpen) return false;
  if (handshake_second_ != now_ns / kSecond_ns) {
    handshake_second_ = now_ns / kSecond_ns;
    handshakes_ = 0;
  }
  return handshakes_++ < kHandshakesPerSecond;
}

void Links::accepted(ConnectionId id, const IpAddress& from, std::uint64_t now_ns) {
  const bool stranger = !members_.is_address_of_one(from);
  const bool room = has_room_for(from, stranger, now_ns);
  Connection connection{LinkSession(parts()),          from.text(), from, stranger,
                        now_ns + kHandshakeTimeout_ns, now_ns};
  connections_.emplace(id, std::move(connection));
  if (!room) refuse(id, Refusal::capacity, now_ns);
}

// ---- bytes

void Links::send_bytes(ConnectionId id, Bytes bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || bytes.empty()) return;
  found->second.queued_bytes += bytes.size();
  transport_.send(id, std::move(bytes));
}

void Links::written(ConnectionId id, std::size_t bytes, std::uint64_t /*now_ns*/) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const bool was_full = connection.queued_bytes > kMaxQueuedBytes / 2;
  connection.queued_bytes -= std::min<std::uint64_t>(bytes, connection.queued_bytes);
  const Row* const row = row_of(connection.session.peer());
  if (row == nullptr || row->link != id || !was_full || connection.queued_bytes > kMaxQueuedBytes / 2) return;
  const std::string gateway = row->peer.gateway;
  handler_.on_room(gateway);
}

void Links::received(ConnectionId id, ByteView bytes, std::uint64_t now_ns) {
  const auto first = connections_.find(id);
  if (first == connections_.end()) return;
  first->second.session.append(bytes);
  // What a step leads to may end this connection, or any other.
  for (auto found = first; found != connections_.end(); found = connections_.find(id)) {
    SessionStep step = found->second.session.step();
    if (step.waits) return;
    act(id, step, now_ns);
  }
}

void Links::act(ConnectionId id, SessionStep& step, std::uint64_t now_ns) {
  Connection& connection = connections_.at(id);
  if (connection.session.is_up()) connection.heard_ns = now_ns;
  // Who does not take what is sent gets no answers either.
  if (connection.queued_bytes <= kMaxQueuedBytes || step.refused) send_bytes(id, std::move(step.output));
  if (step.refused) {
    note_refusal(connection, *step.refused);
    drop(id, std::string("refused: ") + std::string(refusal_label(*step.refused)), true, now_ns);
  } else if (step.refused_us) {
    if (Row* const row = row_of(connection.session.peer()); row != nullptr)
      row->shown.refused_us = step.refused_us;
    drop(id, "refused by the other side, it says: " + std::string(refusal_label(*step.refused_us)), true,
         now_ns);
  } else if (step.asks) {
    judge(id, now_ns);
  } else if (step.up) {
    take_welcome(id, now_ns);
  } else if (step.said) {
    hear(id, *step.said, now_ns);
  } else if (step.message) {
    Row* const row = row_of(connection.session.peer());
    if (row == nullptr || row->link != id) return;
    ++row->shown.messages_in;
    row->shown.bytes_in += step.message->size();
    const std::string gateway = row->peer.gateway;
    handler_.on_message(gateway, *step.message);
  }
}

void Links::hear(ConnectionId id, const ControlMessage& said, std::uint64_t now_ns) {
  Row* const row = row_of(connections_.at(id).session.peer());
  if (said.kind == ControlKind::pong) {
    // The token is our own time; a peer that makes one up lies about itself alone.
    if (row != nullptr && row->link == id && said.token <= now_ns) row->shown.rtt_ns = now_ns - said.token;
    return;
  }
  if (row != nullptr && said.bye == Bye::refused) {
    row->shown.refused_us = said.refusal;
    if (said.refusal == Refusal::replay) row->twin_seen_ns = now_ns;
  }
  drop(id, bye_words(said), true, now_ns);
}

// ---- which connection is the link

// Of two connections of the same two processes, made from both sides, the one of the lower node id is kept:
// both sides judge so.
bool Links::is_preferred(const Row& row, const LinkSession& session) const {
  return session.is_initiator() == dials_first(row);
}

// A process that ended never comes back: if one does, two run under that gateway's key.
bool Links::is_twin(Row& row, const Id128& incarnation, std::uint64_t now_ns) {
  if (std::find(row.superseded.begin(), row.superseded.end(), incarnation) == row.superseded.end())
    return false;
  row.twin_seen_ns = now_ns;
  return true;
}

void Links::take_welcome(ConnectionId id, std::uint64_t now_ns) {
  const LinkSession& session = connections_.at(id).session;
  Row* const row = row_of(session.peer());
  if (row == nullptr) return refuse(id, Refusal::untrusted, now_ns);
  if (is_twin(*row, session.hello().incarnation, now_ns)) return refuse(id, Refusal::replay, now_ns);
  bring_up(id, *row, now_ns);
}

// The initiator of `id` is proven and asks for the link.
void Links::judge(ConnectionId id, std::uint64_t now_ns) {
  LinkSession& session = connections_.at(id).session;
  Row* const row = row_of(session.peer());
  if (row == nullptr) return refuse(id, Refusal::untrusted, now_ns);
  const Id128& incarnation = session.hello().incarnation;
  if (is_twin(*row, incarnation, now_ns)) return refuse(id, Refusal::replay, now_ns);
  if (row->link) {
    Connection& standing = connections_.at(*row->link);
    const bool same_process = standing.session.hello().incarnation == incarnation;
    if (same_process && standing.session.is_initiator() && !is_preferred(*row, session)) {
      // Should the standing one be dead, the ping tells soon.
      standing.next_ping_ns = now_ns;
      bid_bye(id, Bye::duplicate);
      return drop(id, "another connection is kept", true, now_ns);
    }
  } else if (row->dialing) {
    const LinkSession& own = connections_.at(*row->dialing).session;
    if (own.has_hello() && own.hello().incarnation == incarnation && is_preferred(*row, own)) {
      bid_bye(id, Bye::duplicate);
      return drop(id, "another connection is kept", true, now_ns);
    }
  }
  send_bytes(id, session.accept());
  bring_up(id, *row, now_ns);
}

void Links::bring_up(ConnectionId id, Row& row, std::uint64_t now_ns) {
  Connection& connection = connections_.at(id);
  const Id128 incarnation = connection.session.hello().incarnation;
  if (row.dialing == id) row.dialing.reset();
  const std::optional<ConnectionId> before = row.link;
  const std::optional<ConnectionId> attempt = row.dialing;
  row.link = id;
  row.dialing.reset();
  if (row.shown.ups > 0 && row.shown.incarnation != incarnation) {
    row.superseded.push_back(row.shown.incarnation);
    if (row.superseded.size() > kMostSuperseded) row.superseded.pop_front();
  }
  LinkRow& shown = row.shown;
  ++shown.ups;
  shown.since_ns = now_ns;
  shown.address = connection.address;
  shown.outgoing = connection.session.is_initiator();
  shown.protocol = connection.session.protocol();
  shown.incarnation = incarnation;
  shown.rtt_ns.reset();
  shown.trouble.clear();
  shown.refused_us.reset();
  connection.heard_ns = now_ns;
  connection.next_ping_ns = now_ns;
  const std::string gateway = row.peer.gateway;
  const PeerLink peer{gateway, connection.session.protocol(), incarnation};
  // The row is the new connection's from here on; ending the old ones does not touch it.
  for (const std::optional<ConnectionId>& old : {before, attempt}) {
    if (!old || *old == id || connections_.count(*old) == 0) continue;
    bid_bye(*old, Bye::superseded);
    connections_.erase(*old);
    transport_.close(*old);
  }
  if (before) handler_.on_down(gateway, "superseded by a newer connection");
  handler_.on_up(peer);
}

void Links::bid_bye(ConnectionId id, Bye why) {
  send_bytes(id, connections_.at(id).session.say({.kind = ControlKind::bye, .bye = why}));
}

void Links::note_refusal(const Connection& connection, Refusal refusal) {
  refusals_.count(refusal);
  const Row* const row = row_of(connection.session.peer());
  const std::string gateway = row == nullptr ? "" : row->peer.gateway;
  handler_.on_refused(refusal, connection.address, gateway);
}

void Links::refuse(ConnectionId id, Refusal refusal, std::uint64_t now_ns) {
  send_bytes(id, connections_.at(id).session.refuse(refusal));
  note_refusal(connections_.at(id), refusal);
  drop(id, std::string("refused: ") + std::string(refusal_label(refusal)), true, now_ns);
}

void Links::closed(ConnectionId id, std::string_view why, std::uint64_t now_ns) {
  drop(id, why, false, now_ns);
}

void Links::drop(ConnectionId id, std::string_view why, bool close, std::uint64_t now_ns) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const std::optional<NodeId> peer = found->second.session.peer();
  connections_.erase(found);
  if (close) transport_.close(id);
  Row* const row = row_of(peer);
  if (row == nullptr) return;
  if (row->dialing == id) {
    row->dialing.reset();
    row->shown.trouble = why;
    ++row->failures;
    put_off(*row, now_ns);
  }
  if (row->link != id) return;
  row->link.reset();
  row->failures = now_ns - row->shown.since_ns >= kStable_ns ? 0 : row->failures + 1;
  row->shown.since_ns = now_ns;
  row->shown.trouble = why;
  row->shown.queued_bytes = 0;
  put_off(*row, now_ns);
  const std::string gateway = row->peer.gateway;
  handler_.on_down(gateway, why);
}

// ---- time

void Links::tick(std::uint64_t now_ns) {
  check_deadlines(now_ns);
  dial_due(now_ns);
}

void Links::check_deadlines(std::uint64_t now_ns) {
  std::vector<ConnectionId> late;
  std::vector<ConnectionId> silent;
  for (auto& [id, connection] : connections_) {
    if (!connection.session.is_up()) {
      if (now_ns >= connection.deadline_ns) late.push_back(id);
      continue;
    }
    if (!connection.held && now_ns - connection.heard_ns >= kSilence_ns) silent.push_back(id);
    if (now_ns < connection.next_ping_ns) continue;
    connection.next_ping_ns = now_ns + kPingInterval_ns;
    if (connection.queued_bytes <= kMaxQueuedBytes)
      send_bytes(id, connection.session.say({.kind = ControlKind::ping, .token = now_ns}));
  }
  for (auto& [node, row] : rows_)
    if (row.twin_seen_ns && now_ns - *row.twin_seen_ns >= kTwinAlarm_ns) row.twin_seen_ns.reset();
  for (const ConnectionId id : late) {
    if (connections_.count(id) == 0) continue;
    ++timeouts_;
    drop(id, "no answer in time", true, now_ns);
  }
  for (const ConnectionId id : silent)
    drop(id, "silent for " + std::to_string(kSilence_ns / kSecond_ns) + " s", true, now_ns);
}

// ---- what a link is there for

Result<> Links::send(std::string_view gateway, ByteView message) {
  Row* const row = row_of(gateway);
  if (row == nullptr || !row->link) {
    return fail(errc::link_down, "there is no link to gateway " + std::string(gateway));
  }
  Connection& connection = connections_.at(*row->link);
  const std::size_t size = sealed_bytes(message.size());
  if (size <= kMaxLinkMessage && connection.queued_bytes + size > kMaxQueuedBytes) {
    return fail(errc::link_full, "gateway " + row->peer.gateway + " does not take what is sent: " +
                                     std::to_string(connection.queued_bytes) + " bytes wait");
  }
  Result<Bytes> sealed = connection.session.seal(message);
  if (!sealed) return pass_on(std::move(sealed));
  ++row->shown.messages_out;
  row->shown.bytes_out += message.size();
  send_bytes(*row->link, std::move(*sealed));
  return {};
}

void Links::hold(std::string_view gateway) {
  Row* const row = row_of(gateway);
  if (row == nullptr || !row->link) return;
  connections_.at(*row->link).held = true;
  transport_.read(*row->link, false);
}

void Links::resume(std::string_view gateway) {
  Row* const row = row_of(gateway);
  if (row == nullptr || !row->link || !connections_.at(*row->link).held) return;
  connections_.at(*row->link).held = false;
  transport_.read(*row->link, true);
}

void Links::stop(std::uint64_t now_ns) {
  std::vector<ConnectionId> all;
  for (const auto& [id, connection] : connections_)
    all.push_back(id);
  for (const ConnectionId id : all) {
    if (connections_.count(id) == 0) continue;
    if (connections_.at(id).session.is_up()) bid_bye(id, Bye::stopping);
    drop(id, "this gateway stops", true, now_ns);
  }
}

}  // namespace postern::mesh
