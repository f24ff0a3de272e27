// SPDX-License-Identifier: Apache-2.0
// Whole small files: read with a bound, replaced durably.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace postern {

namespace errc {
inline constexpr ErrorCode file_unreadable{"file.unreadable"};
inline constexpr ErrorCode file_too_large{"file.too_large", ErrorKind::capacity};
inline constexpr ErrorCode file_unwritable{"file.unwritable"};
inline constexpr ErrorCode file_exists{"file.exists"};
}  // namespace errc

// What is said of a file of more bytes than it may have.
tl::unexpected<Error> too_large_file(const std::filesystem::path& path, std::size_t limit_bytes);

// The file's bytes. More than `limit_bytes` is file_too_large, without reading on.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes);

// All of it, in as many calls as that takes. False: errno says why, and a part may be written.
[[nodiscard]] bool write_all(int fd, std::string_view bytes);

// Replaces `path` by `content` so that after a crash either the old or the new content is there: temporary
// file in the same directory, fsync, rename, fsync of the directory. On success the content is durable. On
// failure the old file is untouched and the temporary one is gone.
Result<> write_file_durably(const std::filesystem::path& path, std::string_view content, unsigned mode);

// Makes `path` with `content` as durably, but never replaces: file_exists when anything of that name is
// there.
Result<> create_file_durably(const std::filesystem::path& path, std::string_view content, unsigned mode);

}  // namespace postern
