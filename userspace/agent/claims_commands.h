// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "agent/gateway_claims.h"
#include "core/result.h"
#include "wire/json.h"

namespace postern::agent {

// What can be asked and ordered about claims over the control socket (SPEC 7.2).
class ClaimsCommands {
 public:
  // `gateway` must outlive this.
  explicit ClaimsCommands(Gateway& gateway) : gateway_(&gateway) {}

  // To be called before run(); must outlive this.
  void use(GatewayClaims& claims) { claims_ = &claims; }

  static bool knows(std::string_view command);
  Result<wire::Json> run(std::string_view command, const wire::Json& arguments, std::string_view body);

 private:
  Result<wire::Json> show(const wire::Json& arguments) const;
  Result<wire::Json> history(const wire::Json& arguments);
  Result<wire::Json> order(std::string_view command, const wire::Json& arguments, std::string_view body);

  Gateway* gateway_;
  GatewayClaims* claims_ = nullptr;
};

}  // namespace postern::agent
