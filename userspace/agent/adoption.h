// SPDX-License-Identifier: Apache-2.0
// How a snapshot comes into force: persist, then fence, then serve (SPEC 3.5). A crash between any two steps
// leaves a state from which redo() arrives at the same end: before AuthorityAdopted is durable nothing has
// happened (an orphan file at most), after it the snapshot is the one to serve, whether or not the kernel has
// it yet.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/adoption_stage.h"
#include "agent/served.h"
#include "authority/adoption_rules.h"
#include "core/clock.h"
#include "core/result.h"
#include "dataplane/compile.h"
#include "dataplane/generations.h"
#include "dataplane/plane.h"
#include "ledger/authority_log.h"
#include "ledger/journal.h"
#include "ledger/stream.h"
#include "observe/duration_histogram.h"

namespace postern::agent {

// All must outlive the Adoption.
struct AdoptionParts {
  ledger::Journal& journal;
  ledger::Stream& stream;
  ledger::AuthorityState& authority;
  const dataplane::Plane& plane;
  dataplane::Generations& generations;
  const Clock& clock;
};

class Adoption {
 public:
  Adoption(AdoptionParts parts, std::string mesh) : parts_(parts), mesh_(std::move(mesh)) {}

  // Adopts the signed file. `trust_anchor` is read for the first adoption only; later the journaled root
  // decides. `site` lacks peer ids and the time: they are filled in here. Whatever fails leaves the running
  // generation as it is; once the adoption is durable, is_in_force() is false until a redo() succeeds.
  Result<dataplane::SwapReport> apply(std::string_view file, const dataplane::Site& site,
                                      const std::filesystem::path& trust_anchor);

  // Puts the adopted snapshot into the kernel again, for `site` as it is now. Equal tables are left alone.
  // Fails with errc::disk_went_back when the kernel fences higher than the snapshot. There must be an adopted
  // snapshot.
  Result<dataplane::SwapReport> redo(const dataplane::Site& site);

  // Removes snapshot files other than those of the two newest adoptions.
  Result<> prune();

  // What the kernel serves, as far as this agent put it or found it there.
  const std::optional<Served>& served() const { return served_; }
  bool is_in_force() const;
  // Why the adopted snapshot is not in force; "" when nothing has failed since it was.
  const std::string& obstacle() const { return obstacle_; }
  const StageFailures& failures() const { return failures_; }
  const observe::DurationHistogram& durations() const { return durations_; }

 private:
  Result<dataplane::SwapReport> try_redo(const dataplane::Site& site);
  Result<authority::Root> trusted_root(const std::filesystem::path& trust_anchor) const;
  Result<authority::Candidate> read_adopted() const;
  Result<dataplane::Compiled> compile_for(const authority::Candidate& candidate, dataplane::Site site) const;
  Result<> record(const ledger::Draft& draft);
  Result<dataplane::SwapReport> serve(const authority::Candidate& candidate, dataplane::Compiled&& compiled);
  bool is_adopted(const authority::Candidate& candidate) const;

  // Counts a failure under its stage and hands the result on.
  template <class T>
  Result<T> at(Stage stage, Result<T>&& result) {
    if (!result) failures_.count(stage);
    return std::move(result);
  }

  AdoptionParts parts_;
  std::string mesh_;
  std::optional<Served> served_;
  std::string obstacle_;
  StageFailures failures_;
  observe::DurationHistogram durations_;
};

// The fences that the kernel holds; resources without one are left out.
Result<std::map<ResourceNumber, Epoch>> kernel_fences(const dataplane::Generations& generations);

}  // namespace postern::agent
