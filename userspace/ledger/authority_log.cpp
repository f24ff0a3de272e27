// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_log.h"

#include <algorithm>
#include <utility>

#include "wire/fields.h"

namespace postern::ledger {
namespace {

constexpr std::string_view kAdopted = "AuthorityAdopted";
constexpr std::string_view kActive = "AuthorityActive";

wire::Json root_json(const authority::Root& root) {
  wire::Json keys = wire::Json::array();
  for (const wire::PublicKey& key : root.keys)
    keys.push(key.text());
  return wire::Json::object({{"keys", std::move(keys)}, {"threshold", root.threshold}});
}

Hash256 read_hash(wire::Fields& fields) {
  const auto hash = array_from_hex<32>(fields.text("hash"));
  if (!hash) fields.reject("hash", "expected 64 lower-case hex digits");
  return hash.value_or(Hash256{});
}

authority::Root read_root(wire::Fields& parent) {
  wire::Fields fields(parent.any("root"), parent.path_of("root"));
  authority::Root root;
  for (const wire::Json& element : fields.array("keys")) {
    const std::string* text = element.as_string();
    const std::optional<wire::PublicKey> key = text != nullptr ? wire::PublicKey::parse(*text) : std::nullopt;
    if (!key) fields.reject("keys", "expected Ed25519 public keys in base64");
    if (key) root.keys.push_back(*key);
  }
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(root.keys.size(), 1));
  root.threshold = static_cast<std::uint32_t>(fields.integer("threshold", 1, most));
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return root;
}

std::map<std::string, Epoch> read_floors(wire::Fields& parent) {
  std::map<std::string, Epoch> floors;
  const wire::Json& json = parent.any("floors");
  wire::Fields fields(json, parent.path_of("floors"));
  if (const wire::Json::Object* members = json.as_object()) {
    for (const auto& [resource, epoch] : *members)
      floors[resource] = Epoch(fields.decimal(resource));
  }
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return floors;
}

Result<> apply_adopted(AuthorityState& state, const wire::Json& body) {
  wire::Fields fields(body, "AuthorityAdopted");
  authority::Adopted adopted;
  adopted.floors = read_floors(fields);
  adopted.hash = read_hash(fields);
  adopted.root = read_root(fields);
  adopted.serial = Serial(fields.decimal("serial"));
  if (const Result<> done = fields.finish(); !done) return fail(errc::event_invalid, done.error().message());
  // Adopting the same one again is a redo, and must not push out the one before it.
  const bool again = state.adopted && state.adopted->hash == adopted.hash;
  if (!again) state.previous = std::exchange(state.adopted, std::move(adopted));
  state.active = false;
  return {};
}

Result<> apply_active(AuthorityState& state, const wire::Json& body) {
  wire::Fields fields(body, "AuthorityActive");
  const Generation generation(fields.decimal("generation"));
  const Hash256 hash = read_hash(fields);
  const Serial serial(fields.decimal("serial"));
  if (const Result<> done = fields.finish(); !done) return fail(errc::event_invalid, done.error().message());
  state.generation = std::max(state.generation, generation);
  if (state.adopted && state.adopted->hash == hash && state.adopted->serial == serial) state.active = true;
  return {};
}

}  // namespace

Draft authority_adopted(const authority::Adopted& adopted) {
  wire::Json floors = wire::Json::object();
  for (const auto& [resource, epoch] : adopted.floors)
    floors.set(resource, wire::Json::decimal(epoch.value));
  return {std::string(kAdopted), wire::Json::object({{"floors", std::move(floors)},
                                                     {"hash", to_hex(adopted.hash)},
                                                     {"root", root_json(adopted.root)},
                                                     {"serial", wire::Json::decimal(adopted.serial.value)}})};
}

Draft authority_active(Serial serial, const Hash256& hash, Generation generation) {
  return {std::string(kActive), wire::Json::object({{"generation", wire::Json::decimal(generation.value)},
                                                    {"hash", to_hex(hash)},
                                                    {"serial", wire::Json::decimal(serial.value)}})};
}

std::string snapshot_file_name(Serial serial, const Hash256& hash) {
  return "auth-" + std::to_string(serial.value) + "-" + to_hex(hash);
}

Result<> apply_event(AuthorityState& state, const Event& event) {
  if (event.kind == kAdopted) return apply_adopted(state, event.body);
  if (event.kind == kActive) return apply_active(state, event.body);
  return {};
}

}  // namespace postern::ledger
