// SPDX-License-Identifier: Apache-2.0
#include "agent/source_file.h"

#include "authority/bundle.h"
#include "core/file.h"

namespace postern::agent {

SourceFile::SourceFile(asio::io_context& io, std::filesystem::path path, SourceDoor door)
    : SnapshotSource("file " + path.string(), std::move(door)),
      path_(std::move(path)),
      watch_(io, path_.parent_path(), [this] { look(); }) {
  look();
}

// A file that is being written is read torn and refused; the end of the writing is another event.
void SourceFile::look() {
  const Result<std::string> text = read_file(path_, authority::kMaxBundleBytes);
  if (!text) return failed(text.error());
  if (is_old_news(*text)) return unchanged();
  // It reports its outcome itself.
  [[maybe_unused]] const Result<> taken = offer(*text, path_.string());
}

}  // namespace postern::agent
