// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/wires.h"

#include <algorithm>

#include "mesh/frame.h"
#include "sim/mesh/sealed_uplink.h"

namespace postern::sim {
namespace {

constexpr std::uint16_t kPort = 7946;

}  // namespace

std::unique_ptr<Uplink> Wires::plug_in(const std::string& name, const wire::SecretKey& key,
                                       mesh::LinkHandler& handler) {
  return std::make_unique<SealedUplink>(*this, name, key, handler, world_.random.next());
}

IpAddress Wires::address_of(const std::string& name) {
  return *IpAddress::parse("192.0.2." + std::to_string(name[0] - 'a' + 1 + (name.size() > 1 ? 100 : 0)));
}

const mesh::Members& Wires::members_of(const Names& names) {
  if (members_ && members_->first == names) return members_->second;
  authority::Snapshot snapshot;
  snapshot.mesh = "blue";
  for (const auto& [key, name] : names) {
    authority::Gateway gateway;
    gateway.id = name;
    gateway.key = key;
    gateway.links = {Endpoint{address_of(name), kPort}};
    gateway.underlay = {address_of(name)};
    snapshot.gateways.push_back(std::move(gateway));
  }
  members_.emplace(names, mesh::Members(snapshot));
  return members_->second;
}

// ---- processes

void Wires::join(SealedUplink& process) {
  processes_[process.name()] = &process;
  dark_.erase(process.name());
}

void Wires::leave(SealedUplink& process, bool silently) {
  processes_.erase(process.name());
  if (silently) dark_.insert(process.name());
  for (auto& [id, connection] : connections_) {
    for (const std::size_t end : {0U, 1U}) {
      if (connection.processes[end] != &process) continue;
      connection.processes[end] = nullptr;
      connection.ways[end].queue.clear();
      // Of a host without power what was on its way is lost too.
      if (silently)
        connection.ways[1 - end].queue.clear();
      else
        push_end(connection.ways[1 - end]);
    }
  }
}

mesh::ConnectionId Wires::open(SealedUplink& process, const Endpoint& to) {
  const mesh::ConnectionId id(++last_id_);
  Connection& connection = connections_[id];
  const std::string name(1, static_cast<char>('a' + to.address.bytes[15] - 1));
  connection.ends = {process.name(), name};
  connection.processes[0] = &process;
  connection.due_ns = due_after(connection.ways[1]);
  return id;
}

Wires::Connection* Wires::find(mesh::ConnectionId id, const SealedUplink& process, std::size_t& end) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return nullptr;
  for (end = 0; end < 2; ++end)
    if (found->second.processes[end] == &process) return &found->second;
  return nullptr;
}

bool Wires::has(mesh::ConnectionId id, const SealedUplink& process) const {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return false;
  return found->second.processes[0] == &process || found->second.processes[1] == &process;
}

void Wires::carry(mesh::ConnectionId id, SealedUplink& process, Bytes bytes,
                  std::optional<std::uint64_t> promised) {
  std::size_t end = 0;
  Connection* const connection = find(id, process, end);
  if (connection == nullptr || bytes.empty()) return;
  if (promised) connection->ways[1 - end].promised.push_back(*promised);
  if (end == 0) record(*connection, bytes);
  const bool sealed = mesh::FrameKind(bytes[0]) == mesh::FrameKind::sealed;
  Bytes another = sealed ? bytes : Bytes{};
  if (Way& way = connection->ways[1 - end]; way.armed && *way.armed == Meddling::insert && sealed) {
    // What the other connection sent last, if there is one.
    if (stray_.empty() || stray_of_ == id) way.armed = Meddling::repeat;
  }
  push_record(*connection, 1 - end, std::move(bytes));
  if (!sealed) return;
  stray_ = std::move(another);
  stray_of_ = id;
}

void Wires::close(mesh::ConnectionId id, SealedUplink& process) {
  std::size_t end = 0;
  Connection* const connection = find(id, process, end);
  if (connection == nullptr) return;
  connection->processes[end] = nullptr;
  connection->ways[end].queue.clear();
  push_end(connection->ways[1 - end]);
}

std::string Wires::judge_up(mesh::ConnectionId id, const SealedUplink& process) {
  std::size_t end = 0;
  Connection* const connection = find(id, process, end);
  if (connection == nullptr) return "a link of a connection that is over";
  ++counts_.links;
  if (connection->recording) return "a recorded handshake leads to a link";
  if (connection->spoilt_opening) return "a handshake that was meddled with leads to a link";
  return "";
}

// A link carries what it was given, in that order, each once, from the first one on.
std::string Wires::judge_message(mesh::ConnectionId id, const SealedUplink& process, std::uint64_t digest) {
  std::size_t end = 0;
  Connection* const connection = find(id, process, end);
  if (connection == nullptr) return "a message of a connection that is over";
  std::deque<std::uint64_t>& promised = connection->ways[end].promised;
  if (promised.empty() || promised.front() != digest)
    return "a link carries what it was not given, or not then";
  promised.pop_front();
  return "";
}

// ---- the way

bool Wires::blocked(const std::string& from, const std::string& to) const {
  const Pair pair = std::minmax(from, to);
  return parted_.count(pair) != 0 || cut_.count(pair) != 0 || stalled_.count({from, to}) != 0;
}

std::uint64_t Wires::due_after(const Way& way) {
  std::uint64_t due_ns = world_.now_ns + world_.random.below(max_delay_ns_ + 1);
  if (world_.random.chance(60)) due_ns = world_.now_ns;
  return way.queue.empty() ? due_ns : std::max(due_ns, way.queue.back().due_ns);
}

void Wires::push(Way& way, Bytes bytes, bool bad) {
  way.queue.push_back({due_after(way), std::move(bytes), bad});
}

void Wires::push_end(Way& way) {
  way.queue.push_back({due_after(way), {}, false});
}

void Wires::push_record(Connection& connection, std::size_t towards, Bytes bytes) {
  Way& way = connection.ways[towards];
  const bool sealed = mesh::FrameKind(bytes[0]) == mesh::FrameKind::sealed;
  if (way.armed && !sealed) {
    spoil_opening(connection, bytes);
    way.armed.reset();
  }
  if (way.armed) {
    const Meddling how = *way.armed;
    way.armed.reset();
    return spoil(way, how, std::move(bytes));
  }
  push(way, std::move(bytes), std::exchange(way.bad_next, false));
  if (way.kept_back) push(way, *std::exchange(way.kept_back, std::nullopt));
}

void Wires::deliver() {
  for (auto at = connections_.begin(); at != connections_.end();)
    at = carry_on(at->first, at->second) ? std::next(at) : connections_.erase(at);
}

bool Wires::carry_on(mesh::ConnectionId id, Connection& connection) {
  if (!connection.open) return accept(id, connection);
  for (const std::size_t towards : {0U, 1U})
    deliver(id, connection, towards);
  const bool anybody = connection.processes[0] != nullptr || connection.processes[1] != nullptr;
  return anybody;
}

bool Wires::accept(mesh::ConnectionId id, Connection& connection) {
  const auto& [from, to] = connection.ends;
  if (connection.processes[0] == nullptr && !connection.recording) return false;
  if (connection.due_ns > world_.now_ns || dark_.count(to) != 0) return true;
  if (blocked(from, to) || blocked(to, from)) return !connection.recording;
  const auto listener = processes_.find(to);
  if (listener == processes_.end()) {
    if (connection.processes[0] == nullptr) return false;
    connection.processes[0]->arrive({Arrival::Kind::closed, id, {}, 0, {}, false, "connection refused"});
    connection.due_ns = UINT64_MAX;
    return true;
  }
  connection.open = true;
  connection.processes[1] = listener->second;
  listener->second->arrive({Arrival::Kind::accepted, id, {}, 0, address_of(from)});
  if (connection.processes[0] != nullptr) connection.processes[0]->arrive({Arrival::Kind::connected, id});
  return true;
}

void Wires::deliver(mesh::ConnectionId id, Connection& connection, std::size_t towards) {
  Way& way = connection.ways[towards];
  const std::size_t from = 1 - towards;
  if (blocked(connection.ends[from], connection.ends[towards])) return;
  while (!way.queue.empty() && way.queue.front().due_ns <= world_.now_ns) {
    Parcel parcel = std::move(way.queue.front());
    way.queue.pop_front();
    SealedUplink* const receiver = connection.processes[towards];
    if (receiver == nullptr) {
      // A host that lives says that it knows of no such connection.
      if (!parcel.bytes.empty() && dark_.count(connection.ends[towards]) == 0)
        push_end(connection.ways[from]);
      continue;
    }
    if (parcel.bytes.empty()) {
      receiver->arrive({Arrival::Kind::closed, id, {}, 0, {}, false, "closed by the other side"});
      continue;
    }
    if (connection.processes[from] != nullptr)
      connection.processes[from]->arrive({Arrival::Kind::written, id, {}, parcel.bytes.size()});
    receiver->arrive({Arrival::Kind::bytes, id, std::move(parcel.bytes), 0, {}, parcel.bad});
  }
}

bool Wires::linked(const std::string& one, const std::string& other) const {
  const auto a = processes_.find(one);
  const auto b = processes_.find(other);
  return a != processes_.end() && b != processes_.end() && a->second->is_linked_to(other) &&
         b->second->is_linked_to(one) && !is_spoilt(std::minmax(one, other));
}

bool Wires::is_spoilt(const Pair& pair) const {
  return std::any_of(connections_.begin(), connections_.end(), [&](const auto& entry) {
    const Connection& connection = entry.second;
    return Pair(std::minmax(connection.ends[0], connection.ends[1])) == pair &&
           connection.processes[0] != nullptr && connection.processes[1] != nullptr &&
           (connection.ways[0].spoilt || connection.ways[1].spoilt);
  });
}

// ---- troubles

void Wires::cut(const std::string& one, const std::string& other, bool told) {
  cut_.insert(std::minmax(one, other));
  if (told) reset(one, other);
}

void Wires::mend(const std::string& one, const std::string& other) {
  cut_.erase(std::minmax(one, other));
  stalled_.erase({one, other});
  stalled_.erase({other, one});
}

void Wires::reset(const std::string& one, const std::string& other) {
  const Pair pair = std::minmax(one, other);
  for (auto& [id, connection] : connections_) {
    if (Pair(std::minmax(connection.ends[0], connection.ends[1])) != pair) continue;
    for (const std::size_t end : {0U, 1U}) {
      connection.ways[end].queue.clear();
      if (connection.processes[end] != nullptr)
        connection.processes[end]->arrive({Arrival::Kind::closed, id, {}, 0, {}, false, "connection reset"});
    }
  }
}

void Wires::go_on() {
  cut_.clear();
  stalled_.clear();
}

}  // namespace postern::sim
