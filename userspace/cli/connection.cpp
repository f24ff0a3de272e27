// SPDX-License-Identifier: Apache-2.0
#include "cli/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/errors.h"
#include "config/config.h"

namespace postern::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::chrono::milliseconds::rep kLongestWait_ms = 60'000;

tl::unexpected<Error> unreachable(const std::filesystem::path& socket, int error) {
  std::string context = "no agent answers at " + socket.string() + " (" + std::strerror(error) + "); ";
  if (error == EACCES || error == EPERM) {
    context += "ask as root or as a member of group postern";
  } else {
    context +=
        "start it with `posternd --config FILE`, or name the socket of a running one with --socket PATH";
  }
  return fail(errc::unreachable, std::move(context));
}

}  // namespace

// --socket, else the config's, else the config's default.
Result<std::filesystem::path> agent_socket(const Globals& globals) {
  if (!globals.socket.empty()) return globals.socket;
  std::error_code ignored;
  if (!globals.config_named && !std::filesystem::exists(globals.config, ignored))
    return config::Config{}.socket;
  Result<config::Config> config = config::load_config(globals.config);
  if (!config) return pass_on(std::move(config));
  return config->socket;
}

Connection::Connection(UniqueFd fd, std::filesystem::path socket, std::chrono::seconds patience)
    : fd_(std::move(fd)),
      socket_(std::move(socket)),
      patience_(patience),
      deadline_(steady_clock::now() + patience) {}

Result<Connection> Connection::open(const std::filesystem::path& socket, std::chrono::seconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = socket.native();
  if (name.size() >= sizeof address.sun_path) {
    return fail(errc::usage, "the socket's path " + name + " has " + std::to_string(name.size()) +
                                 " bytes, at most " + std::to_string(sizeof address.sun_path - 1) +
                                 " are possible; name a shorter one");
  }
  std::copy(name.begin(), name.end(), address.sun_path);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return unreachable(socket, errno);
  }
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return unreachable(socket, errno);
  return Connection(std::move(fd), socket, patience);
}

Result<wire::ControlAnswer> Connection::ask(const wire::ControlRequest& request, std::string_view body) && {
  if (Result<> sent = send_all(wire::encode_request(request)); !sent) return pass_on(std::move(sent));
  if (Result<> sent = send_all(body); !sent) return pass_on(std::move(sent));
  std::string behind;
  return read_answer(behind);
}

Result<wire::ControlAnswer> Connection::read_answer(std::string& behind) {
  Result<std::string> line = read_line(behind);
  if (!line) return pass_on(std::move(line));
  Result<wire::ControlAnswer> answer = wire::parse_answer(*line);
  if (!answer) {
    return fail(errc::garbled, "the answer from " + socket_.string() + " is no answer (" +
                                   answer.error().message() +
                                   "); is that Postern's control socket, and of this version?");
  }
  return answer;
}

Result<wire::ControlAnswer> Connection::follow(const wire::ControlRequest& request,
                                               const Following& following) && {
  if (Result<> sent = send_all(wire::encode_request(request)); !sent) return pass_on(std::move(sent));
  std::string lines;
  Result<wire::ControlAnswer> answer = read_answer(lines);
  if (!answer || answer->error) return answer;
  std::array<char, kReadBytes> piece{};
  for (;;) {
    std::size_t at = 0;
    for (std::size_t end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1)
      if (!following.take(std::string_view(lines).substr(at, end - at))) return answer;
    lines.erase(0, at);
    int wait_ms = -1;
    if (following.deadline != TimePoint::max()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(following.deadline - steady_clock::now());
      if (left.count() <= 0) return answer;
      wait_ms = static_cast<int>(std::min<std::chrono::milliseconds::rep>(left.count(), kLongestWait_ms));
    }
    pollfd polls[] = {{fd_.get(), POLLIN, 0}, {following.wake_fd, POLLIN, 0}, {following.output_fd, 0, 0}};
    const int ready = ::poll(polls, std::size(polls), wait_ms);
    if (ready < 0 && errno != EINTR) return unreachable(socket_, errno);
    if (ready <= 0) continue;
    if (polls[1].revents != 0 || polls[2].revents != 0) return answer;
    const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0)
      return fail(errc::ended, "the agent at " + socket_.string() + " ended, or cut this reader off");
    if (lines.size() > wire::kMaxControlLine) return fail(errc::garbled, "a line without an end");
    lines.append(piece.data(), static_cast<std::size_t>(got));
  }
}

Result<> Connection::wait_for(short events, short& happened) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady_clock::now());
    pollfd poll{fd_.get(), events, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&poll, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return unreachable(socket_, errno);
    if (ready == 0) {
      return fail(errc::silent,
                  "the agent at " + socket_.string() + " took the request but did not answer within " +
                      std::to_string(patience_.count()) +
                      " s, so its outcome is unknown; look with `postern status`, or wait longer with "
                      "--timeout SECONDS");
    }
    happened = poll.revents;
    return {};
  }
}

Result<> Connection::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    short happened = 0;
    if (Result<> waited = wait_for(POLLIN | POLLOUT, happened); !waited) return waited;
    if ((happened & (POLLIN | POLLHUP | POLLERR)) != 0) return {};
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return {};
  }
  return {};
}

Result<std::string> Connection::read_line(std::string& behind) {
  std::string line;
  std::array<char, kReadBytes> piece{};
  while (line.size() <= wire::kMaxControlLine) {
    short happened = 0;
    if (Result<> waited = wait_for(POLLIN, happened); !waited) return pass_on(std::move(waited));
    const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) {
      return fail(errc::silent,
                  "the agent at " + socket_.string() +
                      " hung up without an answer, so the outcome is unknown; see its log, and look "
                      "with `postern status`");
    }
    line.append(piece.data(), static_cast<std::size_t>(got));
    if (const std::size_t end = line.find('\n'); end != std::string::npos) {
      behind = line.substr(end + 1);
      line.resize(end + 1);
      return line;
    }
  }
  return fail(errc::garbled, "the answer from " + socket_.string() + " is longer than " +
                                 std::to_string(wire::kMaxControlLine) + " bytes");
}

tl::expected<wire::Json, Refusal> ask_agent(const Globals& globals, std::string command, wire::Json arguments,
                                            std::string_view body, std::chrono::seconds patience) {
  const Result<std::filesystem::path> socket = agent_socket(globals);
  if (!socket) return refuse(socket.error());
  if (globals.timeout_s != 0) patience = std::chrono::seconds(globals.timeout_s);
  Result<Connection> connection = Connection::open(*socket, patience);
  if (!connection) return refuse(connection.error());
  Result<wire::ControlAnswer> answer =
      std::move(*connection).ask({std::move(command), std::move(arguments), body.size()}, body);
  if (!answer) return refuse(answer.error());
  if (answer->error) return tl::unexpected<Refusal>(std::move(*answer->error));
  return std::move(answer->result);
}

}  // namespace postern::cli
