// SPDX-License-Identifier: Apache-2.0
// A question to the agent over its control socket (SPEC 7.2), with a deadline.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "cli/answer.h"
#include "cli/command.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace postern::cli {

class Connection {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // errc::unreachable, naming the socket and how to get an agent behind it, when nobody listens.
  static Result<Connection> open(const std::filesystem::path& socket, std::chrono::seconds patience);

  // One request a connection: sends it with `body` after it and waits for the answer.
  Result<wire::ControlAnswer> ask(const wire::ControlRequest& request, std::string_view body) &&;

  // The same for a command that streams: then hands each line behind a good answer to `take`, until that says
  // false, `wake_fd` is readable, nobody reads `output_fd` any more, `deadline` has passed (errc::ended
  // never) or the agent hangs up (errc::ended).
  struct Following {
    std::function<bool(std::string_view line)> take;
    int wake_fd = -1;
    int output_fd = -1;
    TimePoint deadline = TimePoint::max();
  };
  Result<wire::ControlAnswer> follow(const wire::ControlRequest& request, const Following& following) &&;

 private:
  Connection(UniqueFd fd, std::filesystem::path socket, std::chrono::seconds patience);

  Result<> wait_for(short events, short& happened);
  // Stops early, without error, when the agent answers or hangs up before it has read everything.
  Result<> send_all(std::string_view bytes);
  Result<wire::ControlAnswer> read_answer(std::string& behind);
  // What came behind the line stays in `behind`.
  Result<std::string> read_line(std::string& behind);

  UniqueFd fd_;
  std::filesystem::path socket_;
  std::chrono::seconds patience_;
  TimePoint deadline_;
};

// The socket of the agent that the globals point to.
Result<std::filesystem::path> agent_socket(const Globals& globals);

// The result of `command`, asked of the agent that the globals point to. `patience` holds unless --timeout
// does.
tl::expected<wire::Json, Refusal> ask_agent(const Globals& globals, std::string command,
                                            wire::Json arguments = wire::Json::object(),
                                            std::string_view body = {},
                                            std::chrono::seconds patience = std::chrono::seconds(30));

}  // namespace postern::cli
