// SPDX-License-Identifier: Apache-2.0
// Where snapshots come from without an operator: a file, a directory of serials, or an HTTPS URL (SPEC 6.3).
// A source is never trusted. What it brings goes through the same door as `postern apply`, whole or not at
// all; what goes wrong is a problem to report, and touches nothing that was adopted.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "agent/source_status.h"
#include "config/config.h"
#include "core/ids.h"
#include "core/result.h"
#include "wire/hash.h"

namespace postern::agent {

// What a source asks of the gateway. Both are called on the loop.
struct SourceDoor {
  // Takes a signed snapshot or a bundle, as `apply` does. What is adopted already is no failure.
  std::function<Result<>(std::string_view text)> take;
  // Highest adopted serial; 0 for none.
  std::function<Serial()> adopted;
  // After each look.
  std::function<void(const SourceStatus&)> report;
};

class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  SnapshotSource(const SnapshotSource&) = delete;
  SnapshotSource& operator=(const SnapshotSource&) = delete;

  // Looks at once, then whenever something may have changed. `io` must outlive it.
  static std::unique_ptr<SnapshotSource> open(asio::io_context& io, const config::Source& source,
                                              SourceDoor door);

 protected:
  SnapshotSource(std::string name, SourceDoor door);
  const SourceDoor& door() const { return door_; }

  // Outcomes of a look. Old news is what was offered last, unless it was refused a while ago: then it is due
  // again, since clocks and disks mend.
  bool is_old_news(std::string_view text) const;
  void unchanged();
  Result<> offer(std::string_view text, std::string_view whence);
  void failed(const Error& error);
  void all_is_well();

 private:
  SourceDoor door_;
  SourceStatus status_;
  std::optional<Hash256> offered_;
  std::optional<std::chrono::steady_clock::time_point> retry_at_;  // it was refused
};

}  // namespace postern::agent
