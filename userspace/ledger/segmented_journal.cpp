// SPDX-License-Identifier: Apache-2.0
// The write side (SPEC 4.5). One batch is in flight at a time: encoded, stamped with what is durable at that
// moment, written to zeros by one call, flushed, and only then acknowledged. Anything that goes wrong between
// the write and the return of the flush poisons the journal for this process: whether the batch is on the
// disk is then unknown, and trying again would only hide that.
#include "ledger/segmented_journal.h"

#include <algorithm>
#include <chrono>

#include "ledger/errors.h"
#include "ledger/machine.h"
#include "ledger/side_files.h"
#include "ledger/spare.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

RecoveryReport report_of(const Classification& found) {
  RecoveryReport report;
  report.found = found.condition == Condition::torn ? RecoveryClass::torn : RecoveryClass::clean;
  report.clean_stop = found.clean_stop;
  report.head = Lseq(found.chain.next.value - 1);
  report.kept_unproven = found.unproven.size();
  report.first_unproven = Lseq(found.chain.next.value - report.kept_unproven);
  report.torn_records = found.torn_records;
  report.segments = found.last.number;
  return report;
}

Result<> refuse_foreign(const Classification& found, const Id128& machine, const std::string& path) {
  if (found.last.machine == machine) return {};
  return fail(errc::foreign_machine,
              path + " was written on machine " + to_hex(found.last.machine) + ", this is " +
                  to_hex(machine) +
                  "; nothing was changed; two machines that go on with one "
                  "journal fork its stream: start it where it comes from, or move it away and "
                  "run `postern init`");
}

Result<> refuse_existing(const Directory& directory) {
  const Io<std::vector<std::string>> names = directory.list();
  if (!names) return io_failure(names.error(), "listing of " + directory.path());
  for (const std::string& name : *names) {
    if (!name.starts_with("seg-") && !name.starts_with("base-") && !name.starts_with("auth-")) continue;
    return fail(errc::exists, directory.path() + "/" + name +
                                  " is there: this directory has or had a journal; move " +
                                  "it away to create a new one");
  }
  return {};
}

}  // namespace

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
  if (const Io<> synced = directory->sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  Result<Id128> machine = options.machine ? *options.machine : machine_id();
  if (!machine) return pass_on(std::move(machine));
  Result<Classification> found = examine(*directory, {});
  if (!found) return pass_on(std::move(found), directory->path());
  if (Result<> accepted = accept(*found, *directory); !accepted) return pass_on(std::move(accepted));
  if (Result<> ours = refuse_foreign(*found, *machine, directory->path()); !ours)
    return pass_on(std::move(ours));

  // From here on the journal is ours to change.
  lock->name_holder();
  std::unique_ptr<SegmentedJournal> journal(
      new SegmentedJournal(std::move(directory), std::move(*lock), options, *machine));
  journal->report_ = report_of(*found);
  Result<WritePosition> position = recover(*journal->directory_, *found, *machine);
  if (!position) return pass_on(std::move(position));
  journal->position_ = std::move(*position);
  // A full disk opens all the same: it replays and forwards, and refuses appends (rule 8).
  Result<> spare = ensure_spare(*journal->directory_);
  if (!spare && spare.error().code != errc::disk_full) return pass_on(std::move(spare));
  journal->has_spare_ = spare.has_value();
  // Exposed only now that what recovery kept is durable: read again, from where the next start would read it.
  if (replay) {
    Result<Classification> again = examine(*journal->directory_, [&replay](const Record& record) -> Result<> {
      return record.type == RecordType::event ? replay(record) : Result<>();
    });
    if (!again) return pass_on(std::move(again));
    if (again->chain.hash != journal->position_.chain.hash) {
      return fail(errc::io,
                  journal->directory_->path() + " reads differently the second time; check the disk");
    }
  }
  return journal;
}

Result<> SegmentedJournal::writable() const {
  if (!poison_reason_.empty()) {
    return fail(errc::poisoned,
                poison_reason_ + "; nothing is journaled until a restart has recovered the journal");
  }
  if (closed_) return fail(errc::closed, directory_->path() + " was closed");
  return {};
}

Error SegmentedJournal::poison(std::string reason) {
  poison_reason_ = directory_->path() + ": " + std::move(reason);
  return Error{errc::poisoned,
               poison_reason_ + "; whether this batch is stored is unknown; restart to find out"};
}

Result<Lseq> SegmentedJournal::append(std::span<const std::string> event_payloads) {
  std::vector<Item> items;
  std::size_t bytes = 0;
  for (const std::string& payload : event_payloads) {
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
  if (Result<> written = write(items); !written) return pass_on(std::move(written));
  return durable();
}

void SegmentedJournal::submit(std::vector<std::string> event_payloads, Completion done) {
  done(append(event_payloads));
}

Result<CompactionReport> SegmentedJournal::compact(const CompactionOrder& order) {
  (void)order;
  return CompactionReport{};
}

bool SegmentedJournal::wants_compaction() const {
  return false;
}

Result<Page> SegmentedJournal::read_page(const Cursor& from, const PageLimits&) const {
  Page page;
  page.next = from;
  return page;
}

Result<Lseq> SegmentedJournal::settle(Lseq) {
  return durable();
}

Result<> SegmentedJournal::close() {
  const std::vector<Item> items = {{RecordType::close, "{}"}};
  Result<> written = write(items);
  if (written) closed_ = true;
  return written;
}

Result<> SegmentedJournal::write(std::span<const Item> items) {
  if (Result<> good = writable(); !good) return good;
  if (items.empty()) return {};
  // Rule 8: the next roll or recovery must not need disk space, so no record may come to depend on one
  // without it.
  if (!has_spare_) {
    if (Result<> spare = ensure_spare(*directory_); !spare) {
      if (spare.error().code == errc::disk_full) return spare;
      return tl::unexpected<Error>(poison(spare.error().context));
    }
    has_spare_ = true;
  }
  std::size_t bytes = 0;
  for (const Item& item : items)
    bytes += record_bytes(item.payload.size());
  if (position_.offset + round_up(bytes, kBlockBytes) > kSegmentBytes) {
    if (Result<> rolled = roll(); !rolled) return rolled;
  }
  // Rule 3: stamped as it is written, with what is durable now.
  const Lseq durable_upto = durable();
  ChainHead chain = position_.chain;
  Bytes batch;
  for (const Item& item : items) {
    const bool last = &item == &items.back();
    append_record(batch, chain, durable_upto, item.type, last, item.payload, position_.segment.salt);
  }
  batch.resize(round_up(batch.size(), kBlockBytes));
  if (Result<> written = write_batch(batch); !written) return written;
  position_.offset += batch.size();
  position_.chain = chain;
  if (after_flush_) after_flush_(status());
  return {};
}

Result<> SegmentedJournal::write_batch(ByteView batch) {
  const std::string name = segment_name(position_.segment.number);
  const std::string where = name + " at byte " + std::to_string(position_.offset);
  // Rule 6: whoever else writes here would have left something in the target, or raised the next segment.
  Bytes target(batch.size());
  const Io<> read = read_fully(*position_.file, target, position_.offset);
  if (!read)
    return tl::unexpected<Error>(poison(io_failure(read.error(), "read of " + where).value().context));
  const Io<bool> next = directory_->exists(segment_name(position_.segment.number + 1));
  if (!next || *next || !all_zero(target)) {
    return tl::unexpected<Error>(poison("second writer: " + where + " is not free; find the other process"));
  }
  // Rule 9. A short write is a failure like any other, and nothing is tried twice.
  const Io<std::size_t> written = position_.file->write_at(batch, position_.offset);
  if (!written)
    return tl::unexpected<Error>(poison(io_failure(written.error(), "write of " + where).value().context));
  if (*written != batch.size()) {
    return tl::unexpected<Error>(poison("short write of " + where + ": " + std::to_string(*written) + " of " +
                                        std::to_string(batch.size()) + " bytes"));
  }
  const auto start = std::chrono::steady_clock::now();
  const Io<> flushed = position_.file->datasync();
  if (!flushed) {
    return tl::unexpected<Error>(poison(io_failure(flushed.error(), "fdatasync of " + name).value().context));
  }
  flush_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++flushes_;
  return {};
}

// The spare becomes the next segment, then a new spare is made. A roll that fails half-way leaves it unknown
// which segment is the last: poison. Without space for the new spare the roll stands, and the append is
// refused (rule 8).
Result<> SegmentedJournal::roll() {
  if (Result<> ours = lock_.still_named(*directory_); !ours) {
    return tl::unexpected<Error>(poison(ours.error().context));
  }
  SegmentHeader next = position_.segment;
  next.format = kFormatVersion;
  next.min_reader = kFormatVersion;
  next.number = position_.segment.number + 1;
  next.salt = new_salt();
  next.first_lseq = position_.chain.next;
  next.prev = position_.chain.hash;
  next.sealed_end = position_.offset;
  next.machine = machine_;
  Result<std::unique_ptr<File>> file = raise_segment(*directory_, next, {});
  if (!file) return tl::unexpected<Error>(poison(file.error().context));
  position_.segment = next;
  position_.file = std::move(*file);
  position_.offset = kFirstBatchOffset;
  has_spare_ = false;
  Result<> spare = ensure_spare(*directory_);
  has_spare_ = spare.has_value();
  if (!spare && spare.error().code != errc::disk_full)
    return tl::unexpected<Error>(poison(spare.error().context));
  return spare;
}

JournalStatus SegmentedJournal::status() const {
  JournalStatus status;
  status.journal = position_.segment.journal;
  status.head = durable();
  status.head_hash = position_.chain.hash;
  status.segment = position_.segment.number;
  status.bytes = position_.segment.number * kSegmentBytes;
  status.poisoned = !poison_reason_.empty();
  status.poison_reason = poison_reason_;
  status.flushes = flushes_;
  status.flush_seconds = flush_seconds_;
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
