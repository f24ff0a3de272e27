// SPDX-License-Identifier: Apache-2.0
#include "agent/link_sockets.h"

#include <algorithm>
#include <asio/ip/v6_only.hpp>
#include <chrono>

#include "agent/link_socket.h"

namespace postern::agent {
namespace {

constexpr int kBacklog = 128;
// Connections that are taken of one listener at a time, and how long it pauses then: a flood of them waits in
// the kernel, and is dropped there.
constexpr unsigned kAcceptsAtATime = 32;
constexpr std::chrono::milliseconds kAcceptPause{100};
// After a failed accept (out of descriptors, say) the next try waits, or the loop would spin.
constexpr std::chrono::milliseconds kAfterFailure{200};

}  // namespace

// Its handlers may be due when it is gone already.
class LinkSockets::Listener : public std::enable_shared_from_this<LinkSockets::Listener> {
 public:
  explicit Listener(LinkSockets& owner) : owner_(owner), acceptor_(owner.io_), pause_(owner.io_) {}

  std::error_code open(const Endpoint& at) {
    const asio::ip::tcp::endpoint endpoint = tcp_endpoint(at);
    std::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error && !at.address.is_v4()) acceptor_.set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(kBacklog, error);
    if (!error) accept_next();
    return error;
  }

 private:
  void accept_next() {
    acceptor_.async_accept(
        [weak = weak_from_this()](const std::error_code& error, asio::ip::tcp::socket socket) {
          if (const auto self = weak.lock(); self && self->acceptor_.is_open())
            self->take(error, std::move(socket));
        });
  }
  void take(const std::error_code& error, asio::ip::tcp::socket socket) {
    if (error) return go_on_after(kAfterFailure);
    const auto now = std::chrono::steady_clock::now();
    if (now - window_ >= kAcceptPause) {
      window_ = now;
      taken_ = 0;
    }
    owner_.accepted(std::move(socket));
    if (++taken_ >= kAcceptsAtATime) return go_on_after(kAcceptPause);
    accept_next();
  }
  void go_on_after(std::chrono::milliseconds time) {
    pause_.expires_after(time);
    pause_.async_wait([weak = weak_from_this()](const std::error_code& error) {
      if (const auto self = weak.lock(); self && !error) self->accept_next();
    });
  }

  LinkSockets& owner_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::chrono::steady_clock::time_point window_{};
  unsigned taken_ = 0;
};

LinkSockets::LinkSockets(asio::io_context& io, const Clock& clock) : io_(io), clock_(clock) {}

LinkSockets::~LinkSockets() {
  stop();
}

void LinkSockets::stop() {
  links_ = nullptr;
  listeners_.clear();
  for (const auto& [id, socket] : sockets_)
    socket->abandon();
  sockets_.clear();
}

std::string LinkSockets::listen(const std::vector<Endpoint>& at) {
  std::erase_if(listeners_,
                [&](const auto& entry) { return std::find(at.begin(), at.end(), entry.first) == at.end(); });
  std::string problem;
  for (const Endpoint& endpoint : at) {
    if (listeners_.count(endpoint) != 0) continue;
    auto listener = std::make_shared<Listener>(*this);
    const std::error_code error = listener->open(endpoint);
    if (!error) {
      listeners_.emplace(endpoint, std::move(listener));
    } else if (problem.empty()) {
      problem =
          "cannot listen for links at " + endpoint.text() + ": " + error.message() +
          "; give this host that address, or say in `links: listen:` of the config where else to listen";
    }
  }
  return problem;
}

std::vector<Endpoint> LinkSockets::listening() const {
  std::vector<Endpoint> out;
  for (const auto& [endpoint, listener] : listeners_)
    out.push_back(endpoint);
  return out;
}

void LinkSockets::accepted(asio::ip::tcp::socket socket) {
  std::error_code error;
  const asio::ip::tcp::endpoint remote = socket.remote_endpoint(error);
  if (error || links_ == nullptr) return;
  const mesh::ConnectionId id(++last_id_);
  const auto connection = std::make_shared<LinkSocket>(*this, id, std::move(socket));
  sockets_.emplace(id, connection);
  connection->start();
  links_->accepted(id, address_of(remote.address()), now_ns());
}

mesh::ConnectionId LinkSockets::connect(const Endpoint& to) {
  const mesh::ConnectionId id(++last_id_);
  const auto connection = std::make_shared<LinkSocket>(*this, id, asio::ip::tcp::socket(io_));
  sockets_.emplace(id, connection);
  connection->connect(to);
  return id;
}

void LinkSockets::send(mesh::ConnectionId id, Bytes bytes) {
  const auto found = sockets_.find(id);
  if (found != sockets_.end()) found->second->send(std::move(bytes));
}

void LinkSockets::close(mesh::ConnectionId id) {
  const auto found = sockets_.find(id);
  if (found == sockets_.end()) return;
  const std::shared_ptr<LinkSocket> socket = found->second;
  sockets_.erase(found);
  socket->leave();
}

void LinkSockets::read(mesh::ConnectionId id, bool on) {
  const auto found = sockets_.find(id);
  if (found != sockets_.end()) found->second->read(on);
}

void LinkSockets::connected(mesh::ConnectionId id) {
  if (links_ != nullptr) links_->connected(id, now_ns());
}

void LinkSockets::received(mesh::ConnectionId id, ByteView bytes) {
  if (links_ != nullptr) links_->received(id, bytes, now_ns());
}

void LinkSockets::written(mesh::ConnectionId id, std::size_t bytes) {
  if (links_ != nullptr) links_->written(id, bytes, now_ns());
}

void LinkSockets::ended(mesh::ConnectionId id, const std::string& why) {
  sockets_.erase(id);
  if (links_ != nullptr) links_->closed(id, why, now_ns());
}

}  // namespace postern::agent
