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
#include "ledger/base.h"
#include "ledger/compaction.h"
#include "ledger/errors.h"
#include "ledger/findings.h"
#include "ledger/format.h"
#include "ledger/pages.h"
#include "ledger/record.h"

namespace postern::ledger {

enum class RecoveryClass {
  clean,
  torn,     // a batch that was being written is cut off: it was never acknowledged
  suspect,  // the end was bad, and what is cut off may have been acknowledged
};

std::string_view recovery_class_name(RecoveryClass found);

struct RecoveryReport {
  RecoveryClass found = RecoveryClass::clean;
  std::string finding;              // which segment, byte and lseq, and what was wrong there; "" when clean
  bool clean_stop = false;          // the last record was CLOSE
  Lseq head;                        // last lseq that was kept
  Lseq first_unproven;              // lowest lseq not known to have been acknowledged; head+1 if none
  std::uint64_t kept_unproven = 0;  // whole records that were kept though their acknowledgement is not proven
  std::uint64_t torn_records = 0;
  std::uint64_t segments = 0;        // live ones
  std::shared_ptr<const Base> base;  // that the replay started from; null: from the first record ever
  std::string base_trouble;          // why a newer base was passed over; "" usually
  std::vector<Finding> findings;     // not settled yet, this start's own included
  std::vector<Gap> gaps;             // open ones
  // Each reserve that is not settled counts as spent whole (DESIGN 10): after anything but a clean stop.
  bool reserves_spent = true;
  // Something acknowledged may be missing: an open gap, or a suspect finding that is not settled. No grant is
  // spent and no claim armed before a round with the peers, or an operator's word, has settled it.
  bool needs_sync_round = false;
  bool claims_wait = false;  // likewise, and an operator's word is not enough for claims
};

struct JournalStatus {
  Id128 journal{};
  Lseq head;  // durable
  Hash256 head_hash{};
  std::uint64_t segment = 0;      // number of the one that is written
  std::uint64_t bytes = 0;        // of all segments that are there
  std::uint64_t live_bytes = 0;   // of those that the next start reads
  std::uint64_t base = 0;         // number of the base in force; 0: none
  bool gap_open = false;          // as in RecoveryReport, and now
  bool needs_sync_round = false;  // likewise
  bool poisoned = false;
  std::string poison_reason;
  std::uint64_t flushes = 0;
  double flush_seconds = 0;  // sum, for the metric
};

// Where a whole journal ends.
struct JournalEnd {
  Id128 journal{};
  Id128 machine{};  // that wrote its last segment
  Lseq head;
  Hash256 head_hash{};
};

// How a start goes on with a journal. Anything but `continued` becomes the class of an OPEN record: from
// there on its stream must not be gone on with.
enum class Resumption {
  continued,
  adopted,    // on another machine than the one that wrote it
  went_back,  // though others were promised more than is in it
};

struct JournalOptions {
  std::filesystem::path directory;
  bool any_file_system = false;                       // tests only: allow those that SPEC 4.1 refuses
  std::optional<Id128> machine;                       // instead of /etc/machine-id
  std::uint64_t compaction_bytes = kCompactionBytes;  // from which on wants_compaction() is true
  // Not empty: opening also claims this mesh's name in the network namespace (SPEC 4.2). For whoever writes.
  std::string mesh;
  // The node's own key: a base that another one signed is refused. None: whoever opens does not know it.
  std::optional<wire::PublicKey> node;
  // Asked when the lock is held and nothing was read yet; its failure is the opening's. May be empty.
  std::function<Result<>()> once_locked;
  // Asked under the lock, once the journal is known to be whole and before anything is changed; its failure
  // is the opening's. Empty: continued.
  std::function<Result<Resumption>(const JournalEnd&)> before_change;
  // Told of the base that the replay goes on from, before anything is replayed. May be empty.
  std::function<void(const Base&)> on_base;
  // Called with {journal, head, head hash} after each flush and before the acknowledgement (SPEC 4.7). May be
  // empty.
  std::function<void(const JournalStatus&)> after_flush;
};

// Told when a submitted batch is durable, with the lseq of its last record, or will never be acknowledged.
using Completion = std::function<void(Result<Lseq>)>;

// Threads: append(), submit(), read_page(), status(), recovery() and the side files may be called by any
// thread at any time, compact() and settle() too; close() and the destructor by one, when no other call is
// under way. after_flush and completions run on whichever thread wrote the batch, one at a time, and must not
// call back into the journal except for submit() and status().
class Journal {
 public:
  // Creates an empty journal: the directory (0700), LOCK, seg-1 and the spare. Refuses when one exists
  // (errc::exists).
  static Result<> create(const JournalOptions& options);

  // Takes the lock before it reads or changes anything else, then recovers: CLEAN, TORN and SUSPECT open, all
  // else is refused by name with nothing changed on disk. The events that survive, whole and durable, are
  // handed to `replay` in order, once each: first what the base keeps; sealed segments as they are read,
  // since they are durable whatever the end is like; the rest after its recovery. Its first failure fails the
  // opening, and of an opening that fails nothing that it got counts.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options,
                                               const std::function<Result<>(const Record&)>& replay);

  virtual ~Journal() = default;

  // Appends the payloads next to each other in one batch; durable when it returns. Returns the lseq of the
  // last. On errc::poisoned the outcome of this batch is unknown, every later append fails, and only a
  // restart helps. disk_full is not poison: nothing was written. Payloads hold no NUL bytes: recovery tells a
  // torn record by its zeros.
  virtual Result<Lseq> append(std::span<const std::string> event_payloads) = 0;

  // The same without waiting (rule 3): what arrives while a flush runs is written by the next one. `done` is
  // told after the flush that covers the batch, in the order of submission; exactly once, also when the
  // journal is destroyed. A batch that is refused for its size or content is told so before submit() returns.
  virtual void submit(std::vector<std::string> event_payloads, Completion done) = 0;

  // Rule 10. Runs beside appends. errc::gap_open while a gap is open. Failures leave the journal as it was,
  // except for a failed flush of the directory, which poisons.
  virtual Result<CompactionReport> compact(const CompactionOrder& order) = 0;
  // The next start would read kCompactionBytes or more, and a compaction would change that.
  virtual bool wants_compaction() const = 0;

  // Events from `from` on, durable ones alone. Each is given once to a reader that follows `next`, also
  // across compactions and restarts.
  virtual Result<Page> read_page(const Cursor& from, const PageLimits& limits) const = 0;

  // Durably says that all findings and gaps up to `through` are dealt with: a round with the peers showed
  // nothing missing, or gave it back, or an operator gave it up (then claims go on waiting).
  virtual Result<Lseq> settle(Lseq through, SettledBy by) = 0;

  // Writes CLOSE. The journal accepts nothing afterwards.
  virtual Result<> close() = 0;

  // Whether the journal's path still leads to what is locked; asked when idle. If not, nothing more is
  // accepted: errc::poisoned.
  virtual Result<> still_ours() = 0;

  virtual const RecoveryReport& recovery() const = 0;
  virtual JournalStatus status() const = 0;
  // Files beside the segments that belong to the journal's directory: auth-SERIAL-HASH. Durable on return.
  virtual Result<> put_file(std::string_view name, std::string_view content) = 0;
  virtual Result<std::string> get_file(std::string_view name, std::size_t limit_bytes) const = 0;
  virtual Result<std::vector<std::string>> list_files(std::string_view prefix) const = 0;
  virtual Result<> remove_file(std::string_view name) = 0;
};

}  // namespace postern::ledger
