// SPDX-License-Identifier: Apache-2.0
// posternd's event loop: one thread that calls one Gateway, fed by sockets, netlink, the packet path's ring,
// timers and signals. The HTTP thread sees published reports only.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <memory>
#include <optional>

#include "agent/control_commands.h"
#include "agent/control_server.h"
#include "agent/gateway.h"
#include "agent/gateway_claims.h"
#include "agent/gateway_links.h"
#include "agent/gateway_snapshots.h"
#include "agent/gateway_sync.h"
#include "agent/link_dispatch.h"
#include "agent/orders.h"
#include "agent/repeating_timer.h"
#include "agent/snapshot_source.h"
#include "agent/watched_fd.h"
#include "core/clock.h"
#include "core/result.h"
#include "dataplane/event_ring.h"
#include "dataplane/sample_ring.h"
#include "observe/http_server.h"
#include "observe/publication.h"

namespace postern::agent {

class Daemon {
 public:
  // `clock` and `log` must outlive this.
  static Result<std::unique_ptr<Daemon>> start(std::unique_ptr<Gateway> gateway, const Clock& clock,
                                               spdlog::logger& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until a signal asks to stop, then closes the journal. Forwarding goes on.
  Result<> run();

 private:
  Daemon(std::unique_ptr<Gateway> gateway, const Clock& clock, spdlog::logger& log);
  Result<> open_sockets();
  void watch();
  // Opens the config's source of snapshots, if another one is open or none.
  void follow_source();
  void close_source();
  SourceDoor source_door();
  // An order.
  Result<> take_from_source(std::string_view text);
  Result<> see_from_source(std::string_view text);
  void run_command(const wire::ControlRequest& request, std::string_view body,
                   const std::shared_ptr<Outlet>& outlet, ControlServer::Answer answer);
  // After what may have changed who is served, and by what.
  void follow();
  void take_samples();
  // Who may link and claim is what is served now.
  void follow_members();
  void note_links();
  void hear(const pt_event& event);
  // Wakes the claims, and tells those who follow events, once for all that become durable meanwhile.
  void watch_events();
  void wait_for_signal();
  void publish();
  void start_neighbour_round();
  void go_on_with_neighbours();
  void announce_ready();
  void finish_start();

  asio::io_context io_;
  const Clock& clock_;
  spdlog::logger& log_;
  std::uint64_t started_ns_;
  std::unique_ptr<Gateway> gateway_;
  ControlCommands commands_;
  observe::Publication publication_;
  asio::signal_set signals_;
  Result<> failed_;          // why the loop was stopped, if something did
  bool events_told_ = true;  // of all that is durable, or nobody knows of more
  std::unique_ptr<dataplane::EventRing> ring_;
  std::optional<WatchedFd> link_watch_;
  std::unique_ptr<dataplane::SampleRing> samples_;
  std::optional<WatchedFd> ring_watch_;
  std::optional<WatchedFd> sample_watch_;
  std::optional<RepeatingTimer> each_second_;
  std::optional<RepeatingTimer> each_check_;
  std::optional<RepeatingTimer> each_neighbour_round_;
  std::optional<GatewaySync> sync_;
  std::optional<GatewayClaims> claims_;
  std::optional<GatewaySnapshots> snapshots_;
  std::optional<LinkDispatch> dispatch_;
  std::optional<GatewayLinks> links_;
  std::optional<ControlServer> control_;
  std::unique_ptr<observe::HttpServer> http_;
  std::optional<config::Source> followed_;
  std::unique_ptr<SnapshotSource> source_;  // of `followed_`
  OrderThread orders_;                      // the last, and so the first to end
};

}  // namespace postern::agent
