// SPDX-License-Identifier: Apache-2.0
#include "ledger/export.h"

#include <algorithm>

#include "ledger/errors.h"
#include "ledger/scan.h"

namespace postern::ledger {
namespace {

ErrorCode code_of(Condition condition) {
  return condition == Condition::fork ? errc::fork : errc::damage;
}

Result<> require_whole(const Scan& scan) {
  if (scan.condition != Condition::damage && scan.condition != Condition::fork) return {};
  return fail(code_of(scan.condition), scan.path + ": " + scan.finding + "; " + scan.remedy);
}

}  // namespace

Result<> archive_file(const Directory& directory, const std::string& from, std::string_view name,
                      ArchiveWriter& archive) {
  Result<std::unique_ptr<File>> file = open_checked(directory, from, Access::read);
  if (!file) return pass_on(std::move(file));
  Bytes part(kArchivePartBytes);
  std::uint64_t offset = 0;
  for (;;) {
    std::size_t filled = 0;
    while (filled < part.size()) {
      const Io<std::size_t> got = (*file)->read_at(std::span(part).subspan(filled), offset + filled);
      if (!got) return io_failure(got.error(), "read of " + from);
      if (*got == 0) break;
      filled += *got;
    }
    if (filled == 0 && offset != 0) return {};
    if (Result<> put = archive.file_part(name, offset, ByteView(part).first(filled)); !put) return put;
    offset += filled;
    if (filled < part.size()) return {};
  }
}

Result<ArchiveTotals> export_journal(const Directory& directory, const ExportOrder& order,
                                     ArchiveWriter::Put put) {
  // Twice: the header and the verdict come first, and events are not kept in memory meanwhile.
  Result<Scan> scan = scan_journal(directory, {});
  if (!scan) return pass_on(std::move(scan));
  if (Result<> whole = require_whole(*scan); !whole) return pass_on(std::move(whole));
  ArchiveWriter archive(std::move(put));
  Result<> begun = archive.header({order.mesh, scan->journal, scan->head, scan->head_hash, order.now_ms});
  if (!begun) return pass_on(std::move(begun));
  if (scan->base) {
    Result<> put_base = archive_file(directory, base_name(scan->base->number), kArchiveBase, archive);
    if (!put_base) return pass_on(std::move(put_base));
  }
  std::vector<std::string> files = scan->side_files;
  std::sort(files.begin(), files.end());
  for (const std::string& name : files) {
    if (Result<> written = archive_file(directory, name, name, archive); !written)
      return pass_on(std::move(written));
  }
  const Result<Scan> again = scan_journal(directory, [&archive](const Record& record) -> Result<> {
    if (record.type != RecordType::event || record.from_base) return {};
    return archive.event(record.lseq, record.payload);
  });
  if (!again) return tl::unexpected(again.error());
  if (again->head_hash != scan->head_hash)
    return fail(errc::io, directory.path() + " reads differently the second time; check the disk");
  return archive.finish(order.key);
}

}  // namespace postern::ledger
