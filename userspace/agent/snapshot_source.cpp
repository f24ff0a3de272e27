// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot_source.h"

#include "agent/source_directory.h"
#include "agent/source_file.h"
#include "agent/source_url.h"
#include "authority/timestamp.h"
#include "core/file.h"

namespace postern::agent {
namespace {

constexpr std::string_view kTimestampName = "timestamp.json";
constexpr std::string_view kScheme = "https://";

}  // namespace

std::string timestamp_url_of(std::string_view url) {
  const std::string_view path = url.substr(0, url.find_first_of("?#"));
  const std::size_t slash = path.rfind('/');
  const bool has_path = slash != std::string_view::npos && slash >= kScheme.size();
  return std::string(path.substr(0, has_path ? slash : path.size())) + "/" + std::string(kTimestampName);
}

SnapshotSource::SnapshotSource(std::string name, SourceDoor door) : door_(std::move(door)) {
  status_.name = std::move(name);
  report();
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
  return std::make_unique<SourceUrl>(source, std::move(door));
}

void SnapshotSource::order(std::function<void()> look) {
  door_.order([alive = std::weak_ptr(alive_), look = std::move(look)] {
    if (!alive.expired()) look();
  });
}

void SnapshotSource::report() {
  status_.problem = snapshot_.problem().empty() ? timestamp_.problem() : snapshot_.problem();
  door_.report(status_);
}

bool SnapshotSource::is_old_news(Kind kind, std::string_view text) const {
  const Delivery& last = kind == Kind::snapshot ? snapshot_ : timestamp_;
  return last.is_old_news(text, door_.adopted(), std::chrono::steady_clock::now());
}

void SnapshotSource::unchanged(Kind kind) {
  // Looks are counted by what they are for in the first place.
  if (kind == Kind::snapshot) ++status_.unchanged;
  report();
}

void SnapshotSource::all_is_well(Kind kind) {
  delivery(kind).set_problem("");
  report();
}

void SnapshotSource::failed(Kind kind, const Error& error) {
  ++status_.failures;
  delivery(kind).set_problem("the source of " +
                             std::string(kind == Kind::snapshot ? "snapshots" : "timestamps") + ", " +
                             status_.name + ": " + error.context + " [" + std::string(error.code.name) +
                             "]; what is adopted stays in force");
  report();
}

Result<> SnapshotSource::offer(Kind kind, std::string_view text, std::string_view whence) {
  ++status_.offered;
  Result<> taken = kind == Kind::snapshot ? door_.take(text) : door_.see(text);
  delivery(kind).note(text, door_.adopted(), taken, std::chrono::steady_clock::now());
  if (taken) {
    all_is_well(kind);
  } else {
    failed(kind, {taken.error().code, std::string(whence) + " was refused: " + taken.error().context});
  }
  return taken;
}

void SnapshotSource::look_for_timestamp(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kTimestampName;
  std::error_code ignored;
  // Before the first snapshot there is nothing that it could vouch for.
  if (door_.adopted() == Serial() || !std::filesystem::exists(path, ignored))
    return all_is_well(Kind::timestamp);
  const Result<std::string> text = read_file(path, authority::kMaxTimestampBytes);
  if (!text) return failed(Kind::timestamp, text.error());
  if (is_old_news(Kind::timestamp, *text)) return unchanged(Kind::timestamp);
  // It reports its outcome itself.
  [[maybe_unused]] const Result<> taken = offer(Kind::timestamp, *text, path.string());
}

}  // namespace postern::agent
