// SPDX-License-Identifier: Apache-2.0
#include "agent/explainer.h"

#include <algorithm>

#include "agent/asked_packet.h"
#include "agent/errors.h"
#include "agent/explain_report.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

Result<const InterfaceState*> interface_of(const Gateway& gateway, const std::string& name) {
  std::string known;
  for (const InterfaceState& state : gateway.interfaces().states()) {
    if (state.configured.name == name && state.ifindex) return &state;
    known += (known.empty() ? "" : ", ") + state.configured.name;
  }
  return fail(errc::control_bad_argument,
              "\"" + name + "\" is no interface that this gateway serves now; it has " + known);
}

}  // namespace

Names names_of(const Gateway& gateway) {
  const std::optional<Served>& served = gateway.adoption().served();
  std::map<std::uint32_t, std::string> interfaces;
  for (const InterfaceState& state : gateway.interfaces().states())
    if (state.ifindex) interfaces.emplace(state.ifindex->value, state.configured.name);
  for (const InterfaceState& state : gateway.interfaces().states())
    if (state.carrier) interfaces.emplace(state.carrier->ifindex.value, state.wire);
  static const dataplane::Legend kNone;
  return {served ? served->legend : kNone, gateway.config().gateway, std::move(interfaces)};
}

Result<> Explainer::know_tables() {
  const dataplane::Generations& generations = *gateway_->foundation().generations;
  const Generation active = generations.active();
  if (known_ && known_->generation == active) return {};
  known_.reset();
  if (active == Generation()) {
    known_.emplace();
    return {};
  }
  Result<dataplane::Tables> tables = generations.read_active();
  if (!tables) return pass_on(std::move(tables));
  known_ = Known{active, std::move(*tables)};
  return {};
}

Result<wire::Json> Explainer::explain(const wire::Json& arguments, std::string_view frame) {
  wire::Fields fields(arguments, "arguments");
  const std::string interface = fields.text("interface");
  const wire::Json* packet = fields.optional("packet");
  if (fields.ok() && (packet == nullptr) == frame.empty())
    fields.reject("packet", "expected either a packet's fields or a frame as body");
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  Result<const InterfaceState*> arrival = interface_of(*gateway_, interface);
  if (!arrival) return pass_on(std::move(arrival));
  if (Result<> known = know_tables(); !known) return pass_on(std::move(known));
  const Names names = names_of(*gateway_);
  const config::Role role = (*arrival)->configured.role;
  Bytes bytes(frame.begin(), frame.end());
  if (packet != nullptr) {
    Result<AskedPacket> asked = read_asked_packet(*packet);
    if (!asked) return pass_on(std::move(asked));
    const std::uint16_t vlan = (*arrival)->carrier ? (*arrival)->carrier->vlan : 0;
    Result<Bytes> made = frame_of(*asked, {role, (*arrival)->mac, vlan}, known_->tables, names.legend());
    if (!made) return pass_on(std::move(made));
    bytes = std::move(*made);
  }
  if (dry_ == nullptr) {
    Result<std::unique_ptr<dataplane::DryRun>> dry = dataplane::DryRun::open(*gateway_->foundation().plane);
    if (!dry) return pass_on(std::move(dry));
    dry_ = std::move(*dry);
  }
  const IfIndex wire = (*arrival)->carrier ? (*arrival)->carrier->ifindex : *(*arrival)->ifindex;
  const Result<dataplane::DryResult> result = dry_->run(role, wire, bytes);
  if (!result) return fail(result.error().code, result.error().context);
  return explain_report(*result, known_->tables, names, gateway_->clock().boot_ns());
}

}  // namespace postern::agent
