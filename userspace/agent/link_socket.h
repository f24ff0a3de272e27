// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <memory>

#include "agent/link_sockets.h"

namespace postern::agent {

asio::ip::tcp::endpoint tcp_endpoint(const Endpoint& endpoint);
IpAddress address_of(const asio::ip::address& address);

// One TCP connection. Keeps itself alive by the operation that it waits for; tells its owner until it was
// left.
class LinkSocket : public std::enable_shared_from_this<LinkSocket> {
 public:
  LinkSocket(LinkSockets& owner, mesh::ConnectionId id, asio::ip::tcp::socket socket);

  void connect(const Endpoint& to);
  void start();
  void send(Bytes bytes);
  void read(bool on);
  // The owner forgets it. What was sent goes out, for a second at most.
  void leave();
  // At once, without a word.
  void abandon();

 private:
  void read_next();
  void write_next();
  void write_now();
  void fail(const std::string& why);
  void linger();
  void forget_rest();

  LinkSockets* owner_;  // null once it was left
  mesh::ConnectionId id_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer deadline_;
  bool connected_ = false;
  bool reading_ = false;
  bool paused_ = false;
  bool writing_ = false;
  std::deque<Bytes> queue_;
  std::size_t forgotten_ = 0;
  std::array<std::uint8_t, 32768> input_{};
};

}  // namespace postern::agent
