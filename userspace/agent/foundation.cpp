// SPDX-License-Identifier: Apache-2.0
#include "agent/foundation.h"

#include <algorithm>

#include "agent/adoption.h"
#include "agent/continuity.h"
#include "agent/errors.h"
#include "agent/state_directory.h"
#include "agent/trust.h"

namespace postern::agent {

std::filesystem::path pin_directory(const config::Config& config) {
  return config.pins / config.mesh / config.gateway;
}

Result<std::unique_ptr<Foundation>> Foundation::open(const config::Config& config, const Clock& clock) {
  std::unique_ptr<Foundation> base(new Foundation());
  if (Result<> opened = base->open_disk(config); !opened) return pass_on(std::move(opened));
  if (Result<> opened = base->open_kernel(config); !opened) return pass_on(std::move(opened));
  Result<> level = base->compare();
  if (level) {
    if (Result<> pinned = base->head_pin.follow(*base->plane, base->lineage.journal->status()); !pinned)
      return pass_on(std::move(pinned));
    level = base->open_stream(config, clock, continuation_of(base->lineage));
  } else if (level.error().code == errc::disk_went_back) {
    level = base->recover(config, clock, std::move(level).error());
  }
  if (!level) return pass_on(std::move(level));
  Result<std::unique_ptr<dataplane::Netdev>> netdev = dataplane::Netdev::open();
  if (!netdev) return pass_on(std::move(netdev));
  base->netdev = std::move(*netdev);
  return base;
}

Result<> Foundation::open_disk(const config::Config& config) {
  const StateDirectory state{config.state};
  if (Result<> safe = check_state_directory(state); !safe) return safe;
  Result<wire::SecretKey> loaded = wire::SecretKey::load(state.node_key());
  if (!loaded) return pass_on(std::move(loaded));
  key.emplace(std::move(*loaded));
  LineageOrder order;
  order.state = state;
  order.mesh = config.mesh;
  order.key = key->public_key();
  order.pins = pin_directory(config);
  const Result<std::optional<std::string>> bundle = read_recovery_bundle(state);
  if (!bundle) return tl::unexpected(bundle.error());
  order.may_recover = bundle->has_value();
  order.after_flush = [pin = &head_pin](const ledger::JournalStatus& status) { pin->after_flush(status); };
  Result<Lineage> opened = open_lineage(std::move(order));
  if (!opened) return pass_on(std::move(opened));
  lineage = std::move(*opened);
  return {};
}

Result<> Foundation::open_kernel(const config::Config& config) {
  Result<std::unique_ptr<dataplane::Plane>> opened =
      dataplane::Plane::open(pin_directory(config), {.flows = config.flows});
  if (!opened) return pass_on(std::move(opened));
  plane = std::move(*opened);
  Result<dataplane::Generations> active = dataplane::Generations::open(*plane);
  if (!active) return pass_on(std::move(active));
  generations.emplace(std::move(*active));
  return read_kernel();
}

Result<> Foundation::read_kernel() {
  Result<std::map<ResourceNumber, Epoch>> fenced = kernel_fences(*generations);
  if (!fenced) return pass_on(std::move(fenced));
  kernel.fences = std::move(*fenced);
  if (generations->active() == Generation()) return {};
  const auto ports = generations->ports();
  if (!ports) return tl::unexpected(ports.error());
  for (const auto& [key_of_port, port] : *ports)
    if (port.role != PT_ROLE_CARRIER) kernel_slots.emplace(port.device, port.slot);
  const Result<pt_gateway> gateway = generations->gateway();
  if (!gateway) return tl::unexpected(gateway.error());
  kernel.serial = Serial(gateway->serial);
  kernel_open = gateway->open != 0;
  return {};
}

Result<> Foundation::compare() {
  if (lineage.went_back) return tl::unexpected<Error>(*lineage.went_back);
  // The kernel was told of the authority's floors, and of what claims were journaled.
  std::map<ResourceNumber, Epoch> on_disk = lineage.authority.fences;
  for (const auto& [resource, epoch] : kernel.fences) {
    Epoch& known = on_disk[resource];
    known = std::max(known, lineage.replica.fold().claims().highest(resource));
  }
  Result<> level = check_fences(kernel.fences, on_disk);
  const std::optional<authority::Adopted>& adopted = lineage.authority.adopted;
  if (level)
    level = check_serial(kernel.serial, adopted ? std::optional<Serial>(adopted->serial) : std::nullopt);
  return level;
}

Result<> Foundation::open_stream(const config::Config& config, const Clock& clock,
                                 const ledger::Continuation& continuation) {
  Result<ledger::Stream> opened = ledger::Stream::open(
      *lineage.journal, *key, clock, config.mesh, lineage.history, continuation, lineage.replica.listener());
  if (!opened) return pass_on(std::move(opened));
  stream.emplace(std::move(*opened));
  lineage.replica.started(*lineage.journal, *stream);
  const ledger::RecoveryReport& recovery = lineage.journal->recovery();
  if (continuation.restrained || recovery.needs_sync_round)
    restraint = ledger::Restraint(restraint_words(lineage));
  else if (recovery.claims_wait)
    restraint = ledger::Restraint::of_claims(restraint_words(lineage));
  return {};
}

// The pin follows last: until the disk remembers what the kernel was promised, each start has to see that it
// does not.
Result<> Foundation::recover(const config::Config& config, const Clock& clock, Error went_back) {
  const StateDirectory state{config.state};
  const Result<std::optional<std::string>> bundle = read_recovery_bundle(state);
  if (!bundle) return tl::unexpected(bundle.error());
  if (!*bundle) return tl::unexpected<Error>(std::move(went_back));
  const Result<authority::Root> trusted = trusted_root(lineage.authority, config.root, config.mesh);
  if (!trusted) return tl::unexpected(trusted.error());
  Result<authority::Chain> chain =
      check_recovery(**bundle, *trusted, config.mesh, lineage.authority, kernel, clock.now_utc());
  if (!chain) return pass_on(std::move(chain));
  if (Result<> opened = open_stream(config, clock, ledger::Continuation{}); !opened) return opened;
  Result<> recorded =
      record_recovery(*chain, kernel, config.mesh, *lineage.journal, *stream, lineage.authority);
  if (!recorded) return recorded;
  if (Result<> pinned = head_pin.follow(*plane, lineage.journal->status()); !pinned) return pinned;
  recovered = true;
  return remove_recovery_bundle(state);
}

}  // namespace postern::agent
