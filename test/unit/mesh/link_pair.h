// SPDX-License-Identifier: Apache-2.0
// Gateways for tests of links: keys, a snapshot that has them, and two sessions that are joined by hand.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "mesh/link_session.h"
#include "unit/mesh/scripted_randomness.h"

namespace postern::testing {

inline wire::SecretKey node_key(std::uint8_t number) {
  std::array<std::uint8_t, 32> seed{};
  seed[0] = number;
  return wire::SecretKey::from_seed(seed);
}

inline mesh::LinkIdentity identity_of(std::uint8_t number, std::uint8_t incarnation = 1) {
  const wire::SecretKey key = node_key(number);
  mesh::LinkIdentity out;
  out.mesh = "demo";
  out.node = mesh::node_id(key.public_key());
  out.incarnation[0] = number;
  out.incarnation[1] = incarnation;
  out.key = mesh::link_key(key);
  return out;
}

// A snapshot with gateways g1, g2, ...; each listens on 192.0.2.N:7946.
inline authority::Snapshot snapshot_of(const std::vector<std::uint8_t>& numbers) {
  authority::Snapshot out;
  out.mesh = "demo";
  for (const std::uint8_t number : numbers) {
    authority::Gateway gateway;
    gateway.id = "g" + std::to_string(number);
    gateway.key = node_key(number).public_key();
    const IpAddress address = *IpAddress::parse("192.0.2." + std::to_string(number));
    gateway.links = {Endpoint{address, 7946}};
    gateway.underlay = {address};
    out.gateways.push_back(gateway);
  }
  return out;
}

// One end of a connection.
struct End {
  mesh::LinkIdentity identity;
  mesh::Members members;
  mesh::ReplayMemory seen;
  SeededRandomness randomness;

  explicit End(std::uint8_t number, std::vector<std::uint8_t> gateways = {1, 2})
      : identity(identity_of(number)), members(snapshot_of(gateways)), randomness(number) {}
  mesh::SessionParts parts() { return {identity, members, seen, randomness}; }
  mesh::LinkSession dial(const End& to) {
    return mesh::LinkSession(parts(), *members.find(to.identity.node));
  }
  mesh::LinkSession listen() { return mesh::LinkSession(parts()); }
};

// All steps that the bytes lead to; what they put out is joined.
inline mesh::SessionStep feed(mesh::LinkSession& session, ByteView bytes) {
  session.append(bytes);
  mesh::SessionStep all;
  while (true) {
    mesh::SessionStep step = session.step();
    if (step.waits) return all;
    Bytes output = std::move(all.output);
    output.insert(output.end(), step.output.begin(), step.output.end());
    const bool ends = step.asks || step.up || step.refused || step.refused_us || step.said || step.message;
    all = std::move(step);
    all.output = std::move(output);
    if (ends) return all;
  }
}

// The bytes of each flight of a handshake, up to the welcome.
struct Handshake {
  Bytes hello, hello_back, first, second, confirm, welcome;
};

inline Handshake connect(mesh::LinkSession& initiator, mesh::LinkSession& responder) {
  Handshake out;
  out.hello = initiator.start();
  out.hello_back = feed(responder, out.hello).output;
  out.first = feed(initiator, out.hello_back).output;
  out.second = feed(responder, out.first).output;
  out.confirm = feed(initiator, out.second).output;
  REQUIRE(feed(responder, out.confirm).asks);
  out.welcome = responder.accept();
  REQUIRE(feed(initiator, out.welcome).up);
  return out;
}

}  // namespace postern::testing
