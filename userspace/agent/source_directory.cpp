// SPDX-License-Identifier: Apache-2.0
#include "agent/source_directory.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/errors.h"
#include "authority/bundle.h"
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
      watch_(io, directory_, [this] { look(); }) {
  look();
}

// Several go as one bundle: those in between may have expired, and are followed for their roots alone.
void SourceDirectory::look() {
  const Result<std::vector<SerialFile>> files = serials_in(directory_, door().adopted());
  if (!files) return failed(files.error());
  if (files->empty()) {
    unchanged();
    return all_is_well();
  }
  const Result<std::string> text = gather(*files);
  if (!text) return failed(text.error());
  if (is_old_news(*text)) return unchanged();
  const std::string whence = "what it holds up to " + files->back().path.filename().string();
  // It reports its outcome itself.
  [[maybe_unused]] const Result<> taken = offer(*text, whence);
}

Result<std::string> SourceDirectory::gather(const std::vector<SerialFile>& files) const {
  std::vector<std::string> texts;
  std::vector<authority::BundleEntry> entries;
  std::size_t room = authority::kMaxBundleBytes - kBundleOverhead;
  texts.reserve(std::min(files.size(), authority::kMaxBundleEntries));
  for (const SerialFile& file : files) {
    if (entries.size() == authority::kMaxBundleEntries) break;
    Result<std::string> text = read_file(file.path, authority::kMaxBundleBytes);
    if (!text) return text;
    if (files.size() == 1) return text;
    // The next look goes on with what does not fit.
    if (text->size() > room) break;
    room -= text->size();
    texts.push_back(std::move(*text));
    entries.push_back({file.serial, texts.back()});
  }
  if (entries.empty()) return read_file(files.front().path, authority::kMaxBundleBytes);
  return authority::seal_bundle(entries);
}

}  // namespace postern::agent
