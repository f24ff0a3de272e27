// SPDX-License-Identifier: Apache-2.0
// The real links of a gateway's process (mesh/links.h) on simulated wires: handshakes, sealing, refusals and
// reconnects are the product's, chance is the seed's. What links carry is compared with what they were given
// to carry.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>

#include "mesh/links.h"
#include "sim/mesh/wires.h"

namespace postern::sim {

class SealedUplink final : public Uplink, private mesh::LinkTransport, private mesh::LinkHandler {
 public:
  SealedUplink(Wires& wires, std::string name, const wire::SecretKey& key, mesh::LinkHandler& handler,
               std::uint64_t seed);
  SealedUplink(const SealedUplink&) = delete;
  SealedUplink& operator=(const SealedUplink&) = delete;
  ~SealedUplink() override;

  bool send(std::string_view to, ByteView message) override;
  void hold(std::string_view from) override { links_.hold(from); }
  void resume(std::string_view from) override { links_.resume(from); }
  void follow(const Names& names) override;
  void tick(std::uint64_t monotonic_ns) override;
  void lose_power() override { powerless_ = true; }
  const std::string& fault() const override { return fault_; }

  void arrive(Arrival arrival) { inbox_.push_back(std::move(arrival)); }
  const std::string& name() const { return name_; }
  bool is_linked_to(const std::string& gateway) const;
  std::uint64_t refusals() const;

 private:
  class Chance final : public mesh::Randomness {
   public:
    explicit Chance(std::uint64_t seed) : source_(seed) {}
    void fill(std::span<std::uint8_t> bytes) override {
      for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(source_.next());
    }

   private:
    RandomSource source_;
  };

  // ---- mesh::LinkTransport
  mesh::ConnectionId connect(const Endpoint& to) override { return wires_.open(*this, to); }
  void send(mesh::ConnectionId id, Bytes bytes) override {
    wires_.carry(id, *this, std::move(bytes), promised_);
  }
  void close(mesh::ConnectionId id) override { wires_.close(id, *this); }
  void read(mesh::ConnectionId id, bool on) override;

  // ---- mesh::LinkHandler
  void on_up(const mesh::PeerLink& peer) override;
  void on_message(std::string_view gateway, ByteView message) override;
  void on_down(std::string_view gateway, std::string_view why) override { handler_.on_down(gateway, why); }
  void on_room(std::string_view gateway) override { handler_.on_room(gateway); }

  void take(const Arrival& arrival);
  void take_bytes(const Arrival& arrival);
  static mesh::LinkIdentity identity_of(const wire::SecretKey& key, mesh::Randomness& randomness);

  Wires& wires_;
  std::string name_;
  mesh::LinkHandler& handler_;
  Chance chance_;
  mesh::Links links_;
  std::uint64_t now_ns_ = 0;
  std::deque<Arrival> inbox_;
  std::set<mesh::ConnectionId> unread_;
  std::optional<std::uint64_t> promised_;
  std::optional<mesh::ConnectionId> hears_;
  bool powerless_ = false;
  std::string fault_;
};

}  // namespace postern::sim
