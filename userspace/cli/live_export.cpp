// SPDX-License-Identifier: Apache-2.0
#include "cli/live_export.h"

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/reply.h"
#include "ledger/base.h"
#include "ledger/side_files.h"

namespace postern::cli {
namespace {

constexpr std::int64_t kEventsAPage = 1000;

using Page = tl::expected<wire::Json, Refusal>;

Page page_from(const Globals& globals, Lseq next, std::int64_t limit) {
  return ask_agent(globals, "journal-page",
                   wire::Json::object({{"limit", limit}, {"next", wire::Json::decimal(next.value)}}));
}

Result<ledger::Base> read_base(const ledger::Directory& directory, const std::string& name) {
  Result<std::unique_ptr<ledger::File>> file = ledger::open_checked(directory, name, ledger::Access::read);
  if (!file) return pass_on(std::move(file));
  const ledger::Io<ledger::FileFacts> facts = (*file)->facts();
  if (!facts) return ledger::io_failure(facts.error(), "stat of " + name);
  if (facts->bytes > ledger::kMaxBaseBytes)
    return fail(ledger::errc::base_invalid, name + " is longer than any");
  std::string text(facts->bytes, '\0');
  const ledger::Io<> got =
      ledger::read_fully(**file, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, 0);
  if (!got) return ledger::io_failure(got.error(), "read of " + name);
  return ledger::open_base(text);
}

// Base and snapshots; returns the last record that the base stands for.
Result<Lseq> put_files(const ledger::Directory& directory, std::uint64_t base,
                       ledger::ArchiveWriter& archive) {
  Lseq last;
  if (base != 0) {
    const std::string name = ledger::base_name(base);
    const Result<ledger::Base> read = read_base(directory, name);
    if (!read) return tl::unexpected(read.error());
    last = read->lseq;
    if (Result<> put = ledger::archive_file(directory, name, ledger::kArchiveBase, archive); !put)
      return pass_on(std::move(put));
  }
  const Result<std::vector<std::string>> names = ledger::list_side_files(directory, "");
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    if (Result<> put = ledger::archive_file(directory, name, name, archive); !put)
      return pass_on(std::move(put));
  }
  return last;
}

}  // namespace

tl::expected<ledger::ArchiveTotals, Refusal> export_live(const Globals& globals,
                                                         const ledger::Directory& directory,
                                                         const ledger::ExportOrder& order,
                                                         ledger::ArchiveWriter::Put put) {
  const Page first = page_from(globals, Lseq(1), 1);
  if (!first) return tl::unexpected<Refusal>(first.error());
  const Reply facts(*first);
  const auto journal = array_from_hex<16>(facts.text("journal"));
  const auto head_hash = array_from_hex<32>(facts.text("head_hash"));
  if (!journal || !head_hash) return refuse(errc::garbled, "the agent did not say which journal it writes");
  const Lseq head(facts.count("head"));
  ledger::ArchiveWriter archive(std::move(put));
  const Result<> begun = archive.header({order.mesh, *journal, head, *head_hash, order.now_ms});
  if (!begun) return refuse(begun.error());
  const Result<Lseq> base_end = put_files(directory, facts.count("base"), archive);
  if (!base_end) return refuse(base_end.error());
  for (Lseq next = base_end->next(); next <= head;) {
    const Page page = page_from(globals, next, kEventsAPage);
    if (!page) return tl::unexpected<Refusal>(page.error());
    const Reply reply(*page);
    if (!reply.list("missing").empty() || Lseq(reply.count("next")) < next) {
      return refuse(
          errc::changed_meanwhile,
          "the journal was compacted while it was exported; nothing was kept of the archive; run it again");
    }
    for (const Reply& event : reply.list("events")) {
      const Lseq lseq(event.count("lseq"));
      if (lseq > head) break;
      if (const Result<> written = archive.event(lseq, event.text("event")); !written)
        return refuse(written.error());
    }
    if (reply.flag("at_end") || Lseq(reply.count("next")) == next) break;
    next = Lseq(reply.count("next"));
  }
  const Result<ledger::ArchiveTotals> totals = archive.finish(order.key);
  if (!totals) return refuse(totals.error());
  return *totals;
}

}  // namespace postern::cli
