// SPDX-License-Identifier: Apache-2.0
#include "agent/link_socket.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <chrono>

namespace postern::agent {
namespace {

constexpr std::chrono::seconds kLinger{1};
// What a peer still sends is read and forgotten up to here, so that its refusal is not lost to a reset.
constexpr std::size_t kMostForgotten = 256U << 10;
constexpr unsigned kUserTimeout_ms = 10'000;

void set_options(asio::ip::tcp::socket& socket) {
  std::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeout_ms,
               sizeof kUserTimeout_ms);
}

}  // namespace

asio::ip::tcp::endpoint tcp_endpoint(const Endpoint& endpoint) {
  const auto& bytes = endpoint.address.bytes;
  if (endpoint.address.is_v4())
    return {asio::ip::address_v4({bytes[12], bytes[13], bytes[14], bytes[15]}), endpoint.port};
  asio::ip::address_v6::bytes_type raw{};
  std::copy(bytes.begin(), bytes.end(), raw.begin());
  return {asio::ip::address_v6(raw), endpoint.port};
}

IpAddress address_of(const asio::ip::address& address) {
  IpAddress out;
  if (address.is_v6()) {
    const auto raw = address.to_v6().to_bytes();
    std::copy(raw.begin(), raw.end(), out.bytes.begin());
    return out;
  }
  const auto raw = address.to_v4().to_bytes();
  out.bytes[10] = out.bytes[11] = 0xff;
  std::copy(raw.begin(), raw.end(), out.bytes.begin() + 12);
  return out;
}

LinkSocket::LinkSocket(LinkSockets& owner, mesh::ConnectionId id, asio::ip::tcp::socket socket)
    : owner_(&owner), id_(id), socket_(std::move(socket)), deadline_(socket_.get_executor()) {}

void LinkSocket::connect(const Endpoint& to) {
  socket_.async_connect(tcp_endpoint(to), [self = shared_from_this()](const std::error_code& error) {
    if (self->owner_ == nullptr) return;
    if (error) return self->fail("cannot connect: " + error.message());
    self->start();
    self->owner_->connected(self->id_);
  });
}

void LinkSocket::start() {
  set_options(socket_);
  connected_ = true;
  std::error_code ignored;
  socket_.non_blocking(true, ignored);
  read_next();
}

void LinkSocket::read(bool on) {
  paused_ = !on;
  if (on) read_next();
}

void LinkSocket::read_next() {
  if (reading_ || paused_ || owner_ == nullptr) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](const std::error_code& error, std::size_t size) {
                            self->reading_ = false;
                            if (self->owner_ == nullptr) return;
                            if (error == asio::error::eof) return self->fail("closed by the other side");
                            if (error) return self->fail(error.message());
                            self->owner_->received(self->id_, ByteView(self->input_).first(size));
                            self->read_next();
                          });
}

void LinkSocket::send(Bytes bytes) {
  if (!connected_) return;
  queue_.push_back(std::move(bytes));
  if (!writing_) write_next();
}

void LinkSocket::write_next() {
  if (queue_.empty()) return;
  writing_ = true;
  asio::async_write(socket_, asio::buffer(queue_.front()),
                    [self = shared_from_this()](const std::error_code& error, std::size_t size) {
                      self->writing_ = false;
                      if (!self->queue_.empty()) self->queue_.pop_front();
                      if (self->owner_ == nullptr) return self->linger();
                      if (error) return self->fail(error.message());
                      self->owner_->written(self->id_, size);
                      if (!self->writing_) self->write_next();
                    });
}

// As much as the kernel takes without waiting: the loop may be about to end.
void LinkSocket::write_now() {
  std::error_code error;
  while (!writing_ && !queue_.empty() && !error) {
    const std::size_t size = socket_.write_some(asio::buffer(queue_.front()), error);
    if (error || size == 0) return;
    queue_.front().erase(queue_.front().begin(), queue_.front().begin() + static_cast<std::ptrdiff_t>(size));
    if (queue_.front().empty()) queue_.pop_front();
  }
}

void LinkSocket::fail(const std::string& why) {
  LinkSockets* const owner = owner_;
  abandon();
  if (owner != nullptr) owner->ended(id_, why);
}

void LinkSocket::abandon() {
  owner_ = nullptr;
  queue_.clear();
  std::error_code ignored;
  deadline_.cancel(ignored);
  socket_.close(ignored);
}

void LinkSocket::leave() {
  owner_ = nullptr;
  if (!connected_) return abandon();
  deadline_.expires_after(kLinger);
  deadline_.async_wait([self = shared_from_this()](const std::error_code& error) {
    if (!error) self->abandon();
  });
  write_now();
  linger();
}

void LinkSocket::linger() {
  if (!socket_.is_open() || writing_) return;
  if (!queue_.empty()) return write_next();
  std::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (!reading_) forget_rest();
}

void LinkSocket::forget_rest() {
  socket_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](const std::error_code& error, std::size_t size) {
                            self->forgotten_ += size;
                            if (error || self->forgotten_ > kMostForgotten) return self->abandon();
                            self->forget_rest();
                          });
}

}  // namespace postern::agent
