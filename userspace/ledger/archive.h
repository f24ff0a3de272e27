// SPDX-License-Identifier: Apache-2.0
// A journal as one file, to keep elsewhere (SPEC 7.6). Lines of canonical JSON: a header, the files beside
// the segments in parts (the base first), the events in order, and a trailer with the node's signature over
// the hash chain of all lines before it. Nothing of an archive counts before its trailer was read: cut it off
// anywhere, or flip any bit, and it is refused. Written and read line by line, in memory that does not grow
// with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "wire/json.h"
#include "wire/sign.h"

namespace postern::ledger {

inline constexpr std::size_t kArchivePartBytes = 96U << 10;
inline constexpr std::size_t kMaxArchiveLine = 512U << 10;
inline constexpr std::string_view kArchiveDomain = "postern/archive/v1";
// What the base is called in an archive.
inline constexpr std::string_view kArchiveBase = "base";

struct ArchiveHeader {
  std::string mesh;
  Id128 journal{};
  Lseq head;  // last record of the journal
  Hash256 head_hash{};
  std::int64_t made_ms = 0;  // wall clock, for people

  friend bool operator==(const ArchiveHeader&, const ArchiveHeader&) = default;
};

struct ArchiveTotals {
  std::uint64_t events = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of all lines

  friend bool operator==(const ArchiveTotals&, const ArchiveTotals&) = default;
};

class ArchiveWriter {
 public:
  // Takes whole lines in order; its first failure is the writer's.
  using Put = std::function<Result<>(std::string_view)>;

  explicit ArchiveWriter(Put put) : put_(std::move(put)) {}

  // In this order: header, files, events, finish.
  Result<> header(const ArchiveHeader& header);
  // A file's content, part after part; a part at offset 0 begins a file. An empty file is one empty part.
  Result<> file_part(std::string_view name, std::uint64_t offset, ByteView part);
  Result<> event(Lseq lseq, std::string_view sealed);
  Result<ArchiveTotals> finish(const wire::SecretKey& key);

 private:
  Result<> line(const wire::Json& json);

  Put put_;
  Hash256 chain_{};
  ArchiveTotals totals_;
};

// Who reads an archive. What it is handed is not to be believed before read_archive() has returned.
class ArchiveVisitor {
 public:
  virtual ~ArchiveVisitor() = default;
  virtual Result<> header(const ArchiveHeader& header) = 0;
  virtual Result<> file_part(const std::string& name, std::uint64_t offset, ByteView part) = 0;
  virtual Result<> event(Lseq lseq, const std::string& sealed) = 0;
};

// The next line with its newline, as far as the source goes; empty at its end.
using NextLine = std::function<Result<std::string>()>;

// Reads to the end. errc::archive_invalid for anything but exactly what a writer with `key` wrote;
// errc::newer_format for one of a later version.
Result<ArchiveTotals> read_archive(const NextLine& next, const wire::PublicKey& key, ArchiveVisitor& visitor);

}  // namespace postern::ledger
