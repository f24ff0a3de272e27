// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "agent/gateway.h"
#include "agent/names.h"
#include "core/result.h"
#include "dataplane/dry_run.h"
#include "wire/json.h"

namespace postern::agent {

// Answers `explain` (SPEC 1.17). Loads the dry programs at the first question and keeps, until forget(), the
// tables of the generation that it was asked about.
class Explainer {
 public:
  // `gateway` must outlive this.
  explicit Explainer(Gateway& gateway) : gateway_(&gateway) {}

  // Arguments: {"interface", "packet"} or {"interface"} with the frame as body.
  Result<wire::Json> explain(const wire::Json& arguments, std::string_view frame);
  // Gives memory back when nobody asks any more.
  void forget() { known_.reset(); }

 private:
  struct Known {
    Generation generation;
    dataplane::Tables tables;
  };
  Result<> know_tables();

  Gateway* gateway_;
  std::unique_ptr<dataplane::DryRun> dry_;
  std::optional<Known> known_;
};

// Of what the gateway serves now; good until it serves something else.
Names names_of(const Gateway& gateway);

}  // namespace postern::agent
