// SPDX-License-Identifier: Apache-2.0
#include "agent/source_file.h"

#include "authority/bundle.h"
#include "core/file.h"

namespace postern::agent {

SourceFile::SourceFile(asio::io_context& io, std::filesystem::path path, SourceDoor door)
    : SnapshotSource("file " + path.string(), std::move(door)),
      path_(std::move(path)),
      watch_(io, path_.parent_path(), [this] { order([this] { look(); }); }) {
  order([this] { look(); });
}

void SourceFile::look() {
  look_for_snapshot();
  look_for_timestamp(path_.parent_path());
}

// A file that is being written is read torn and refused; the end of the writing is another event.
void SourceFile::look_for_snapshot() {
  const Result<std::string> text = read_file(path_, authority::kMaxBundleBytes);
  if (!text) return failed(Kind::snapshot, text.error());
  if (is_old_news(Kind::snapshot, *text)) return unchanged(Kind::snapshot);
  // It reports its outcome itself.
  [[maybe_unused]] const Result<> taken = offer(Kind::snapshot, *text, path_.string());
}

}  // namespace postern::agent
