// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ledger/event.h"
#include "ledger/record.h"
#include "wire/json.h"

namespace postern::cli {

// What a look at every event of a journal shows beyond its records: signatures, and streams that fork.
class StreamAudit {
 public:
  explicit StreamAudit(std::string mesh) : mesh_(std::move(mesh)) {}

  // Fails on an event that is not what its key signed, or that is another mesh's.
  Result<> add(const ledger::Record& record);

  std::size_t streams() const { return heads_.size(); }
  bool forked() const { return !forks_.empty(); }
  // The class of the last OPEN record; "clean" without one.
  const std::string& last_recovery() const { return last_recovery_; }
  wire::Json forks_json() const;
  std::string fork_lines() const;

 private:
  struct Head {
    Seq seq;
    Hash256 hash{};
  };
  struct Fork {
    Id128 stream{};
    Seq seq;
  };

  std::string mesh_;
  std::map<Id128, Head> heads_;
  std::vector<Fork> forks_;
  std::string last_recovery_ = "clean";
};

}  // namespace postern::cli
