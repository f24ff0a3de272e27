// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/sealed_uplink.h"

#include <xxhash.h>

#include <algorithm>

namespace postern::sim {
namespace {

std::uint64_t digest_of(ByteView message) {
  return ::XXH3_64bits(message.data(), message.size());
}

}  // namespace

SealedUplink::SealedUplink(Wires& wires, std::string name, const wire::SecretKey& key,
                           mesh::LinkHandler& handler, std::uint64_t seed)
    : wires_(wires),
      name_(std::move(name)),
      handler_(handler),
      chance_(seed),
      links_(identity_of(key, chance_), chance_, *this, *this) {
  wires_.join(*this);
}

SealedUplink::~SealedUplink() {
  wires_.leave(*this, powerless_);
}

mesh::LinkIdentity SealedUplink::identity_of(const wire::SecretKey& key, mesh::Randomness& randomness) {
  mesh::LinkIdentity out;
  out.mesh = "blue";
  out.node = mesh::node_id(key.public_key());
  randomness.fill(out.incarnation);
  out.key = mesh::link_key(key);
  return out;
}

bool SealedUplink::send(std::string_view to, ByteView message) {
  promised_ = digest_of(message);
  const Result<> sent = links_.send(to, message);
  promised_.reset();
  return sent.has_value();
}

void SealedUplink::follow(const Names& names) {
  links_.set_members(wires_.members_of(names), now_ns_);
}

void SealedUplink::tick(std::uint64_t monotonic_ns) {
  now_ns_ = monotonic_ns;
  // What a connection that is not read has waits, and all that is behind it.
  std::set<mesh::ConnectionId> waiting;
  for (std::size_t left = inbox_.size(); left > 0; --left) {
    Arrival arrival = std::move(inbox_.front());
    inbox_.pop_front();
    if (arrival.kind != Arrival::Kind::written && unread_.count(arrival.id) != 0) waiting.insert(arrival.id);
    if (arrival.kind != Arrival::Kind::written && waiting.count(arrival.id) != 0)
      inbox_.push_back(std::move(arrival));
    else
      take(arrival);
  }
  links_.tick(monotonic_ns);
}

void SealedUplink::take(const Arrival& arrival) {
  // It was on its way to the process when that closed the connection.
  if (!wires_.has(arrival.id, *this)) return;
  switch (arrival.kind) {
    case Arrival::Kind::accepted:
      return links_.accepted(arrival.id, arrival.from, now_ns_);
    case Arrival::Kind::connected:
      return links_.connected(arrival.id, now_ns_);
    case Arrival::Kind::written:
      return links_.written(arrival.id, arrival.size, now_ns_);
    case Arrival::Kind::closed:
      wires_.close(arrival.id, *this);
      return links_.closed(arrival.id, arrival.why, now_ns_);
    case Arrival::Kind::bytes:
      return take_bytes(arrival);
  }
}

void SealedUplink::take_bytes(const Arrival& arrival) {
  const std::uint64_t refused_before = refusals();
  hears_ = arrival.id;
  const ByteView bytes = arrival.bytes;
  links_.received(arrival.id, bytes.first(bytes.size() / 2), now_ns_);
  if (wires_.has(arrival.id, *this)) links_.received(arrival.id, bytes.subspan(bytes.size() / 2), now_ns_);
  hears_.reset();
  if (!arrival.bad) return;
  if (wires_.has(arrival.id, *this)) fault_ = "a link outlives a record that was meddled with";
  if (refusals() == refused_before) fault_ = "a record that was meddled with is not counted";
  wires_.note_caught();
}

void SealedUplink::read(mesh::ConnectionId id, bool on) {
  if (on)
    unread_.erase(id);
  else
    unread_.insert(id);
}

void SealedUplink::on_up(const mesh::PeerLink& peer) {
  if (std::string wrong = hears_ ? wires_.judge_up(*hears_, *this) : "up without a word"; !wrong.empty())
    fault_ = std::move(wrong);
  handler_.on_up(peer);
}

void SealedUplink::on_message(std::string_view gateway, ByteView message) {
  if (std::string wrong = wires_.judge_message(*hears_, *this, digest_of(message)); !wrong.empty())
    fault_ = std::move(wrong);
  handler_.on_message(gateway, message);
}

bool SealedUplink::is_linked_to(const std::string& gateway) const {
  const std::vector<mesh::LinkRow> rows = links_.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const mesh::LinkRow& row) {
    return row.gateway == gateway && row.state == mesh::LinkState::up;
  });
}

std::uint64_t SealedUplink::refusals() const {
  std::uint64_t all = 0;
  for (const mesh::Refusal refusal : mesh::kRefusals)
    all += links_.refusals().of(refusal);
  return all;
}

}  // namespace postern::sim
