// SPDX-License-Identifier: Apache-2.0
#include "agent/detach.h"

#include <spdlog/logger.h>

#include <set>
#include <system_error>

#include "agent/errors.h"
#include "agent/foundation.h"
#include "agent/interfaces.h"
#include "agent/lineage.h"
#include "agent/state_directory.h"
#include "dataplane/attachments.h"
#include "dataplane/generations.h"
#include "dataplane/host_port.h"
#include "dataplane/netdev.h"
#include "dataplane/plane.h"
#include "ledger/journal.h"
#include "ledger/lock.h"
#include "ledger/posix_directory.h"

namespace postern::agent {
namespace {

// The configured interfaces and those that the active generation knows: the config may have lost some since.
Result<std::set<IfIndex>> attached_interfaces(const config::Config& config, const dataplane::Plane& plane) {
  Result<std::unique_ptr<dataplane::Netdev>> netdev = dataplane::Netdev::open();
  if (!netdev) return pass_on(std::move(netdev));
  std::set<IfIndex> found;
  for (const config::Interface& interface : config.interfaces)
    if (const Result<dataplane::Link> link = (*netdev)->link(interface.name)) found.insert(link->ifindex);
  Result<dataplane::Generations> generations = dataplane::Generations::open(plane);
  if (!generations || generations->active() == Generation()) return found;
  if (const Result<dataplane::Tables> tables = generations->read_active())
    for (const auto& [port, row] : tables->ports)
      found.insert(IfIndex(port.ifindex));
  return found;
}

// A holder that takes its data path down serves nothing any more, from before the first program is off.
Result<> stop_leases(const dataplane::Plane& plane, spdlog::logger& log) {
  const Result<dataplane::Generations> generations = dataplane::Generations::open(plane);
  if (!generations) return tl::unexpected(generations.error());
  const auto holders = generations->holders();
  if (!holders) return tl::unexpected(holders.error());
  for (const auto& [number, row] : *holders) {
    if (row.holder != PT_HOLDER_LOCAL) continue;
    if (Result<> stopped = generations->leases().stop(ResourceNumber(number)); !stopped) return stopped;
    log.info("resource number {}: this gateway stops serving it", number);
  }
  return {};
}

// Has the next start open a new stream.
Result<> journal_that_disk_went_back(const ledger::JournalOptions& where) {
  ledger::JournalOptions options = where;
  options.before_change = [](const ledger::JournalEnd&) -> Result<ledger::Resumption> {
    return ledger::Resumption::went_back;
  };
  Result<std::unique_ptr<ledger::Journal>> journal = ledger::Journal::open(options, {});
  if (!journal) return pass_on(std::move(journal));
  return (*journal)->close();
}

// Whoever comes after has no pin any more to tell that the disk went back in time, so that is journaled
// before the pin goes. A journal that cannot be opened is let be: whatever makes it open again will not go on
// with its stream.
Result<> journal_what_the_pin_tells(const config::Config& config, spdlog::logger& log) {
  LineageOrder order;
  order.state = StateDirectory{config.state};
  order.mesh = config.mesh;
  order.pins = pin_directory(config);
  ledger::JournalOptions options;
  options.directory = order.state.journal();
  options.mesh = config.mesh;
  const Result<Lineage> lineage = open_lineage(std::move(order));
  if (lineage) return {};
  const ErrorCode code = lineage.error().code;
  if (code == errc::disk_went_back) {
    log.warn("{}; journaled: the next start opens a new stream", lineage.error().context);
    return journal_that_disk_went_back(options);
  }
  if (code == ledger::errc::contended || code == ledger::errc::lock_unsupported ||
      code == ledger::errc::disk_full || code == ledger::errc::absent) {
    return fail(code, lineage.error().context);
  }
  log.warn("the journal is left as it is: {}", lineage.error().message());
  return {};
}

}  // namespace

Result<> detach_data_path(const config::Config& config, spdlog::logger& log) {
  const StateDirectory state{config.state};
  if (Result<> safe = check_state_directory(state); !safe) return safe;
  if (Result<> told = journal_what_the_pin_tells(config, log); !told) return told;
  Result<std::unique_ptr<ledger::Directory>> directory = ledger::PosixDirectory::open(state.journal());
  if (!directory) return pass_on(std::move(directory));
  Result<ledger::Lock> lock = ledger::Lock::take(**directory);
  if (!lock) return pass_on(std::move(lock));

  const std::filesystem::path pins = pin_directory(config);
  std::error_code error;
  if (!std::filesystem::exists(pins, error)) {
    log.info("nothing to take down: there are no pins in {}", pins.string());
    return {};
  }
  Result<std::unique_ptr<dataplane::Plane>> plane = dataplane::Plane::open(pins);
  if (!plane) return pass_on(std::move(plane));
  if (Result<> stopped = stop_leases(**plane, log); !stopped) return stopped;
  const Result<std::set<IfIndex>> interfaces = attached_interfaces(config, **plane);
  if (!interfaces) return tl::unexpected(interfaces.error());
  for (const IfIndex ifindex : *interfaces) {
    if (Result<> detached = dataplane::detach(**plane, ifindex); !detached)
      return pass_on(std::move(detached), "interface number " + std::to_string(ifindex.value));
  }
  for (std::size_t number = 0; number < PT_MAX_SEGMENTS; ++number)
    if (Result<> removed = dataplane::remove_host_port(number); !removed) return removed;
  plane->reset();
  if (Result<> unpinned = dataplane::Plane::unpin(pins); !unpinned) return unpinned;
  log.info(
      "the data path is down, the pins in {} are gone; nftables table {} stays, so nothing passes between "
      "mesh "
      "and site",
      pins.string(), backstop_table(config.mesh, config.gateway));
  return {};
}

}  // namespace postern::agent
