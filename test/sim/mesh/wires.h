// SPDX-License-Identifier: Apache-2.0
// TCP between simulated hosts, for the real links: connections that take time, deliver in order and late, are
// refused, reset, stall one way, or end without a word; and somebody on the way who alters, drops, doubles,
// cuts and reorders records, and connects with recorded handshakes. It knows what each link was given to
// carry, so that nothing else is ever taken from it (SPEC 8.8).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mesh/members.h"
#include "sim/mesh/uplink.h"
#include "sim/mesh/world.h"

namespace postern::sim {

class SealedUplink;

// What lives came by, so that a run that tries nothing shows.
struct WireCounts {
  std::uint64_t links = 0;       // that came up, at either end
  std::uint64_t meddlings = 0;   // with a connection's records or handshake
  std::uint64_t caught = 0;      // connections that were refused for it at once
  std::uint64_t recordings = 0;  // handshakes that were played again
};

// What the sockets of a process have for it.
struct Arrival {
  enum class Kind { accepted, connected, bytes, written, closed };
  Kind kind;
  mesh::ConnectionId id;
  Bytes bytes{};
  std::size_t size = 0;  // that was written
  IpAddress from{};      // of accepted
  bool bad = false;      // bytes that no link may take
  std::string why{};     // of closed
};

class Wires final : public Cables {
 public:
  using Pair = std::pair<std::string, std::string>;

  Wires(World& world, std::uint64_t max_delay_ns) : world_(world), max_delay_ns_(max_delay_ns) {}

  std::unique_ptr<Uplink> plug_in(const std::string& name, const wire::SecretKey& key,
                                  mesh::LinkHandler& handler) override;
  // What is due.
  void deliver();
  // Whether both ends have it for a link that carries something: a shortened record holds one up for a while.
  bool linked(const std::string& one, const std::string& other) const;
  const WireCounts& counts() const { return counts_; }

  // ---- troubles

  // No connection ever.
  void part(const std::string& one, const std::string& other) { parted_.insert(std::minmax(one, other)); }
  // Nothing gets through until it is mended. `told`: what is open is reset; otherwise it waits.
  void cut(const std::string& one, const std::string& other, bool told);
  void mend(const std::string& one, const std::string& other);
  void stall(const std::string& from, const std::string& to) { stalled_.insert({from, to}); }
  void reset(const std::string& one, const std::string& other);
  void go_on();
  // With the next record of some connection.
  void meddle();
  // Some handshake that led to a link, once more.
  void replay_handshake();

  // ---- for the processes

  void join(SealedUplink& process);
  void leave(SealedUplink& process, bool silently);
  mesh::ConnectionId open(SealedUplink& process, const Endpoint& to);
  // `promised`: the digest of the message that the bytes carry.
  void carry(mesh::ConnectionId id, SealedUplink& process, Bytes bytes,
             std::optional<std::uint64_t> promised);
  void close(mesh::ConnectionId id, SealedUplink& process);
  bool has(mesh::ConnectionId id, const SealedUplink& process) const;
  // What is wrong with a link that comes up, or a message that is taken, over this connection; or "".
  std::string judge_up(mesh::ConnectionId id, const SealedUplink& process);
  std::string judge_message(mesh::ConnectionId id, const SealedUplink& process, std::uint64_t digest);
  void note_caught() { ++counts_.caught; }
  // Made once, since names do not change.
  const mesh::Members& members_of(const Names& names);

 private:
  enum class Meddling { alter, drop, repeat, reorder, shorten, insert };  // as kMeddlings names them
  struct Parcel {
    std::uint64_t due_ns = 0;
    Bytes bytes;  // none: the end
    bool bad = false;
  };
  // Towards one end.
  struct Way {
    std::deque<Parcel> queue;
    std::deque<std::uint64_t> promised;  // digests of messages that are on their way
    std::optional<Meddling> armed{};
    std::optional<Bytes> kept_back{};  // until another one has overtaken it
    bool spoilt = false;
    bool bad_next = false;
  };
  struct Connection {
    std::array<std::string, 2> ends;           // who connects, who listens
    std::array<SealedUplink*, 2> processes{};  // null: none, or it has left
    bool open = false;
    bool recording = false;       // nobody is at its first end
    bool spoilt_opening = false;  // its handshake was meddled with
    std::uint64_t due_ns = 0;
    std::array<Way, 2> ways{};
    std::vector<Bytes> opening{};  // hello, first message and confirm of who connects
  };
  struct Recording {
    std::array<std::string, 2> ends;
    std::vector<Bytes> opening;
  };

  static IpAddress address_of(const std::string& name);
  bool is_spoilt(const Pair& pair) const;
  bool blocked(const std::string& from, const std::string& to) const;
  std::uint64_t due_after(const Way& way);
  void push(Way& way, Bytes bytes, bool bad = false);
  void push_end(Way& way);
  void push_record(Connection& connection, std::size_t towards, Bytes bytes);
  void spoil_opening(Connection& connection, Bytes& bytes);
  void spoil(Way& way, Meddling how, Bytes bytes);
  void record(Connection& connection, const Bytes& bytes);
  // False: it is over.
  bool carry_on(mesh::ConnectionId id, Connection& connection);
  bool accept(mesh::ConnectionId id, Connection& connection);
  void deliver(mesh::ConnectionId id, Connection& connection, std::size_t towards);
  Connection* find(mesh::ConnectionId id, const SealedUplink& process, std::size_t& end);

  World& world_;
  std::uint64_t max_delay_ns_;
  std::map<std::string, SealedUplink*> processes_;
  std::set<std::string> dark_;  // hosts without power
  std::map<mesh::ConnectionId, Connection> connections_;
  std::uint64_t last_id_ = 0;
  std::set<Pair> parted_;
  std::set<Pair> cut_;
  std::set<Pair> stalled_;
  std::deque<Recording> recordings_;
  Bytes stray_;  // a record of the connection that spoke last
  mesh::ConnectionId stray_of_;
  std::optional<std::pair<Names, mesh::Members>> members_;
  WireCounts counts_;
};

}  // namespace postern::sim
