// SPDX-License-Identifier: Apache-2.0
// Reads segments from the disk, past the page cache (SPEC 4.5 rule 9), one at a time into one buffer:
// whatever the directory holds, it takes no more memory than one segment.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "core/bytes.h"
#include "core/result.h"
#include "ledger/directory.h"
#include "ledger/format.h"

namespace postern::ledger {

class SegmentReader {
 public:
  explicit SegmentReader(const Directory& directory);

  // The first `bytes` bytes (a multiple of kBlockBytes) of segment `number`; valid until the next call.
  // errc::damage when there is no such file, or it is not of a segment's size. Blocks that the disk cannot
  // read come as bytes that no record and no unwritten sector has, and are remembered.
  Result<ByteView> read(std::uint64_t number, std::size_t bytes);

  // "seg-3 at byte 8192: Input/output error", of the first block that could not be read; none usually.
  const std::optional<std::string>& unreadable() const { return unreadable_; }

 private:
  struct alignas(kBlockBytes) Block {
    std::array<std::uint8_t, kBlockBytes> bytes;
  };

  void read_blocks(const File& file, const std::string& name, std::span<std::uint8_t> into);

  const Directory& directory_;
  std::unique_ptr<Block[]> blocks_;
  std::optional<std::string> unreadable_;
};

}  // namespace postern::ledger
