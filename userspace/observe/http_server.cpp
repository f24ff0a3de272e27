// SPDX-License-Identifier: Apache-2.0
#include "observe/http_server.h"

// The distribution builds the library with these; its structures have other layouts without them.
#define CPPHTTPLIB_OPENSSL_SUPPORT
#define CPPHTTPLIB_ZLIB_SUPPORT
#define CPPHTTPLIB_BROTLI_SUPPORT
#include <httplib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "observe/metrics.h"

namespace postern::observe {
namespace {

constexpr std::size_t kThreads = 2;
constexpr std::size_t kMaxBodyBytes = 4096;
constexpr std::chrono::milliseconds kPatience{500};
constexpr int kOk = 200;
constexpr int kUnavailable = 503;

class HttpThread final : public HttpServer {
 public:
  HttpThread(Publication& publication, const Clock& clock) : publication_(publication), clock_(clock) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_payload_max_length(kMaxBodyBytes);
    server_.Get("/metrics",
                [this](const httplib::Request&, httplib::Response& response) { metrics(response); });
    server_.Get("/healthz", [this](const httplib::Request& request, httplib::Response& response) {
      health(request.get_param_value("check") == "live", response);
    });
    server_.Get("/status",
                [this](const httplib::Request&, httplib::Response& response) { status(response); });
  }
  HttpThread(const HttpThread&) = delete;
  HttpThread& operator=(const HttpThread&) = delete;
  ~HttpThread() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<> listen(const Endpoint& endpoint) {
    errno = 0;
    if (!server_.bind_to_port(endpoint.address.text(), endpoint.port)) {
      return fail(errc::http_listen,
                  "cannot listen on " + endpoint.text() + ": " + std::strerror(errno) +
                      "; free the address or set another one, or `off`, as `http` in the config");
    }
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      ended_ = true;
    });
    // stop() does nothing to a server that has not begun yet.
    while (!server_.is_running() && !ended_)
      std::this_thread::yield();
    return {};
  }

 private:
  bool is_live(const Report& report) const {
    return clock_.monotonic_ns() - report.made_monotonic_ns < kLiveWithinNs;
  }

  void metrics(httplib::Response& response) {
    const std::shared_ptr<const Report> report = publication_.fresh(kPatience);
    if (report == nullptr) return starting(response);
    response.set_content(metrics_text(report->observation), kMetricsContentType);
  }

  void health(bool only_live, httplib::Response& response) {
    const std::shared_ptr<const Report> report = publication_.fresh(kPatience);
    if (report == nullptr) return starting(response);
    if (!is_live(*report)) {
      response.status = kUnavailable;
      response.set_content("the agent's loop has stopped reporting\n", "text/plain");
      return;
    }
    const bool good = only_live || report->health.ready;
    response.status = good ? kOk : kUnavailable;
    response.set_content(only_live ? "ok\n" : health_text(report->health), "text/plain");
  }

  void status(httplib::Response& response) {
    const std::shared_ptr<const Report> report = publication_.fresh(kPatience);
    if (report == nullptr) return starting(response);
    response.set_content(report->status_json + "\n", "application/json");
  }

  static void starting(httplib::Response& response) {
    response.status = kUnavailable;
    response.set_content("starting\n", "text/plain");
  }

  Publication& publication_;
  const Clock& clock_;
  httplib::Server server_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Endpoint& endpoint, Publication& publication,
                                                      const Clock& clock) {
  try {
    auto server = std::make_unique<HttpThread>(publication, clock);
    if (Result<> listening = server->listen(endpoint); !listening) return pass_on(std::move(listening));
    return server;
  } catch (const std::system_error& error) {
    return fail(errc::http_listen, std::string("cannot start the HTTP thread: ") + error.what());
  }
}

}  // namespace postern::observe
