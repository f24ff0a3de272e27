// SPDX-License-Identifier: Apache-2.0
// A reload closes by both configs before it changes anything, compiles for the new one, and comes into force
// whole or not at all.
#include <spdlog/logger.h>

#include "agent/gateway.h"
#include "agent/reload_rules.h"

namespace postern::agent {

Result<bool> Gateway::reload() {
  std::optional<Result<Reload>> begun;
  orders_->on_loop([&] { begun.emplace(begin_reload()); });
  Result<Reload>& wanted = *begun;
  if (!wanted) return pass_on(std::move(wanted));
  const Result<dataplane::SwapReport> swap = redo(wanted->config, wanted->interfaces);
  Result<bool> changed = false;
  orders_->on_loop([&] { changed = finish_reload(std::move(*wanted), swap); });
  return changed;
}

Result<Gateway::Reload> Gateway::begin_reload() {
  Result<config::Config> wanted = config::load_config(config_file_);
  if (wanted) {
    if (Result<> fits = check_reloadable(config_, *wanted); !fits) wanted = pass_on(std::move(fits));
  }
  if (!wanted) {
    log_->error("reload refused, the old config stays in force: {}", wanted.error().message());
    return pass_on(std::move(wanted));
  }
  Interfaces next = interfaces_;
  if (Result<> configured = next.configure(wanted->interfaces, config_file_.string()); !configured) {
    log_->error("reload refused, the old config stays in force: {}", configured.error().message());
    return pass_on(std::move(configured));
  }
  dataplane::BackstopRules before = interfaces_.backstop(config_);
  dataplane::BackstopRules after = next.backstop(*wanted);
  if (Result<> closed = install(both(before, after)); !closed) return pass_on(std::move(closed));
  return Reload{std::move(*wanted), std::move(next), std::move(before), std::move(after)};
}

Result<bool> Gateway::finish_reload(Reload wanted, const Result<dataplane::SwapReport>& swap) {
  if (!swap) {
    if (const Result<> back = install(wanted.before); !back)
      log_->error("backstop: {}", back.error().message());
    log_->error("reload refused, the old config stays in force: {}", swap.error().message());
    return tl::unexpected(swap.error());
  }
  const Interfaces previous = std::move(interfaces_);
  interfaces_ = std::move(wanted.interfaces);
  config_ = std::move(wanted.config);
  Result<bool> attached = interfaces_.attach(Which::all, config_.generic_xdp);
  if (Result<> detached = previous.detach_others(interfaces_); !detached && attached)
    attached = pass_on(std::move(detached));
  if (Result<> closed = install(wanted.after); !closed && attached) attached = pass_on(std::move(closed));
  route_host();
  watch_losses();
  check();
  if (!attached) {
    log_->error("reload: {}", attached.error().message());
    return attached;
  }
  const bool changed = swap->changed || *attached;
  log_->info("reload: {}", changed ? "done" : "nothing to change");
  return changed;
}

}  // namespace postern::agent
