// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <asio/streambuf.hpp>
#include <memory>
#include <string>

#include "agent/control_server.h"

namespace postern::agent {

// One caller: line in, body in, line out, gone; or, for commands that stream, lines out until the caller goes
// or takes nothing for too long. Keeps itself alive by the operation that it waits for.
class ControlConnection : public Outlet, public std::enable_shared_from_this<ControlConnection> {
 public:
  ControlConnection(asio::local::stream_protocol::socket socket, const ControlServer::Run& run);

  void start();
  bool offer(std::string_view line) override;

 private:
  void arm_deadline();
  void read_line();
  void take_line();
  void read_body();
  void take_body();
  void answer(const Result<wire::Json>& result);
  void send_waiting();
  // What the caller still sends is read and forgotten, so that the answer is not lost to a reset.
  void drain();
  Result<> authorise() const;
  Result<> judge_body() const;

  asio::local::stream_protocol::socket socket_;
  asio::steady_timer deadline_;
  ControlServer::Run run_;
  asio::streambuf input_;
  wire::ControlRequest request_;
  std::string body_;
  std::size_t body_got_ = 0;
  std::string output_;
  std::string waiting_;  // lines behind the answer
  bool streams_ = false;
  std::array<char, 4096> forgotten_{};
};

}  // namespace postern::agent
