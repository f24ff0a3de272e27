// SPDX-License-Identifier: Apache-2.0
// Where snapshots and timestamps come from without an operator: a file, a directory of serials, or an HTTPS
// URL (SPEC 6.3). A source is never trusted. What it brings goes through the same door as `postern apply`,
// whole or not at all; what goes wrong is a problem to report, and touches nothing that was adopted.
#pragma once

#include <asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/delivery.h"
#include "agent/source_status.h"
#include "config/config.h"
#include "core/ids.h"
#include "core/result.h"

namespace postern::agent {

// What a source asks of the gateway. A source's looks are orders (orders.h): all these but `order` are called
// within one, or when the source is made.
struct SourceDoor {
  // Takes a signed snapshot or a bundle, as `apply` does. What is adopted already is no failure.
  std::function<Result<>(std::string_view text)> take;
  // Takes a signed timestamp. One that was seen already is no failure.
  std::function<Result<>(std::string_view text)> see;
  // Highest adopted serial; 0 for none.
  std::function<Serial()> adopted;
  // After each look.
  std::function<void(const SourceStatus&)> report;
  // Runs a look, as an order. Any thread.
  std::function<void(std::function<void()> look)> order;
};

// Where the timestamp of a snapshot at `url` is: in the place of the last segment, without a query.
std::string timestamp_url_of(std::string_view url);

class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  SnapshotSource(const SnapshotSource&) = delete;
  SnapshotSource& operator=(const SnapshotSource&) = delete;

  // Looks at once, then whenever something may have changed. `io` must outlive it. To be destroyed on the
  // loop's thread, within an order or when there are none.
  static std::unique_ptr<SnapshotSource> open(asio::io_context& io, const config::Source& source,
                                              SourceDoor door);

 protected:
  enum class Kind { snapshot, timestamp };

  SnapshotSource(std::string name, SourceDoor door);
  const SourceDoor& door() const { return door_; }
  // Orders a look, which is not taken once the source is gone. Any thread.
  void order(std::function<void()> look);

  // Outcomes of a look for a document of that kind.
  bool is_old_news(Kind kind, std::string_view text) const;
  void unchanged(Kind kind);
  Result<> offer(Kind kind, std::string_view text, std::string_view whence);
  void failed(Kind kind, const Error& error);
  void all_is_well(Kind kind);

  // A look for the timestamp in this directory. There need not be one.
  void look_for_timestamp(const std::filesystem::path& directory);

 private:
  Delivery& delivery(Kind kind) { return kind == Kind::snapshot ? snapshot_ : timestamp_; }
  void report();

  SourceDoor door_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  SourceStatus status_;
  Delivery snapshot_;
  Delivery timestamp_;
};

}  // namespace postern::agent
