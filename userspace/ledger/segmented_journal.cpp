// SPDX-License-Identifier: Apache-2.0
// Puts lock, recovery, writer, group commit, compaction and paging together. What is written is the writer's
// business (segment_writer.h), in whose turn group commit's (group_commit.h); everybody else reads what was
// published after the last flush, so nobody waits for a disk to learn how the journal stands.
#include "ledger/segmented_journal.h"

#include <algorithm>

#include "ledger/errors.h"
#include "ledger/machine.h"
#include "ledger/segment_reader.h"
#include "ledger/side_files.h"
#include "ledger/spare.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

RecoveryClass class_of(Condition condition) {
  switch (condition) {
    case Condition::torn:
      return RecoveryClass::torn;
    case Condition::suspect:
      return RecoveryClass::suspect;
    default:
      return RecoveryClass::clean;
  }
}

RecoveryReport report_of(const Examination& examined) {
  const Classification& found = examined.found;
  RecoveryReport report;
  report.found = class_of(found.condition);
  report.finding = found.finding;
  report.clean_stop = found.clean_stop;
  report.head = Lseq(found.chain.next.value - 1);
  report.kept_unproven = found.unproven.size();
  report.first_unproven = Lseq(found.chain.next.value - report.kept_unproven);
  report.torn_records = found.torn_records;
  report.segments = found.headers.size();
  report.base = examined.base.base;
  report.base_trouble = examined.base.trouble;
  return report;
}

Result<> refuse_foreign(const Classification& found, const Id128& machine, const std::string& path) {
  if (found.last.machine == machine) return {};
  return fail(
      errc::foreign_machine,
      path + " was written on machine " + to_hex(found.last.machine) + ", this is " + to_hex(machine) +
          "; nothing was changed; two machines that go on with one journal fork its stream: if the other "
          "one will never serve from it again, run `postern journal adopt`");
}

Result<> hand_on(const Record& record, const std::function<Result<>(const Record&)>& replay) {
  return replay && record.type == RecordType::event ? replay(record) : Result<>();
}

Result<> check_base(const Examination& examined, const JournalOptions& options) {
  if (!examined.base.base || !options.node) return {};
  return refuse_foreign_base(*examined.base.base, *options.node);
}

Result<Resumption> ask(const JournalOptions& options, const Classification& found) {
  if (!options.before_change) return Resumption::continued;
  const Lseq head(found.chain.next.value - 1);
  return options.before_change({found.last.journal, found.last.machine, head, found.chain.hash});
}

// What it names is on the disk then: a creation that was killed may have left a name that goes with the
// power.
Result<> refuse_existing(Directory& directory) {
  const Io<std::vector<std::string>> names = directory.list();
  if (!names) return io_failure(names.error(), "listing of " + directory.path());
  for (const std::string& name : *names) {
    if (!name.starts_with("seg-") && !name.starts_with("base-") && !name.starts_with("auth-")) continue;
    if (const Io<> synced = directory.sync(); !synced)
      return io_failure(synced.error(), "fsync of " + directory.path());
    return fail(errc::exists, directory.path() + "/" + name +
                                  " is there: this directory has or had a journal; move " +
                                  "it away to create a new one");
  }
  return {};
}

Result<std::vector<BatchItem>> event_items(std::span<const std::string> payloads) {
  std::vector<BatchItem> items;
  std::size_t bytes = 0;
  for (const std::string& payload : payloads) {
    if (payload.size() > kMaxEventBytes) {
      return fail(errc::record_too_large, "an event of " + std::to_string(payload.size()) +
                                              " bytes, expected " + std::to_string(kMaxEventBytes) +
                                              " at most");
    }
    // Recovery tells an unwritten sector by its zeros (rule 5).
    if (payload.empty() || payload.find('\0') != std::string::npos) {
      return fail(errc::event_invalid, "an event that is empty or holds NUL bytes; expected canonical JSON");
    }
    items.push_back({RecordType::event, payload});
    bytes += record_bytes(payload.size());
  }
  if (bytes > kMaxBatchBytes) {
    return fail(errc::record_too_large, "a batch of " + std::to_string(bytes) + " bytes, expected " +
                                            std::to_string(kMaxBatchBytes) + " at most; split it");
  }
  return items;
}

// Segments below the base's that are still there, and lead to it without a hole: a reader of pages that is
// behind may still have them. Nothing else depends on them.
std::vector<SegmentHeader> kept_segments(const Directory& directory, const Examination& examined) {
  std::vector<SegmentHeader> kept;
  if (!examined.base.base || !examined.base.base->state.gaps.empty()) return kept;
  SegmentReader reader(directory);
  std::uint64_t number = examined.first_live();
  while (std::binary_search(examined.segments.begin(), examined.segments.end(), number - 1)) {
    const Result<ByteView> bytes = reader.read(--number, kFirstBatchOffset);
    const Result<SegmentHeader> header = bytes ? decode_header(*bytes) : fail(errc::damage, "");
    if (!header || header->number != number || header->journal != examined.found.last.journal) break;
    kept.insert(kept.begin(), *header);
  }
  return kept;
}

}  // namespace

SegmentedJournal::SegmentedJournal(std::unique_ptr<Directory> directory, Lock lock,
                                   const JournalOptions& options, Id128 machine)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      after_flush_(options.after_flush),
      machine_(machine),
      compaction_bytes_(options.compaction_bytes),
      poison_(directory_->path()) {}

Result<> SegmentedJournal::create(std::unique_ptr<Directory> directory, const JournalOptions& options) {
  if (Result<> good = check_directory(*directory, options.any_file_system); !good) return good;
  Result<Lock> lock = Lock::take_or_make(*directory);
  if (!lock) return pass_on(std::move(lock));
  if (Result<> fresh = refuse_existing(*directory); !fresh) return fresh;
  Result<Id128> machine = options.machine ? *options.machine : machine_id();
  if (!machine) return pass_on(std::move(machine));
  lock->name_holder();
  SegmentHeader first;
  first.journal = wire::random_id();
  first.salt = new_salt();
  first.machine = *machine;
  if (Result<> spare = ensure_spare(*directory); !spare) return spare;
  Result<std::unique_ptr<File>> segment = raise_segment(*directory, first, {});
  if (!segment) return pass_on(std::move(segment));
  return ensure_spare(*directory);
}

Result<std::unique_ptr<Journal>> SegmentedJournal::open(
    std::unique_ptr<Directory> directory, const JournalOptions& options,
    const std::function<Result<>(const Record&)>& replay) {
  if (Result<> good = check_directory(*directory, options.any_file_system); !good)
    return pass_on(std::move(good));
  // The lock before anything is read or changed (SPEC 4.2); names durable before they are believed (rule 4).
  Result<Lock> lock = Lock::take(*directory);
  if (!lock) return pass_on(std::move(lock));
  std::optional<WriterSocket> writer_socket;
  if (!options.mesh.empty()) {
    Result<WriterSocket> held = WriterSocket::hold(options.mesh);
    if (!held) return pass_on(std::move(held), directory->path());
    writer_socket.emplace(std::move(*held));
  }
  if (options.once_locked) {
    if (Result<> ready = options.once_locked(); !ready) return pass_on(std::move(ready));
  }
  if (const Io<> synced = directory->sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  Result<Id128> machine = options.machine ? *options.machine : machine_id();
  if (!machine) return pass_on(std::move(machine));
  // Read once: what is sealed is handed on at once. The last segment waits for its recovery (rule 7).
  Result<Examination> found = examine(
      *directory,
      [&replay](const Record& record) -> Result<> {
        return record.from_base || record.sealed ? hand_on(record, replay) : Result<>();
      },
      options.on_base);
  if (!found) return pass_on(std::move(found), directory->path());
  if (Result<> own = check_base(*found, options); !own) return pass_on(std::move(own), directory->path());
  if (Result<> accepted = accept(*found, *directory); !accepted) return pass_on(std::move(accepted));
  const Result<Resumption> resumption = ask(options, found->found);
  if (!resumption) return tl::unexpected(resumption.error());
  if (*resumption != Resumption::adopted) {
    if (Result<> ours = refuse_foreign(found->found, *machine, directory->path()); !ours)
      return pass_on(std::move(ours));
  }

  // From here on the journal is ours to change.
  lock->name_holder();
  std::unique_ptr<SegmentedJournal> journal(
      new SegmentedJournal(std::move(directory), std::move(*lock), options, *machine));
  journal->writer_socket_ = std::move(writer_socket);
  Result<WritePosition> position = recover(*journal->directory_, found->found, *machine, *resumption);
  if (!position) return pass_on(std::move(position));
  if (Result<> started = journal->start(*found, std::move(*position)); !started)
    return pass_on(std::move(started));
  if (Result<> replayed = journal->replay_end(std::move(*found), replay); !replayed)
    return pass_on(std::move(replayed));
  return journal;
}

Result<> SegmentedJournal::start(const Examination& found, WritePosition position) {
  report_ = report_of(found);
  writer_.emplace(*directory_, lock_, poison_, machine_, std::move(position));
  // A full disk opens all the same: it replays and forwards, and refuses appends (rule 8).
  Result<> spare = writer_->prepare_spare();
  if (!spare && spare.error().code != errc::disk_full) return spare;
  commits_.emplace(kMaxBatchBytes, [this](std::span<const BatchItem> items) { return write(items); });
  return {};
}

// What recovery kept is durable now, and is exposed only now: read again, from where the next start would
// read it.
Result<> SegmentedJournal::replay_end(Examination found,
                                      const std::function<Result<>(const Record&)>& replay) {
  Result<Examination> again =
      examine_end(*directory_, std::move(found), writer_->segment().number,
                  [&replay](const Record& record) { return hand_on(record, replay); });
  if (!again) return pass_on(std::move(again));
  if (again->found.chain.hash != writer_->chain().hash)
    return fail(errc::io, directory_->path() + " reads differently the second time; check the disk");
  report_.findings = again->findings.open_findings();
  report_.gaps = again->findings.open_gaps();
  report_.needs_sync_round = again->findings.needs_sync_round();
  report_.claims_wait = again->findings.claims_wait();
  report_.reserves_spent =
      report_.found != RecoveryClass::clean || !report_.clean_stop || report_.needs_sync_round;
  publish_start(*again);
  return {};
}

void SegmentedJournal::publish_start(const Examination& found) {
  const std::lock_guard<std::mutex> lock(mutex_);
  published_.files = found.segments.size();
  published_.findings = found.findings;
  PageSource& pages = published_.pages;
  pages.journal = found.found.last.journal;
  pages.base = found.base.base;
  pages.segments = kept_segments(*directory_, found);
  pages.segments.insert(pages.segments.end(), found.found.headers.begin(), found.found.headers.end());
  pages.durable = writer_->durable();
  pages.durable_hash = writer_->chain().hash;
  JournalStatus& status = published_.status;
  status.journal = pages.journal;
  status.head = pages.durable;
  status.head_hash = writer_->chain().hash;
  status.segment = writer_->segment().number;
}

Result<> SegmentedJournal::writable() const {
  if (Result<> good = poison_.check(); !good) return good;
  if (closed_) return fail(errc::closed, directory_->path() + " was closed");
  return {};
}

// One batch, by whoever leads it. A batch that is refused can have rolled all the same.
Result<Lseq> SegmentedJournal::write(std::span<const BatchItem> items) {
  Result<Lseq> written = writer_->write(items);
  publish_end();
  if (written && after_flush_) after_flush_(status());
  return written;
}

void SegmentedJournal::publish_end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  published_.pages.durable = writer_->durable();
  published_.pages.durable_hash = writer_->chain().hash;
  JournalStatus& status = published_.status;
  status.head = writer_->durable();
  status.head_hash = writer_->chain().hash;
  status.flushes = writer_->flushes();
  status.flush_seconds = writer_->flush_seconds();
  if (status.segment == writer_->segment().number) return;
  status.segment = writer_->segment().number;
  published_.pages.segments.push_back(writer_->segment());
  ++published_.files;
}

Result<Lseq> SegmentedJournal::append(std::span<const std::string> event_payloads) {
  const Result<std::vector<BatchItem>> items = event_items(event_payloads);
  if (!items) return tl::unexpected<Error>(items.error());
  if (Result<> good = writable(); !good) return pass_on(std::move(good));
  if (items->empty()) return status().head;
  return commits_->commit(*items);
}

void SegmentedJournal::submit(std::vector<std::string> event_payloads, Completion done) {
  const Result<std::vector<BatchItem>> items = event_items(event_payloads);
  if (!items) return done(tl::unexpected<Error>(items.error()));
  if (Result<> good = writable(); !good) return done(pass_on(std::move(good)));
  if (items->empty()) return done(status().head);
  commits_->submit(RecordType::event, std::move(event_payloads), std::move(done));
}

Result<Lseq> SegmentedJournal::settle(Lseq through, SettledBy by) {
  if (Result<> good = writable(); !good) return pass_on(std::move(good));
  const std::string payload = settled_payload(through, by);
  const std::vector<BatchItem> items = {{RecordType::settled, payload}};
  Result<Lseq> written = commits_->commit(items);
  if (!written) return written;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Result<> seen = published_.findings.see({*written, RecordType::settled, {}, payload}); !seen)
    return pass_on(std::move(seen));
  return written;
}

Result<> SegmentedJournal::close() {
  if (Result<> good = writable(); !good) return good;
  const std::vector<BatchItem> items = {{RecordType::close, "{}"}};
  Result<Lseq> written = commits_->commit(items);
  if (!written) return pass_on(std::move(written));
  closed_ = true;
  return {};
}

Result<CompactionReport> SegmentedJournal::compact(const CompactionOrder& order) {
  const std::lock_guard<std::mutex> one(compaction_);
  if (Result<> good = writable(); !good) return pass_on(std::move(good));
  const PageSource before = page_source();
  Result<Compacted> done = compact_segments(*directory_, before.base, before.segments.back(), order);
  if (!done) {
    if (done.error().code == errc::poisoned) return tl::unexpected<Error>(poison_.set(done.error().context));
    return pass_on(std::move(done));
  }
  if (!done->base) return std::move(done->report);
  const std::lock_guard<std::mutex> lock(mutex_);
  published_.pages.base = done->report.in_force = done->base;
  for (const std::string& name : done->report.unlinked) {
    const std::optional<std::uint64_t> number = segment_number(name);
    if (!number) continue;
    --published_.files;
    std::erase_if(published_.pages.segments,
                  [&number](const SegmentHeader& s) { return s.number <= *number; });
  }
  return std::move(done->report);
}

bool SegmentedJournal::wants_compaction() const {
  const JournalStatus now = status();
  return !now.gap_open && now.live_bytes >= compaction_bytes_ &&
         now.segment != std::max<std::uint64_t>(now.base, 1);
}

PageSource SegmentedJournal::page_source() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return published_.pages;
}

Result<Page> SegmentedJournal::read_page(const Cursor& from, const PageLimits& limits) const {
  // A compaction unlinks the segments of a base that was replaced before: looking again finds the new one.
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    Result<Page> page = ledger::read_page(*directory_, page_source(), from, limits);
    if (page || page.error().code != errc::absent || attempt == kAttempts) return page;
  }
}

Result<> SegmentedJournal::still_ours() {
  if (Result<> good = writable(); !good) return good;
  if (Result<> named = lock_.still_named(*directory_); !named)
    return tl::unexpected<Error>(poison_.set(named.error().context));
  return {};
}

JournalStatus SegmentedJournal::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  JournalStatus status = published_.status;
  status.base = published_.pages.base ? published_.pages.base->number : 0;
  status.bytes = published_.files * kSegmentBytes;
  status.live_bytes = (status.segment - std::max<std::uint64_t>(status.base, 1) + 1) * kSegmentBytes;
  status.gap_open = !published_.findings.open_gaps().empty();
  status.needs_sync_round = published_.findings.needs_sync_round();
  status.poison_reason = poison_.reason();
  status.poisoned = !status.poison_reason.empty();
  return status;
}

Result<> SegmentedJournal::put_file(std::string_view name, std::string_view content) {
  if (Result<> good = writable(); !good) return good;
  return put_side_file(*directory_, name, content);
}

Result<std::string> SegmentedJournal::get_file(std::string_view name, std::size_t limit_bytes) const {
  return get_side_file(*directory_, name, limit_bytes);
}

Result<std::vector<std::string>> SegmentedJournal::list_files(std::string_view prefix) const {
  return list_side_files(*directory_, prefix);
}

Result<> SegmentedJournal::remove_file(std::string_view name) {
  if (Result<> good = writable(); !good) return good;
  return remove_side_file(*directory_, name);
}

}  // namespace postern::ledger
