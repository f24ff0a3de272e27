// SPDX-License-Identifier: Apache-2.0
// The TCP under the links (SPEC 8.7): listens, connects, reads and writes, and leaves every decision to
// mesh/links.h.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "mesh/link_handler.h"
#include "mesh/links.h"

namespace postern::agent {

class LinkSocket;

class LinkSockets final : public mesh::LinkTransport {
 public:
  // Both must outlive this.
  LinkSockets(asio::io_context& io, const Clock& clock);
  ~LinkSockets() override;
  LinkSockets(const LinkSockets&) = delete;
  LinkSockets& operator=(const LinkSockets&) = delete;

  // To be called once, before anything else; `links` must outlive this or stop() must come first.
  void serve(mesh::Links& links) { links_ = &links; }
  // Listens at these from now on and nowhere else. Returns what went wrong, "" when nothing did; what failed
  // is tried again at the next call.
  std::string listen(const std::vector<Endpoint>& at);
  std::vector<Endpoint> listening() const;
  // Gives the links nothing any more.
  void stop();

  mesh::ConnectionId connect(const Endpoint& to) override;
  void send(mesh::ConnectionId id, Bytes bytes) override;
  void close(mesh::ConnectionId id) override;
  void read(mesh::ConnectionId id, bool on) override;

 private:
  friend class LinkSocket;
  class Listener;

  void accepted(asio::ip::tcp::socket socket);
  void connected(mesh::ConnectionId id);
  void received(mesh::ConnectionId id, ByteView bytes);
  void written(mesh::ConnectionId id, std::size_t bytes);
  void ended(mesh::ConnectionId id, const std::string& why);
  std::uint64_t now_ns() const { return clock_.monotonic_ns(); }

  asio::io_context& io_;
  const Clock& clock_;
  mesh::Links* links_ = nullptr;
  std::uint64_t last_id_ = 0;
  std::map<mesh::ConnectionId, std::shared_ptr<LinkSocket>> sockets_;
  std::map<Endpoint, std::shared_ptr<Listener>> listeners_;
};

}  // namespace postern::agent
