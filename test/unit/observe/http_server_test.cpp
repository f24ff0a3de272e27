// SPDX-License-Identifier: Apache-2.0
#include "observe/http_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "core/unique_fd.h"

using namespace postern;
using namespace postern::observe;

namespace {

class SetClock final : public Clock {
 public:
  std::uint64_t boot_ns() const override { return now_ns; }
  std::uint64_t monotonic_ns() const override { return now_ns; }
  std::int64_t wall_ms() const override { return 0; }
  std::atomic<std::uint64_t> now_ns = 0;
};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

std::string get(std::uint16_t port, const std::string& path) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = loopback(port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  REQUIRE(::send(socket.get(), request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()));
  std::string answer;
  char piece[4096];
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(socket.get(), piece, sizeof piece, 0);
    if (got > 0) answer.append(piece, static_cast<std::size_t>(got));
  }
  return answer;
}

bool answers(const std::string& answer, int status, const std::string& body) {
  return answer.starts_with("HTTP/1.1 " + std::to_string(status)) && answer.ends_with("\r\n\r\n" + body);
}

std::shared_ptr<const Report> report(bool ready, std::uint64_t made_ns) {
  auto made = std::make_shared<Report>();
  made->made_monotonic_ns = made_ns;
  made->health.ready = ready;
  if (!ready) made->health.problems = {"interface eth0 is down", "no snapshot"};
  made->status_json = "{\"schema\":\"postern/status/v1\"}";
  return made;
}

}  // namespace

TEST_CASE("health over HTTP tells ready, not ready with its problems, and a loop that hangs") {
  SetClock clock;
  Publication publication;
  const std::uint16_t port = free_port();
  const Endpoint endpoint{*IpAddress::parse("127.0.0.1"), port};
  const Result<std::unique_ptr<HttpServer>> server = HttpServer::start(endpoint, publication, clock);
  REQUIRE(server);
  CHECK(answers(get(port, "/healthz"), 503, "starting\n"));

  publication.publish(report(false, 0));
  CHECK(answers(get(port, "/healthz"), 503, "interface eth0 is down\nno snapshot\n"));
  CHECK(answers(get(port, "/healthz?check=live"), 200, "ok\n"));

  auto degraded = std::make_shared<Report>(*report(false, 0));
  degraded->health.ready = true;
  publication.publish(degraded);
  CHECK(answers(get(port, "/healthz"), 200, "degraded\ninterface eth0 is down\nno snapshot\n"));

  publication.publish(report(true, 0));
  CHECK(answers(get(port, "/healthz"), 200, "ok\n"));
  CHECK(answers(get(port, "/status"), 200, "{\"schema\":\"postern/status/v1\"}\n"));
  CHECK(get(port, "/metrics").find("postern_drops_total{reason=\"malformed\"} 0\n") != std::string::npos);

  clock.now_ns = kLiveWithinNs;
  CHECK(answers(get(port, "/healthz?check=live"), 503, "the agent's loop has stopped reporting\n"));
  CHECK(get(port, "/nothing").starts_with("HTTP/1.1 404"));
}

TEST_CASE("an address that is taken is refused with the remedy") {
  const UniqueFd taken(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  REQUIRE(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(taken.get(), 1) == 0);
  REQUIRE(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  SetClock clock;
  Publication publication;
  const Endpoint endpoint{*IpAddress::parse("127.0.0.1"), ntohs(address.sin_port)};
  const Result<std::unique_ptr<HttpServer>> server = HttpServer::start(endpoint, publication, clock);
  REQUIRE_FALSE(server);
  CHECK(server.error().code == observe::errc::http_listen);
  CHECK(server.error().context.find("config") != std::string::npos);
}
