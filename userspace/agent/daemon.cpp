// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <utility>

#include "agent/errors.h"
#include "agent/status_report.h"
#include "agent/supervisor.h"
#include "authority/envelope.h"
#include "wire/json.h"

namespace postern::agent {
namespace {

constexpr std::chrono::seconds kSecond{1};
constexpr std::chrono::seconds kCheck{5};
constexpr std::chrono::seconds kNeighbourRound{20};
constexpr std::size_t kSamplesAtOnce = 256;

IpAddress address_of(const pt_address& raw) {
  IpAddress address;
  std::copy(std::begin(raw.bytes), std::end(raw.bytes), address.bytes.begin());
  return address;
}

}  // namespace

Daemon::Daemon(std::unique_ptr<Gateway> gateway, const Clock& clock, spdlog::logger& log)
    : clock_(clock),
      log_(log),
      started_ns_(clock.monotonic_ns()),
      gateway_(std::move(gateway)),
      commands_(*gateway_, started_ns_),
      publication_([this] {
        asio::post(io_, [this] {
          gateway_->look();
          publish();
        });
      }),
      signals_(io_, SIGHUP, SIGTERM, SIGINT),
      orders_(io_) {
  gateway_->use(orders_);
}

Result<std::unique_ptr<Daemon>> Daemon::start(std::unique_ptr<Gateway> gateway, const Clock& clock,
                                              spdlog::logger& log) {
  try {
    std::unique_ptr<Daemon> daemon(new Daemon(std::move(gateway), clock, log));
    if (Result<> opened = daemon->open_sockets(); !opened) return pass_on(std::move(opened));
    daemon->watch();
    return daemon;
  } catch (const std::exception& error) {
    return fail(errc::event_loop, std::string("cannot set up the event loop: ") + error.what());
  }
}

Result<> Daemon::open_sockets() {
  const config::Config& config = gateway_->config();
  Result<ControlSocket> socket = ControlSocket::listen(config.socket);
  if (!socket) return pass_on(std::move(socket));
  control_.emplace(io_, std::move(*socket),
                   [this](const wire::ControlRequest& request, std::string_view body,
                          const std::shared_ptr<Outlet>& outlet, ControlServer::Answer answer) {
                     run_command(request, body, outlet, std::move(answer));
                   });
  Result<std::unique_ptr<dataplane::EventRing>> ring = dataplane::EventRing::open(
      *gateway_->foundation().plane, [this](const pt_event& event) { hear(event); });
  if (!ring) return pass_on(std::move(ring));
  ring_ = std::move(*ring);
  Result<std::unique_ptr<dataplane::SampleRing>> samples = dataplane::SampleRing::open(
      *gateway_->foundation().plane,
      [this](const pt_sample& sample, ByteView frame) { commands_.watchers().take(sample, frame); });
  if (!samples) return pass_on(std::move(samples));
  samples_ = std::move(*samples);
  publish();
  if (!config.http) return {};
  Result<std::unique_ptr<observe::HttpServer>> http =
      observe::HttpServer::start(*config.http, publication_, clock_);
  if (!http) return pass_on(std::move(http));
  http_ = std::move(*http);
  return {};
}

void Daemon::watch() {
  if (gateway_->is_starting()) finish_start();
  link_watch_.emplace(io_, gateway_->netdev().watch_fd(), [this] {
    const Result<std::vector<std::string>> changed = gateway_->netdev().drain();
    if (changed)
      gateway_->links_changed(*changed);
    else
      log_.warn("netlink: {}", changed.error().message());
  });
  ring_watch_.emplace(io_, ring_->poll_fd(), [this] {
    if (const Result<> drained = ring_->drain(); !drained)
      log_.warn("event ring: {}", drained.error().message());
  });
  sample_watch_.emplace(io_, samples_->poll_fd(), [this] { take_samples(); });
  const wire::SecretKey& key = *gateway_->foundation().key;
  sync_.emplace(io_, gateway_->replica(), key.public_key(), clock_, log_);
  claims_.emplace(io_, *gateway_, clock_, log_);
  snapshots_.emplace(io_, *gateway_, clock_, log_,
                     [this](std::string_view text) { return take_from_source(text); });
  dispatch_.emplace(sync_->handler(), claims_->handler(), snapshots_->handler());
  links_.emplace(io_, gateway_->config().mesh, key, clock_, log_, &*dispatch_);
  sync_->carry_over(links_->links());
  claims_->carry_over(links_->links());
  snapshots_->carry_over(links_->links());
  commands_.use(*claims_);
  follow_members();
  each_second_.emplace(io_, kSecond, [this] {
    commands_.watchers().tick();
    commands_.event_followers().tell();
    note_links();
    gateway_->tick();
    follow_members();
    publish();
  });
  each_check_.emplace(io_, kCheck, [this] { gateway_->check(); });
  follow_source();
  watch_events();
  each_neighbour_round_.emplace(io_, kNeighbourRound, [this] {
    commands_.forget();
    start_neighbour_round();
  });
  wait_for_signal();
}

void Daemon::run_command(const wire::ControlRequest& request, std::string_view body,
                         const std::shared_ptr<Outlet>& outlet, ControlServer::Answer answer) {
  if (!is_order(request.command)) {
    note_links();
    const Result<wire::Json> result = commands_.run(request, body, outlet);
    if (changes_state(request.command)) follow();
    return answer(result);
  }
  orders_.submit([this, &request, body, kept = outlet, answer = std::move(answer)]() mutable {
    const Result<wire::Json> result = commands_.run(request, body, kept);
    orders_.on_loop([&] {
      follow();
      // The connection ends on the loop, as it began.
      std::exchange(answer, nullptr)(result);
      kept.reset();
    });
  });
}

void Daemon::follow() {
  follow_members();
  start_neighbour_round();
  follow_source();
}

void Daemon::watch_events() {
  gateway_->on_event([this] {
    if (!std::exchange(events_told_, false)) return;
    asio::post(io_, [this] {
      events_told_ = true;
      claims_->wake();
      commands_.event_followers().tell();
    });
  });
}

void Daemon::hear(const pt_event& event) {
  if (event.type == PT_EVENT_NEIGHBOUR_WANTED)
    gateway_->neighbours().want(IfIndex(event.ifindex), address_of(event.address));
  // A packet came under an epoch of which nothing was heard yet.
  if (event.type == PT_EVENT_FUTURE_EPOCH && claims_) claims_->wake();
}

// A bounded part at a time: under a flood of samples the loop still does everything else.
void Daemon::take_samples() {
  const Result<bool> more = samples_->drain(kSamplesAtOnce);
  if (!more) return log_.warn("ring of samples: {}", more.error().message());
  if (*more) asio::post(io_, [this] { take_samples(); });
}

// A reload may have named another one.
void Daemon::follow_source() {
  const std::optional<config::Source>& wanted = gateway_->config().source;
  if (wanted == followed_) return;
  close_source();
  gateway_->note_source({});
  followed_ = wanted;
  if (wanted) source_ = SnapshotSource::open(io_, *wanted, source_door());
}

// Behind the looks that are ordered already.
void Daemon::close_source() {
  if (!source_) return;
  orders_.submit([this, old = std::shared_ptr<SnapshotSource>(std::move(source_))]() mutable {
    orders_.on_loop([&] { old.reset(); });
  });
}

SourceDoor Daemon::source_door() {
  return {[this](std::string_view text) { return take_from_source(text); },
          [this](std::string_view text) {
            Result<> seen;
            orders_.on_loop([&] { seen = see_from_source(text); });
            return seen;
          },
          [this] {
            Serial serial;
            orders_.on_loop([&] {
              const auto& adopted = gateway_->foundation().lineage.authority.adopted;
              if (adopted) serial = adopted->serial;
            });
            return serial;
          },
          [this](const SourceStatus& status) { orders_.on_loop([&] { gateway_->note_source(status); }); },
          [this](std::function<void()> look) { orders_.submit(std::move(look)); }};
}

// The door of `postern apply`, but that what is adopted already is not adopted again at each look.
Result<> Daemon::take_from_source(std::string_view text) {
  const Result<authority::Envelope> envelope = authority::open_envelope(text);
  std::optional<Hash256> hash;
  if (envelope) hash = authority::payload_hash(envelope->payload);
  bool known = false;
  orders_.on_loop([&] {
    const auto& adopted = gateway_->foundation().lineage.authority.adopted;
    known = adopted && hash == adopted->hash;
  });
  if (known) return {};
  Result<dataplane::SwapReport> swap = gateway_->apply(text, {});
  if (!swap) return pass_on(std::move(swap));
  orders_.on_loop([this] {
    follow();
    publish();
  });
  return {};
}

Result<> Daemon::see_from_source(std::string_view text) {
  Result<> seen = gateway_->see_timestamp(text);
  publish();
  return seen;
}

void Daemon::follow_members() {
  const std::optional<Served>& served = gateway_->adoption().served();
  const config::Config& config = gateway_->config();
  sync_->follow(served ? served->node_names : std::map<wire::PublicKey, std::string>());
  links_->follow(served && config.links ? served->members : mesh::Members(), config.links_listen);
  claims_->follow();
  note_links();
}

void Daemon::note_links() {
  LinksStatus status = links_->status();
  status.on = gateway_->config().links;
  gateway_->note_links(std::move(status));
  SyncStatus synced = sync_->status();
  synced.snapshots = snapshots_->status();
  gateway_->note_sync(std::move(synced));
  gateway_->note_claims(claims_->status());
}

void Daemon::wait_for_signal() {
  signals_.async_wait([this](const std::error_code& error, int signal) {
    if (error) return;
    if (signal != SIGHUP) {
      log_.info("stopping on {}; forwarding goes on", signal == SIGTERM ? "SIGTERM" : "SIGINT");
      tell_supervisor("STOPPING=1");
      links_->stop();
      io_.stop();
      return;
    }
    orders_.submit([this] {
      // It logs its outcome itself.
      [[maybe_unused]] const Result<bool> reloaded = gateway_->reload();
      orders_.on_loop([this] { follow(); });
    });
    wait_for_signal();
  });
}

void Daemon::start_neighbour_round() {
  const std::optional<Served>& served = gateway_->adoption().served();
  gateway_->neighbours().begin(served ? served->remotes : std::vector<IpAddress>{});
  go_on_with_neighbours();
}

void Daemon::go_on_with_neighbours() {
  if (gateway_->neighbours().step()) asio::post(io_, [this] { go_on_with_neighbours(); });
}

void Daemon::publish() {
  auto report = std::make_shared<observe::Report>();
  report->made_monotonic_ns = clock_.monotonic_ns();
  report->observation = observation(*gateway_);
  report->observation.events_lost_by_readers = commands_.watchers().lost_by_readers();
  report->health = gateway_->health();
  report->status_json = wire::encode_canonical(status_report(*gateway_, report->health, started_ns_));
  publication_.publish(std::move(report));
}

void Daemon::announce_ready() {
  const std::uint64_t generation = gateway_->foundation().generations->active().value;
  const observe::Health health = gateway_->health();
  if (health.ready) {
    log_.info("ready: serial {} generation {} {}", gateway_->adoption().served()->serial.value, generation,
              gateway_->last_swap().changed ? "swapped" : "zero_diff");
  } else {
    log_.warn("serving generation {}, but not ready:", generation);
    gateway_->tick();
  }
  tell_supervisor("READY=1");
}

// Behind it are all other orders.
void Daemon::finish_start() {
  orders_.submit([this] {
    Result<> up = gateway_->finish_start();
    orders_.on_loop([&] {
      if (!up) {
        failed_ = std::move(up);
        return io_.stop();
      }
      follow();
      announce_ready();
      publish();
    });
  });
}

Result<> Daemon::run() {
  try {
    start_neighbour_round();
    if (!gateway_->is_starting()) announce_ready();
    io_.run();
  } catch (const std::exception& error) {
    return fail(errc::event_loop, std::string("the event loop ended: ") + error.what());
  }
  orders_.finish();
  Result<> stopped = gateway_->stop();
  return failed_ ? stopped : failed_;
}

}  // namespace postern::agent
