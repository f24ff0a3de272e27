// SPDX-License-Identifier: Apache-2.0
// Looks at what peers sent before it is offered to the replica: parses, checks signatures (SPEC 9.3). The
// dearest part of sync, so it is done beside the loop (verify_pool.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/replica.h"

namespace postern::sync {

struct StepPart {
  Seq to;
  bool first = false;
  bool last = false;
};

struct VerifyJob {
  Id128 stream{};
  Seq first;
  std::vector<std::string> sealed;  // said to be the stream's events from `first` on
  std::optional<StepPart> step{};   // likewise, but with holes
};

struct Verdict {
  std::vector<ledger::VerifiedEvent> good;  // up to the first that is not
  bool forged = false;  // a wrong signature, or another event than was said: no gateway passes that on
  bool unread = false;  // no event as this version knows them
  std::string why;      // when it is one of these
  std::optional<StepPart> step;  // the job's
};

Verdict verify(const VerifyJob& job);

class Verifier {
 public:
  using Done = std::function<void(Verdict)>;
  virtual ~Verifier() = default;
  // `done` is called on the caller's thread, perhaps before this returns, at most once.
  virtual void verify(VerifyJob job, Done done) = 0;
};

// At once. For tests and simulations.
class DirectVerifier final : public Verifier {
 public:
  void verify(VerifyJob job, Done done) override { done(sync::verify(job)); }
};

}  // namespace postern::sync
