// SPDX-License-Identifier: Apache-2.0
// A gateway's durable, hash-chained, single-writer log (SPEC 4). Accepted means durable: append() returns
// success only after the flush that covers its records has returned.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/errors.h"
#include "ledger/format.h"

namespace postern::ledger {

enum class RecoveryClass { clean, torn };

struct RecoveryReport {
  RecoveryClass found = RecoveryClass::clean;
  bool clean_stop = false;          // the last record was CLOSE
  Lseq head;                        // last lseq that was kept
  Lseq first_unproven;              // lowest lseq not known to have been acknowledged; head+1 if none
  std::uint64_t kept_unproven = 0;  // whole records that were kept though their acknowledgement is not proven
  std::uint64_t torn_records = 0;
  std::uint64_t segments = 0;
};

struct Record {
  Lseq lseq;
  RecordType type = RecordType::event;
  Hash256 hash{};  // chain hash up to and including this record
  std::string payload;
};

struct JournalStatus {
  Id128 journal{};
  Lseq head;  // durable
  Hash256 head_hash{};
  std::uint64_t segment = 0;  // number of the one that is written
  std::uint64_t bytes = 0;    // of all segments
  bool poisoned = false;
  std::string poison_reason;
  std::uint64_t flushes = 0;
  double flush_seconds = 0;  // sum, for the metric
};

struct JournalOptions {
  std::filesystem::path directory;
  bool any_file_system = false;  // tests only: allow those that SPEC 4.1 refuses
  std::optional<Id128> machine;  // instead of /etc/machine-id
  // Called with {journal, head, head hash} after each flush and before the acknowledgement (SPEC 4.7). May be
  // empty.
  std::function<void(const JournalStatus&)> after_flush;
};

class Journal {
 public:
  // Creates an empty journal: the directory (0700), LOCK, seg-1 and the spare. Refuses when one exists
  // (errc::exists).
  static Result<> create(const JournalOptions& options);

  // Takes the lock before it reads or changes anything else, then recovers: CLEAN and TORN open, all else is
  // refused by name with nothing changed on disk. Then the events that survived, whole and durable, are
  // handed to `replay` in order, once each; its first failure fails the opening.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options,
                                               const std::function<Result<>(const Record&)>& replay);

  virtual ~Journal() = default;

  // Appends the payloads as one batch; durable when it returns. Returns the lseq of the last one. On
  // errc::poisoned the outcome of this batch is unknown, every later append fails, and only a restart helps.
  // disk_full is not poison: nothing was written. Payloads hold no NUL bytes: recovery tells a torn record by
  // its zeros.
  virtual Result<Lseq> append(std::span<const std::string> event_payloads) = 0;

  // Writes CLOSE. The journal accepts nothing afterwards.
  virtual Result<> close() = 0;

  virtual const RecoveryReport& recovery() const = 0;
  virtual JournalStatus status() const = 0;
  // Files beside the segments that belong to the journal's directory: auth-SERIAL-HASH. Durable on return.
  virtual Result<> put_file(std::string_view name, std::string_view content) = 0;
  virtual Result<std::string> get_file(std::string_view name, std::size_t limit_bytes) const = 0;
  virtual Result<std::vector<std::string>> list_files(std::string_view prefix) const = 0;
  virtual Result<> remove_file(std::string_view name) = 0;
};

}  // namespace postern::ledger
