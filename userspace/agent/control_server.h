// SPDX-License-Identifier: Apache-2.0
// The control socket's conversations: one request and one answer a connection, each side bounded in size and
// time (SPEC 7.2). A request is authorised before its body is read.
#pragma once

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "agent/control_socket.h"
#include "agent/outlet.h"
#include "core/result.h"
#include "wire/control.h"
#include "wire/json.h"

namespace postern::agent {

class ControlServer {
 public:
  using Answer = std::function<void(const Result<wire::Json>&)>;
  // Answers once, now or in a later turn of the loop. `outlet`: where lines behind the answer may go, for
  // commands that stream; while it is kept, request and body are.
  using Run = std::function<void(const wire::ControlRequest&, std::string_view body,
                                 const std::shared_ptr<Outlet>& outlet, Answer answer)>;

  // Serves until destroyed; `io` must outlive it. `run` is called on the loop's thread.
  ControlServer(asio::io_context& io, ControlSocket socket, Run run);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  void accept_next();

  asio::io_context& io_;
  ControlSocket socket_;
  asio::local::stream_protocol::acceptor acceptor_;
  Run run_;
};

}  // namespace postern::agent
