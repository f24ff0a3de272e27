// SPDX-License-Identifier: Apache-2.0
#include "agent/foundation.h"

#include "agent/adoption.h"
#include "agent/continuity.h"
#include "agent/state_directory.h"

namespace postern::agent {

std::filesystem::path pin_directory(const config::Config& config) {
  return config.pins / config.mesh / config.gateway;
}

Result<std::unique_ptr<Foundation>> Foundation::open(const config::Config& config, const Clock& clock) {
  std::unique_ptr<Foundation> base(new Foundation());
  if (Result<> opened = base->open_disk(config); !opened) return pass_on(std::move(opened));
  if (Result<> opened = base->open_kernel(config); !opened) return pass_on(std::move(opened));
  if (Result<> level = base->compare_tables(); !level) return pass_on(std::move(level));

  Lineage& lineage = base->lineage;
  if (Result<> pinned = base->head_pin.follow(*base->plane, lineage.journal->status()); !pinned)
    return pass_on(std::move(pinned));
  Result<ledger::Stream> stream = ledger::Stream::open(*lineage.journal, *base->key, clock, config.mesh,
                                                       events_by(lineage, base->key->public_key()));
  if (!stream) return pass_on(std::move(stream));
  base->stream.emplace(std::move(*stream));
  lineage.events.clear();
  lineage.hashes.clear();

  Result<std::unique_ptr<dataplane::Netdev>> netdev = dataplane::Netdev::open();
  if (!netdev) return pass_on(std::move(netdev));
  base->netdev = std::move(*netdev);
  return base;
}

Result<> Foundation::open_disk(const config::Config& config) {
  const StateDirectory state{config.state};
  if (Result<> safe = check_state_directory(state); !safe) return safe;
  Result<Lineage> opened =
      open_lineage(state, config.mesh,
                   [pin = &head_pin](const ledger::JournalStatus& status) { pin->after_flush(status); });
  if (!opened) return pass_on(std::move(opened));
  lineage = std::move(*opened);
  Result<wire::SecretKey> loaded = wire::SecretKey::load(state.node_key());
  if (!loaded) return pass_on(std::move(loaded));
  key.emplace(std::move(*loaded));
  return {};
}

Result<> Foundation::open_kernel(const config::Config& config) {
  Result<std::unique_ptr<dataplane::Plane>> opened = dataplane::Plane::open(pin_directory(config));
  if (!opened) return pass_on(std::move(opened));
  plane = std::move(*opened);
  const Result<std::optional<dataplane::JournalPin>> pin = dataplane::read_journal_pin(*plane);
  if (!pin) return tl::unexpected(pin.error());
  const ledger::Journal& journal = *lineage.journal;
  Result<> level = check_journal_pin(*pin, journal.status().journal, journal.recovery().head, lineage.hashes);
  if (!level) return level;
  Result<dataplane::Generations> active = dataplane::Generations::open(*plane);
  if (!active) return pass_on(std::move(active));
  generations.emplace(std::move(*active));
  return {};
}

Result<> Foundation::compare_tables() {
  const std::optional<authority::Adopted>& adopted = lineage.authority.adopted;
  if (!adopted) {
    // With a snapshot at hand its redo compares the fences, since only the snapshot numbers the resources.
    const Result<std::map<ResourceNumber, Epoch>> fenced = kernel_fences(*generations);
    if (!fenced) return tl::unexpected(fenced.error());
    if (Result<> level = check_fences(*fenced, {}); !level) return level;
  }
  if (generations->active() == Generation()) return {};
  const Result<dataplane::Tables> active = generations->read_active();
  if (!active) return tl::unexpected(active.error());
  for (const auto& [key_of_port, port] : active->ports)
    kernel_slots.emplace(key_of_port.ifindex, port.slot);
  kernel_serial = Serial(active->gateway.serial);
  kernel_open = active->gateway.open != 0;
  return check_serial(kernel_serial, adopted ? std::optional<Serial>(adopted->serial) : std::nullopt);
}

}  // namespace postern::agent
