// SPDX-License-Identifier: Apache-2.0
// What the control socket can be asked (SPEC 7.2).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "agent/claims_commands.h"
#include "agent/event_followers.h"
#include "agent/explainer.h"
#include "agent/gateway.h"
#include "agent/watchers.h"
#include "core/result.h"
#include "wire/control.h"
#include "wire/json.h"

namespace postern::agent {

// Whether a command changes anything; those need more rights. Unknown ones do not: they are refused anyway.
bool changes_state(std::string_view command);
// Whether a request is for administrators alone: it changes something, or shows what packets carry.
bool needs_administrator(const wire::ControlRequest& request);
// Whether a command is an order (orders.h), to be run as one.
bool is_order(std::string_view command);
// Whether lines follow the answer, until the caller goes.
bool streams(std::string_view command);
// Whether a command takes a body.
bool takes_body(std::string_view command);

class ControlCommands {
 public:
  // `gateway` must outlive this.
  ControlCommands(Gateway& gateway, std::uint64_t started_monotonic_ns)
      : gateway_(&gateway),
        started_monotonic_ns_(started_monotonic_ns),
        explainer_(gateway),
        watchers_(gateway),
        claims_(gateway),
        event_followers_(*gateway.foundation().lineage.journal) {}

  // On the loop's thread, or as an order.
  Result<wire::Json> run(const wire::ControlRequest& request, std::string_view body,
                         const std::shared_ptr<Outlet>& outlet);
  // Now and then: gives back what was kept for questions.
  void forget() { explainer_.forget(); }
  // To be called before the first run(); must outlive this.
  void use(GatewayClaims& claims) { claims_.use(claims); }
  Watchers& watchers() { return watchers_; }
  EventFollowers& event_followers() { return event_followers_; }

 private:
  Result<wire::Json> status();
  Result<wire::Json> doctor();
  Result<wire::Json> peers() const;
  Result<wire::Json> owners(const wire::Json& arguments) const;
  Result<wire::Json> drops() const;
  Result<wire::Json> apply(const wire::Json& arguments, std::string_view body);
  Result<wire::Json> recover(std::string_view body);
  Result<wire::Json> confirm();
  Result<wire::Json> roll_back();
  Result<wire::Json> timestamp(std::string_view body);
  Result<wire::Json> applied(const dataplane::SwapReport& swap) const;
  Result<wire::Json> on_loop(const std::function<Result<wire::Json>()>& turn) const;
  Result<wire::Json> rules() const;
  Result<wire::Json> reload();
  Result<wire::Json> events(const wire::Json& arguments) const;

  Gateway* gateway_;
  std::uint64_t started_monotonic_ns_;
  Explainer explainer_;
  Watchers watchers_;
  ClaimsCommands claims_;
  EventFollowers event_followers_;
};

}  // namespace postern::agent
