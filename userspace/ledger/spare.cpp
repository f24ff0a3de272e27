// SPDX-License-Identifier: Apache-2.0
#include "ledger/spare.h"

#include <algorithm>
#include <cerrno>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

constexpr std::string_view kUnfinishedName = "spare.tmp";
// The page cache makes one folio of what one call writes, up to 2 MiB, and later each write into it, be it of
// one block, looks at all of its blocks: that was a tenth of an append.
constexpr std::size_t kPieceBytes = 512U << 10;

Result<bool> spare_is_there(const Directory& directory) {
  const Io<bool> there = directory.exists(kSpareName);
  if (!there) return io_failure(there.error(), "stat of the spare");
  if (!*there) return false;
  const Result<std::unique_ptr<File>> file = open_checked(directory, kSpareName, Access::read);
  if (!file) return fail(file.error().code, file.error().context);
  const Io<FileFacts> facts = (*file)->facts();
  return facts && facts->bytes == kSegmentBytes;
}

Io<> write_in_pieces(File& file, ByteView image) {
  for (std::size_t at = 0; at < image.size(); at += kPieceBytes) {
    const ByteView piece = image.subspan(at, std::min(kPieceBytes, image.size() - at));
    if (const Io<> written = write_fully(file, piece, at); !written) return written;
  }
  return {};
}

Result<> write_zeros(Directory& directory) {
  const Io<std::unique_ptr<File>> file = directory.open(kUnfinishedName, Access::create);
  if (!file) return io_failure(file.error(), "creation of the spare");
  // Written, not fallocated: the first write into an unwritten extent costs a metadata flush each time.
  const Bytes zeros(kSegmentBytes);
  if (const Io<> written = write_in_pieces(**file, zeros); !written) {
    return io_failure(written.error(), "write of the spare");
  }
  if (const Io<> synced = (*file)->datasync(); !synced)
    return io_failure(synced.error(), "fdatasync of the spare");
  return {};
}

}  // namespace

Result<> ensure_spare(Directory& directory) {
  Result<bool> there = spare_is_there(directory);
  if (!there) return pass_on(std::move(there));
  if (*there) return {};
  (void)directory.unlink(kUnfinishedName);  // left by a killed attempt; usually absent
  if (Result<> written = write_zeros(directory); !written) {
    (void)directory.unlink(kUnfinishedName);  // gives the space back; the first error is the one to tell
    return written;
  }
  const Io<> renamed = directory.rename(kUnfinishedName, kSpareName, IfThere::replace);
  if (!renamed) return io_failure(renamed.error(), "rename of the spare");
  if (const Io<> synced = directory.sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  return {};
}

Result<std::unique_ptr<File>> raise_segment(Directory& directory, const SegmentHeader& header,
                                            ByteView first_batch) {
  const std::string name = segment_name(header.number);
  Result<std::unique_ptr<File>> file = open_checked(directory, kSpareName, Access::write);
  if (!file) return file;
  Bytes image(kSegmentBytes);
  encode_header(header, std::span<std::uint8_t>(image).first(kFirstBatchOffset));
  std::copy(first_batch.begin(), first_batch.end(), image.begin() + kFirstBatchOffset);
  if (const Io<> written = write_in_pieces(**file, image); !written) {
    return io_failure(written.error(), "write of " + name);
  }
  if (const Io<> synced = (*file)->datasync(); !synced)
    return io_failure(synced.error(), "fdatasync of " + name);
  const Io<> renamed = directory.rename(kSpareName, name, IfThere::refuse);
  if (!renamed && renamed.error() == EEXIST) {
    return fail(errc::contended, name + " is there already: a second writer works on this journal");
  }
  if (!renamed) return io_failure(renamed.error(), "rename of the spare to " + name);
  if (const Io<> synced = directory.sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  return file;
}

}  // namespace postern::ledger
