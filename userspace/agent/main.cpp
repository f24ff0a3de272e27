// SPDX-License-Identifier: Apache-2.0
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>

#include <csignal>
#include <memory>

#include "agent/daemon.h"
#include "agent/detach.h"
#include "agent/gateway.h"
#include "agent/options.h"
#include "config/config.h"
#include "core/clock.h"
#include "core/secrecy.h"

namespace {

using namespace postern;

Result<> serve(const agent::Options& options, const Clock& clock, spdlog::logger& log) {
  Result<config::Config> config = config::load_config(options.config);
  if (!config) return pass_on(std::move(config));
  if (options.detach) return agent::detach_data_path(*config, log);
  Result<std::unique_ptr<agent::Gateway>> gateway =
      agent::Gateway::start(std::move(*config), options.config, clock, log);
  if (!gateway) return pass_on(std::move(gateway));
  Result<std::unique_ptr<agent::Daemon>> daemon = agent::Daemon::start(std::move(*gateway), clock, log);
  if (!daemon) return pass_on(std::move(daemon));
  return (*daemon)->run();
}

}  // namespace

int main(int argc, char** argv) {
  const std::variant<agent::Options, int> parsed = agent::parse_options(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const agent::Options& options = std::get<agent::Options>(parsed);
  ::umask(S_IRWXG | S_IRWXO);
  std::signal(SIGPIPE, SIG_IGN);
  spdlog::logger log("posternd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  log.set_level(spdlog::level::from_str(options.log_level));
  const SystemClock clock;
  Result<> done = forbid_memory_dumps();
  if (done) done = serve(options, clock, log);
  if (done) return 0;
  log.critical("{}", done.error().message());
  return exit_code(done.error().code.kind);
}
