// SPDX-License-Identifier: Apache-2.0
#include "ledger/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "core/unique_fd.h"
#include "ledger/errors.h"
#include "ledger/lock.h"
#include "ledger/machine.h"
#include "ledger/posix_directory.h"
#include "ledger/recovery.h"
#include "ledger/side_files.h"
#include "ledger/spare.h"
#include "ledger/stream.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatchBytes = 1U << 20;

// The directory under its working name: gone with this, unless it was published.
class Staging {
 public:
  explicit Staging(const fs::path& wanted) : wanted_(wanted), path_(wanted.string() + ".importing") {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { discard(); }

  const fs::path& path() const { return path_; }
  void discard() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  Result<> publish() const {
    const std::string parent = wanted_.parent_path().string();
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, wanted_.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST) return fail(errc::exists, wanted_.string() + " came into being meanwhile");
      return io_failure(errno, "rename to " + wanted_.string());
    }
    const UniqueFd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) return io_failure(errno, "fsync of " + parent);
    return {};
  }

 private:
  fs::path wanted_;
  fs::path path_;
};

class Import final : public ArchiveVisitor {
 public:
  Import(const JournalOptions& options, const ImportOrder& order)
      : options_(options), order_(order), history_(order.key.public_key()) {
    options_.before_change = nullptr;
    options_.after_flush = nullptr;
  }

  Result<> begin() {
    Result<std::unique_ptr<Directory>> made = PosixDirectory::make(options_.directory);
    if (!made) return pass_on(std::move(made));
    directory_ = std::move(*made);
    return check_directory(*directory_, options_.any_file_system);
  }

  Result<> header(const ArchiveHeader& header) override {
    if (header.mesh != order_.mesh) {
      return fail(errc::foreign_archive, "the archive is of mesh \"" + header.mesh +
                                             "\", the config says \"" + order_.mesh +
                                             "\"; name the right one");
    }
    report_.from = header;
    return {};
  }

  Result<> file_part(const std::string& name, std::uint64_t offset, ByteView part) override {
    if (name == kArchiveBase) {
      if (base_text_.size() + part.size() > kMaxBaseBytes)
        return fail(errc::archive_invalid, "its base is longer than any");
      base_text_ += as_text(part);
      return {};
    }
    if (offset == 0) {
      if (Result<> ended = end_file(); !ended) return ended;
      if (Result<> good = check_side_file_name(name); !good) return good;
      Io<std::unique_ptr<File>> file = directory_->open(name, Access::create);
      if (!file) return io_failure(file.error(), "creation of " + name);
      file_ = std::move(*file);
    }
    if (const Io<> written = write_fully(*file_, part, offset); !written)
      return io_failure(written.error(), "write of " + name);
    return {};
  }

  Result<> event(Lseq, const std::string& sealed) override {
    if (Result<> open = open_journal(); !open) return open;
    Result<> added = add(sealed, {Lseq(), RecordType::event, {}, sealed});
    if (!added) return added;
    batch_bytes_ += sealed.size();
    batch_.push_back(sealed);
    return batch_bytes_ < kBatchBytes ? Result<>() : flush();
  }

  // The archive is whole and its own: the last of it, and the new stream.
  Result<ImportReport> finish(const ArchiveTotals& totals) {
    if (Result<> open = open_journal(); !open) return pass_on(std::move(open));
    if (Result<> flushed = flush(); !flushed) return pass_on(std::move(flushed));
    if (Result<> whole = history_.finish(base_ ? &*base_ : nullptr); !whole) return pass_on(std::move(whole));
    Result<Stream> stream =
        Stream::open(*journal_, order_.key, order_.clock, order_.mesh, history_, Continuation{});
    if (!stream) return pass_on(std::move(stream));
    report_.totals = totals;
    report_.journal = journal_->status().journal;
    report_.stream = stream->id();
    if (Result<> closed = journal_->close(); !closed) return pass_on(std::move(closed));
    journal_.reset();
    return report_;
  }

 private:
  Result<> end_file() {
    if (!file_) return {};
    const Io<> synced = file_->datasync();
    file_.reset();
    if (!synced) return io_failure(synced.error(), "fdatasync of a file of the archive");
    return {};
  }

  Result<> add(const std::string& sealed, const Record& record) {
    const Result<Event> event = open_event(sealed);
    if (!event) return tl::unexpected(event.error());
    if (event->mesh != order_.mesh)
      return fail(errc::foreign_archive, "an event of mesh \"" + event->mesh + "\" in it");
    return history_.add(*event, record);
  }

  // All files have come when the first event does.
  Result<> open_journal() {
    if (journal_) return {};
    if (Result<> ended = end_file(); !ended) return ended;
    if (Result<> raised = raise_first_segment(); !raised) return raised;
    Result<std::unique_ptr<Journal>> journal = Journal::open(options_, {});
    if (!journal) return pass_on(std::move(journal));
    journal_ = std::move(*journal);
    return {};
  }

  Result<> raise_first_segment() {
    Result<Lock> lock = Lock::take_or_make(*directory_);
    if (!lock) return pass_on(std::move(lock));
    Result<Id128> machine = options_.machine ? *options_.machine : machine_id();
    if (!machine) return pass_on(std::move(machine));
    SegmentHeader first;
    first.journal = wire::random_id();
    first.salt = new_salt();
    first.machine = *machine;
    if (!base_text_.empty()) {
      if (Result<> put = put_base(first.journal); !put) return put;
      first.first_lseq = base_->chain().next;
      first.prev = base_->chain().hash;
    }
    if (Result<> spare = ensure_spare(*directory_); !spare) return spare;
    Result<std::unique_ptr<File>> segment = raise_segment(*directory_, first, {});
    if (!segment) return pass_on(std::move(segment));
    return ensure_spare(*directory_);
  }

  // The archive's base, signed anew for the new journal.
  Result<> put_base(const Id128& journal) {
    Result<Base> base = open_base(base_text_);
    if (!base) return pass_on(std::move(base));
    if (base->key != order_.key.public_key())
      return fail(errc::archive_invalid, "its base is signed by another node");
    base->journal = journal;
    base->number = 1;
    for (const KeptEvent& kept : base->state.events) {
      Result<> added = add(kept.payload, {kept.lseq, RecordType::event, kept.hash, kept.payload, true});
      if (!added) return added;
    }
    base_ = std::move(*base);
    base_text_.clear();
    const std::string name = base_name(base_->number);
    const Io<std::unique_ptr<File>> file = directory_->open(name, Access::create);
    if (!file) return io_failure(file.error(), "creation of " + name);
    if (const Io<> written = write_fully(**file, as_bytes(seal_base(*base_, order_.key)), 0); !written)
      return io_failure(written.error(), "write of " + name);
    if (const Io<> synced = (*file)->datasync(); !synced)
      return io_failure(synced.error(), "fdatasync of " + name);
    return {};
  }

  Result<> flush() {
    if (batch_.empty()) return {};
    Result<Lseq> appended = journal_->append(batch_);
    if (!appended) return pass_on(std::move(appended));
    batch_.clear();
    batch_bytes_ = 0;
    return {};
  }

  JournalOptions options_;
  const ImportOrder& order_;
  StreamHistory history_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<File> file_;
  std::string base_text_;
  std::optional<Base> base_;
  std::unique_ptr<Journal> journal_;
  std::vector<std::string> batch_;
  std::size_t batch_bytes_ = 0;
  ImportReport report_;
};

Result<> require_absent(const fs::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) {
    return fail(errc::exists,
                path.string() +
                    " is there: an import makes a new journal and replaces none; move it away first, "
                    "and keep it");
  }
  if (errno == ENOENT) return {};
  return io_failure(errno, "stat of " + path.string());
}

}  // namespace

Result<ImportReport> import_journal(const JournalOptions& options, const ImportOrder& order,
                                    const NextLine& next) {
  if (Result<> absent = require_absent(options.directory); !absent) return pass_on(std::move(absent));
  const Staging staging(options.directory);
  staging.discard();  // left by a killed import
  JournalOptions staged = options;
  staged.directory = staging.path();
  Result<ImportReport> report = [&]() -> Result<ImportReport> {
    Import import(staged, order);
    if (Result<> begun = import.begin(); !begun) return pass_on(std::move(begun));
    Result<ArchiveTotals> totals = read_archive(next, order.key.public_key(), import);
    if (!totals) return pass_on(std::move(totals));
    return import.finish(*totals);
  }();
  if (!report) return report;
  if (Result<> published = staging.publish(); !published) return pass_on(std::move(published));
  return report;
}

}  // namespace postern::ledger
