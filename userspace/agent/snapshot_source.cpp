// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot_source.h"

#include "agent/source_directory.h"
#include "agent/source_file.h"
#include "agent/source_url.h"
#include "core/bytes.h"

namespace postern::agent {
namespace {

constexpr std::chrono::minutes kRetry{5};

}  // namespace

SnapshotSource::SnapshotSource(std::string name, SourceDoor door) : door_(std::move(door)) {
  status_.name = std::move(name);
  door_.report(status_);
}

std::unique_ptr<SnapshotSource> SnapshotSource::open(asio::io_context& io, const config::Source& source,
                                                     SourceDoor door) {
  switch (source.kind) {
    case config::SourceKind::file:
      return std::make_unique<SourceFile>(io, source.path, std::move(door));
    case config::SourceKind::directory:
      return std::make_unique<SourceDirectory>(io, source.path, std::move(door));
    case config::SourceKind::url:
      break;
  }
  return std::make_unique<SourceUrl>(io, source, std::move(door));
}

bool SnapshotSource::is_old_news(std::string_view text) const {
  return offered_ == wire::blake2b({as_bytes(text)}) &&
         (!retry_at_ || std::chrono::steady_clock::now() < *retry_at_);
}

void SnapshotSource::unchanged() {
  ++status_.unchanged;
  door_.report(status_);
}

void SnapshotSource::all_is_well() {
  status_.problem.clear();
  door_.report(status_);
}

void SnapshotSource::failed(const Error& error) {
  ++status_.failures;
  status_.problem = "the source of snapshots, " + status_.name + ": " + error.context + " [" +
                    std::string(error.code.name) + "]; what is adopted stays in force";
  door_.report(status_);
}

Result<> SnapshotSource::offer(std::string_view text, std::string_view whence) {
  ++status_.offered;
  offered_ = wire::blake2b({as_bytes(text)});
  retry_at_.reset();
  Result<> taken = door_.take(text);
  if (!taken) {
    // The disk and the kernel may mend at any moment, what is signed wrongly does not mend by itself.
    const bool soon = taken.error().code.kind == ErrorKind::failure;
    retry_at_ = std::chrono::steady_clock::now() + (soon ? std::chrono::minutes(0) : kRetry);
  }
  if (taken) {
    all_is_well();
  } else {
    failed({taken.error().code, std::string(whence) + " was refused: " + taken.error().context});
  }
  return taken;
}

}  // namespace postern::agent
