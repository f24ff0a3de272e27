// SPDX-License-Identifier: Apache-2.0
#include "agent/control_connection.h"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <chrono>

#include "agent/caller.h"
#include "agent/control_commands.h"
#include "agent/errors.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "dataplane/dry_run.h"

namespace postern::agent {
namespace {

constexpr std::chrono::seconds kDeadline{10};
constexpr std::size_t kMaxRequestLine = 64U << 10;
constexpr std::size_t kMaxWaiting = 4U << 20;
constexpr std::uint64_t kMaxBody = authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes;

}  // namespace

ControlConnection::ControlConnection(asio::local::stream_protocol::socket socket,
                                     const ControlServer::Run& run)
    : socket_(std::move(socket)), deadline_(socket_.get_executor()), run_(run), input_(kMaxRequestLine) {}

void ControlConnection::start() {
  arm_deadline();
  read_line();
}

void ControlConnection::arm_deadline() {
  deadline_.expires_after(kDeadline);
  deadline_.async_wait([weak = weak_from_this()](const std::error_code& error) {
    const std::shared_ptr<ControlConnection> self = weak.lock();
    if (error || self == nullptr) return;
    // A long turn may have let an older deadline pass that was renewed since.
    if (self->deadline_.expiry() > std::chrono::steady_clock::now()) return;
    std::error_code ignored;
    self->socket_.close(ignored);
  });
}

void ControlConnection::read_line() {
  asio::async_read_until(
      socket_, input_, '\n', [self = shared_from_this()](const std::error_code& error, std::size_t) {
        if (error == asio::error::not_found) {
          self->answer(fail(wire::errc::control_malformed, "the request's first line is longer than " +
                                                               std::to_string(kMaxRequestLine) + " bytes"));
        } else if (!error) {
          self->take_line();
        }
      });
}

void ControlConnection::take_line() {
  const asio::const_buffer data = input_.data();
  const std::string_view text(static_cast<const char*>(data.data()), data.size());
  const std::size_t end = text.find('\n') + 1;
  Result<wire::ControlRequest> request = wire::parse_request(text.substr(0, end));
  input_.consume(end);
  if (!request) return answer(pass_on(std::move(request)));
  request_ = std::move(*request);
  if (Result<> allowed = authorise(); !allowed) return answer(pass_on(std::move(allowed)));
  if (Result<> fits = judge_body(); !fits) return answer(pass_on(std::move(fits)));
  read_body();
}

Result<> ControlConnection::authorise() const {
  if (!needs_administrator(request_)) return {};
  // The descriptor is only looked at, but asio's accessor is not const.
  const int fd = const_cast<asio::local::stream_protocol::socket&>(socket_).native_handle();
  const Result<Caller> caller = caller_of(fd);
  if (!caller) return tl::unexpected(caller.error());
  if (may_change(*caller, group_id(kAdministratorsGroup))) return {};
  return fail(errc::control_denied, "`" + request_.command + "` needs root or a member of group " +
                                        kAdministratorsGroup + ", the caller is uid " +
                                        std::to_string(caller->uid));
}

Result<> ControlConnection::judge_body() const {
  if (request_.body_bytes != 0 && !takes_body(request_.command))
    return fail(wire::errc::control_malformed, "`" + request_.command + "` takes no body");
  if (request_.command == "explain" && request_.body_bytes > dataplane::kMaxDryFrame_bytes)
    return fail(errc::control_bad_argument, "a frame of " + std::to_string(request_.body_bytes) +
                                                " bytes cannot be explained, the limit is " +
                                                std::to_string(dataplane::kMaxDryFrame_bytes));
  if (request_.body_bytes <= kMaxBody) return {};
  return fail(authority::errc::too_large, "the snapshot has " + std::to_string(request_.body_bytes) +
                                              " bytes, the limit is " + std::to_string(kMaxBody));
}

void ControlConnection::read_body() {
  const asio::const_buffer ahead = input_.data();
  body_.resize(request_.body_bytes);
  body_got_ = std::min(body_.size(), ahead.size());
  std::copy_n(static_cast<const char*>(ahead.data()), body_got_, body_.begin());
  input_.consume(ahead.size());
  asio::async_read(socket_, asio::buffer(body_.data() + body_got_, body_.size() - body_got_),
                   [self = shared_from_this()](const std::error_code& error, std::size_t) {
                     if (!error) self->take_body();
                   });
}

void ControlConnection::take_body() {
  // An order takes as long as it takes, and those before it.
  deadline_.expires_at(std::chrono::steady_clock::time_point::max());
  run_(request_, body_, shared_from_this(), [self = shared_from_this()](const Result<wire::Json>& result) {
    std::string().swap(self->body_);
    self->streams_ = result && streams(self->request_.command);
    self->answer(result);
  });
}

void ControlConnection::answer(const Result<wire::Json>& result) {
  output_ = wire::encode_answer(result);
  if (output_.size() > wire::kMaxControlLine) {
    output_ = wire::encode_answer(fail(errc::control_answer_too_large,
                                       "the answer has " + std::to_string(output_.size()) +
                                           " bytes, the limit is " + std::to_string(wire::kMaxControlLine) +
                                           "; ask for less, for owners by segment or address"));
  }
  arm_deadline();
  asio::async_write(socket_, asio::buffer(output_),
                    [self = shared_from_this()](std::error_code error, std::size_t) {
                      if (error) return;
                      if (self->streams_) {
                        self->send_waiting();
                        return self->drain();
                      }
                      self->socket_.shutdown(asio::local::stream_protocol::socket::shutdown_send, error);
                      self->drain();
                    });
}

bool ControlConnection::offer(std::string_view line) {
  if (waiting_.size() + line.size() > kMaxWaiting) return false;
  waiting_ += line;
  if (streams_ && output_.empty()) send_waiting();
  return true;
}

// Who takes nothing within the deadline is cut off.
void ControlConnection::send_waiting() {
  output_.clear();
  output_.swap(waiting_);
  if (output_.empty()) {
    deadline_.expires_at(std::chrono::steady_clock::time_point::max());
    return;
  }
  arm_deadline();
  asio::async_write(socket_, asio::buffer(output_),
                    [self = shared_from_this()](const std::error_code& error, std::size_t) {
                      if (!error) self->send_waiting();
                    });
}

void ControlConnection::drain() {
  socket_.async_read_some(asio::buffer(forgotten_),
                          [self = shared_from_this()](const std::error_code& error, std::size_t) {
                            if (!error) self->drain();
                          });
}

}  // namespace postern::agent
