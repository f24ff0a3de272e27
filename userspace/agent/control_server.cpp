// SPDX-License-Identifier: Apache-2.0
#include "agent/control_server.h"

#include <fcntl.h>

#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "agent/control_connection.h"

namespace postern::agent {
namespace {

// After a failed accept (out of descriptors, say) the next try waits, or the loop would spin.
constexpr std::chrono::milliseconds kAfterFailure{200};

}  // namespace

ControlServer::ControlServer(asio::io_context& io, ControlSocket socket, Run run)
    : io_(io),
      socket_(std::move(socket)),
      acceptor_(io, asio::local::stream_protocol(), ::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0)),
      run_(std::move(run)) {
  accept_next();
}

void ControlServer::accept_next() {
  acceptor_.async_accept([this](const std::error_code& error, asio::local::stream_protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      std::make_shared<ControlConnection>(std::move(socket), run_)->start();
      return accept_next();
    }
    const auto pause = std::make_shared<asio::steady_timer>(io_, kAfterFailure);
    pause->async_wait([this, pause](const std::error_code& stopped) {
      if (!stopped) accept_next();
    });
  });
}

}  // namespace postern::agent
