// SPDX-License-Identifier: Apache-2.0
// All links of one gateway: who is connected to, who may connect, which of two connections stays, when a
// silent one is given up (SPEC 8). Sans I/O and deterministic: bytes, time and randomness come from the
// caller, what is to be done goes to a LinkTransport, so that the agent's sockets and a simulation drive the
// same code. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ip.h"
#include "core/result.h"
#include "core/strong.h"
#include "mesh/link_handler.h"
#include "mesh/link_session.h"

namespace postern::mesh {

// How it stands with one gateway.
enum class LinkState { up, connecting, waiting, unreachable };
std::string_view link_state_label(LinkState state);

struct LinkRow {
  std::string gateway;
  LinkState state = LinkState::waiting;
  std::uint64_t since_ns = 0;  // in this state of up or not up
  std::string address;         // of the connection, when up; "" otherwise
  bool outgoing = false;       // who made the connection, when up
  std::uint16_t protocol = 0;  // when up
  std::optional<std::uint64_t> rtt_ns{};
  Id128 incarnation{};  // of the other process, when up
  std::uint64_t ups = 0;
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t bytes_in = 0;  // of messages, before sealing
  std::uint64_t bytes_out = 0;
  std::uint64_t queued_bytes = 0;
  std::string trouble;                  // the last thing that went wrong; "" when nothing did
  std::optional<Refusal> refused_us{};  // by the other gateway, when last tried
  bool twin =
      false;  // lately two processes claimed to be that gateway, or it says that two claim to be this one
};

class Links {
 public:
  // All must outlive this.
  Links(LinkIdentity identity, Randomness& randomness, LinkTransport& transport, LinkHandler& handler);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Who may link from now on. Links to others end at once.
  void set_members(const Members& members, std::uint64_t now_ns);

  // ---- what the transport has to tell

  void accepted(ConnectionId id, const IpAddress& from, std::uint64_t now_ns);
  void connected(ConnectionId id, std::uint64_t now_ns);
  void received(ConnectionId id, ByteView bytes, std::uint64_t now_ns);
  void written(ConnectionId id, std::size_t bytes, std::uint64_t now_ns);
  void closed(ConnectionId id, std::string_view why, std::uint64_t now_ns);
  // Several times a second.
  void tick(std::uint64_t now_ns);

  // ---- what a link is there for

  // Queues a message, whole or not at all. errc::link_down without a link, errc::link_full while what was
  // sent before is not out, errc::link_oversized above kMaxLinkMessage.
  Result<> send(std::string_view gateway, ByteView message);
  // Stops reading from a gateway until resume(): what it sends waits with it.
  void hold(std::string_view gateway);
  void resume(std::string_view gateway);
  // Tells all gateways that this process ends, and lets them go.
  void stop(std::uint64_t now_ns);

  std::vector<LinkRow> rows() const;
  const RefusalCounts& refusals() const { return refusals_; }
  std::uint64_t timeouts() const { return timeouts_; }
  std::size_t half_open() const;
  const LinkIdentity& identity() const { return identity_; }

 private:
  struct Row {
    Member peer;
    std::optional<ConnectionId> link{};
    std::optional<ConnectionId> dialing{};
    std::size_t next_address = 0;
    unsigned failures = 0;
    std::uint64_t next_dial_ns = 0;
    std::optional<std::uint64_t> twin_seen_ns{};
    std::deque<Id128> superseded{};
    LinkRow shown{};
  };
  struct Connection {
    LinkSession session;
    std::string address;
    IpAddress from{};       // of those that were accepted
    bool stranger = false;  // from an address of no gateway
    std::uint64_t deadline_ns = 0;
    std::uint64_t heard_ns = 0;
    std::uint64_t next_ping_ns = 0;
    std::uint64_t queued_bytes = 0;
    bool held = false;
  };

  SessionParts parts() { return {identity_, members_, seen_, randomness_}; }
  bool has_room_for(const IpAddress& from, bool stranger, std::uint64_t now_ns);
  void dial(Row& row, std::uint64_t now_ns);
  void dial_due(std::uint64_t now_ns);
  void act(ConnectionId id, SessionStep& step, std::uint64_t now_ns);
  void judge(ConnectionId id, std::uint64_t now_ns);
  void take_welcome(ConnectionId id, std::uint64_t now_ns);
  static bool is_twin(Row& row, const Id128& incarnation, std::uint64_t now_ns);
  bool is_preferred(const Row& row, const LinkSession& session) const;
  void bring_up(ConnectionId id, Row& row, std::uint64_t now_ns);
  void hear(ConnectionId id, const ControlMessage& said, std::uint64_t now_ns);
  void refuse(ConnectionId id, Refusal refusal, std::uint64_t now_ns);
  void note_refusal(const Connection& connection, Refusal refusal);
  void bid_bye(ConnectionId id, Bye why);
  // Forgets a connection, and what rests on it. `close`: the transport still has it.
  void drop(ConnectionId id, std::string_view why, bool close, std::uint64_t now_ns);
  void put_off(Row& row, std::uint64_t now_ns);
  void send_bytes(ConnectionId id, Bytes bytes);
  void check_deadlines(std::uint64_t now_ns);
  Row* row_of(const std::optional<NodeId>& node);
  Row* row_of(std::string_view gateway);
  bool dials_first(const Row& row) const { return identity_.node < row.peer.node; }

  LinkIdentity identity_;
  Randomness& randomness_;
  LinkTransport& transport_;
  LinkHandler& handler_;
  Members members_;
  ReplayMemory seen_;
  std::map<NodeId, Row> rows_;
  std::map<ConnectionId, Connection> connections_;
  NodeId last_dialed_{};
  RefusalCounts refusals_;
  std::uint64_t timeouts_ = 0;
  std::uint64_t handshake_second_ = 0;  // in which `handshakes_` strangers were let in
  std::uint64_t handshakes_ = 0;
};

}  // namespace postern::mesh
