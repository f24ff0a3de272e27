// SPDX-License-Identifier: Apache-2.0
#include "agent/source_directory.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/errors.h"
#include "authority/bundle.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "core/file.h"

namespace postern::agent {
namespace {

constexpr std::string_view kSuffix = ".json";
// The bundle's head, and a line for each entry.
constexpr std::size_t kBundleOverhead = 64 * (authority::kMaxBundleEntries + 1);

std::optional<Serial> serial_of(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  std::uint64_t serial = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), serial);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return Serial(serial);
}

// Fails with errc::source when they are more than a bundle holds.
Result<std::string> sealed(const std::vector<SerialFile>& files) {
  const auto too_many = [&files] {
    return fail(errc::source, "the " + std::to_string(files.size()) + " snapshots up to " +
                                  files.back().path.string() +
                                  " are more than a bundle holds; apply those in between by hand");
  };
  if (files.size() > authority::kMaxBundleEntries) return too_many();
  std::vector<std::string> texts;
  std::vector<authority::BundleEntry> entries;
  std::size_t room = authority::kMaxBundleBytes - kBundleOverhead;
  texts.reserve(files.size());
  for (const SerialFile& file : files) {
    Result<std::string> text = read_file(file.path, authority::kMaxBundleBytes);
    if (!text) return text;
    if (text->size() > room) return too_many();
    room -= text->size();
    texts.push_back(std::move(*text));
    entries.push_back({file.serial, texts.back()});
  }
  return authority::seal_bundle(entries);
}

// Believed for the choice of files alone; what is chosen is verified later. None: no snapshot at all.
std::optional<authority::Root> claimed_root(const SerialFile& file) {
  const Result<std::string> text = read_file(file.path, authority::kMaxBundleBytes);
  if (!text) return std::nullopt;
  const Result<authority::Envelope> envelope = authority::open_envelope(*text);
  if (!envelope) return std::nullopt;
  Result<authority::Snapshot> snapshot = authority::parse_snapshot(envelope->payload);
  if (!snapshot) return std::nullopt;
  return std::move(snapshot->root);
}

std::vector<SerialFile> way_to_last(const std::vector<SerialFile>& files) {
  std::vector<SerialFile> out{files.front()};
  std::optional<authority::Root> before = claimed_root(files.front());
  for (std::size_t i = 1; i < files.size(); ++i) {
    std::optional<authority::Root> root = claimed_root(files[i]);
    const bool changes = !root || root != before;
    if (changes && out.back().serial != files[i - 1].serial) out.push_back(files[i - 1]);
    if (changes || i + 1 == files.size()) out.push_back(files[i]);
    before = std::move(root);
  }
  return out;
}

}  // namespace

Result<std::vector<SerialFile>> serials_in(const std::filesystem::path& directory, Serial above) {
  std::vector<SerialFile> out;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<Serial> serial = serial_of(entry->path().filename().string());
    if (serial && *serial > above) out.push_back({*serial, entry->path()});
  }
  if (error) return fail(errc::source, "cannot read " + directory.string() + ": " + error.message());
  std::sort(out.begin(), out.end(),
            [](const SerialFile& a, const SerialFile& b) { return a.serial < b.serial; });
  return out;
}

SourceDirectory::SourceDirectory(asio::io_context& io, std::filesystem::path directory, SourceDoor door)
    : SnapshotSource("directory " + directory.string(), std::move(door)),
      directory_(std::move(directory)),
      watch_(io, directory_, [this] { order([this] { look(); }); }) {
  order([this] { look(); });
}

void SourceDirectory::look() {
  look_for_snapshots();
  look_for_timestamp(directory_);
}

// Several go as one bundle: those in between may have expired, and are followed for their roots alone.
void SourceDirectory::look_for_snapshots() {
  const Result<std::vector<SerialFile>> files = serials_in(directory_, door().adopted());
  if (!files) return failed(Kind::snapshot, files.error());
  if (files->empty()) {
    unchanged(Kind::snapshot);
    return all_is_well(Kind::snapshot);
  }
  const Result<std::string> text = bundle_of(*files);
  if (!text) return failed(Kind::snapshot, text.error());
  if (is_old_news(Kind::snapshot, *text)) return unchanged(Kind::snapshot);
  const std::string whence = "what it holds up to " + files->back().path.filename().string();
  // It reports its outcome itself.
  [[maybe_unused]] const Result<> taken = offer(Kind::snapshot, *text, whence);
}

Result<std::string> bundle_of(const std::vector<SerialFile>& files) {
  if (files.size() == 1) return read_file(files.front().path, authority::kMaxBundleBytes);
  Result<std::string> all = sealed(files);
  if (all || !(all.error().code == errc::source)) return all;
  return sealed(way_to_last(files));
}

}  // namespace postern::agent
