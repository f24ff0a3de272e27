// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "agent/head_pin.h"
#include "agent/lineage.h"
#include "agent/recovery.h"
#include "config/config.h"
#include "core/clock.h"
#include "core/result.h"
#include "dataplane/generations.h"
#include "dataplane/netdev.h"
#include "dataplane/plane.h"
#include "ledger/restraint.h"
#include "ledger/stream.h"
#include "wire/sign.h"

namespace postern::agent {

std::filesystem::path pin_directory(const config::Config& config);

// What the agent stands on: disk and kernel, opened in the one safe order and found to agree. Members are in
// the order in which they lean on each other.
class Foundation {
 public:
  // Lock and journal before anything else is read; then what the kernel holds is compared with it, before
  // anything is written to either. A kernel that was promised more than the disk remembers is
  // errc::disk_went_back, unless a recovery bundle makes up for it. `clock` must outlive this.
  static Result<std::unique_ptr<Foundation>> open(const config::Config& config, const Clock& clock);

  Foundation(const Foundation&) = delete;
  Foundation& operator=(const Foundation&) = delete;

  HeadPin head_pin;
  Lineage lineage;
  std::unique_ptr<dataplane::Plane> plane;
  std::optional<dataplane::Generations> generations;
  // What the kernel served when this agent came: counter slots of its ports, serial and fences, open or
  // closed.
  std::map<IfIndex, std::uint16_t> kernel_slots;
  KernelPromise kernel;
  bool kernel_open = false;
  bool recovered = false;  // by the recovery bundle
  std::optional<wire::SecretKey> key;
  std::optional<ledger::Stream> stream;
  ledger::Restraint restraint;
  std::unique_ptr<dataplane::Netdev> netdev;

 private:
  Foundation() = default;
  Result<> open_disk(const config::Config& config);
  Result<> open_kernel(const config::Config& config);
  Result<> read_kernel();
  Result<> compare();
  Result<> open_stream(const config::Config& config, const Clock& clock,
                       const ledger::Continuation& continuation);
  Result<> recover(const config::Config& config, const Clock& clock, Error went_back);
};

}  // namespace postern::agent
