// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/utc.h"
#include "wire/fields.h"

namespace postern::ledger {
namespace {

using wire::Fields;
using wire::Json;

constexpr std::array<std::string_view, 3> kCauses{"operator", "timeout", "restart"};

Json root_json(const authority::Root& root) {
  Json keys = Json::array();
  for (const wire::PublicKey& key : root.keys)
    keys.push(key.text());
  return Json::object({{"keys", std::move(keys)}, {"threshold", root.threshold}});
}

Json id_json(const SnapshotId& id) {
  return Json::object({{"hash", to_hex(id.hash)}, {"serial", Json::decimal(id.serial.value)}});
}

Json body_of(const AuthorityFloors& event) {
  Json floors = Json::object();
  for (const auto& [resource, epoch] : event.floors)
    floors.set(resource, Json::decimal(epoch.value));
  Json fences = Json::object();
  for (const auto& [number, epoch] : event.fences)
    fences.set(std::to_string(number.value), Json::decimal(epoch.value));
  return Json::object({{"fences", std::move(fences)}, {"floors", std::move(floors)}});
}

Json body_of(const AuthorityAdopted& event) {
  Json body = id_json(event.id);
  body.set("expires", utc_text(event.expires));
  body.set("issued", utc_text(event.issued));
  body.set("previous", nullptr);
  if (event.previous) {
    Json previous = id_json(event.previous->id);
    previous.set("root", root_json(event.previous->root));
    body.set("previous", std::move(previous));
  }
  body.set("recovered", event.recovered);
  body.set("root", root_json(event.root));
  body.set("unconfirmed_until",
           event.unconfirmed_until ? Json(utc_text(*event.unconfirmed_until)) : Json(nullptr));
  return body;
}

Json body_of(const AuthorityActive& event) {
  Json body = id_json(event.id);
  body.set("generation", Json::decimal(event.generation.value));
  return body;
}

Json body_of(const AuthorityConfirmed& event) {
  return id_json(event.id);
}

Json body_of(const AuthorityReverted& event) {
  Json body = id_json(event.id);
  body.set("cause", word_of(event.cause));
  return body;
}

Json body_of(const AuthorityEquivocated& event) {
  Json body = id_json(event.id);
  body.set("document", event.document.empty() ? Json(nullptr) : Json(event.document));
  body.set("other", to_hex(event.other));
  return body;
}

Json body_of(const TimestampSeen& event) {
  Json body = id_json(event.id);
  body.set("document", event.document);
  body.set("expires", utc_text(event.expires));
  body.set("issued", utc_text(event.issued));
  return body;
}

Hash256 read_hash(Fields& fields, std::string_view key) {
  const auto hash = array_from_hex<32>(fields.text(key));
  if (!hash) fields.reject(key, "expected 64 lower-case hex digits");
  return hash.value_or(Hash256{});
}

SnapshotId read_id(Fields& fields) {
  SnapshotId id;
  id.hash = read_hash(fields, "hash");
  id.serial = Serial(fields.decimal("serial"));
  return id;
}

UtcSeconds read_instant(Fields& fields, std::string_view key) {
  const std::optional<UtcSeconds> instant = parse_utc(fields.text(key));
  if (!instant) fields.reject(key, "expected a UTC instant");
  return instant.value_or(UtcSeconds());
}

authority::Root read_root(Fields& parent) {
  Fields fields(parent.any("root"), parent.path_of("root"));
  authority::Root root;
  for (const Json& element : fields.array("keys")) {
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

std::optional<ResourceNumber> number_of(const std::string& text) {
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return ResourceNumber(value);
}

template <class Take>
void read_epochs(Fields& parent, std::string_view key, Take take) {
  const Json& json = parent.any(key);
  Fields fields(json, parent.path_of(key));
  if (const Json::Object* members = json.as_object()) {
    for (const auto& [name, value] : *members)
      take(fields, name, Epoch(fields.decimal(name)));
  }
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
}

AuthorityEvent read_floors(Fields& fields) {
  AuthorityFloors event;
  read_epochs(fields, "fences", [&event](Fields& within, const std::string& name, Epoch epoch) {
    const std::optional<ResourceNumber> number = number_of(name);
    if (!number) within.reject(name, "is no resource number");
    if (number) event.fences[*number] = epoch;
  });
  read_epochs(fields, "floors",
              [&event](Fields&, const std::string& name, Epoch epoch) { event.floors[name] = epoch; });
  return event;
}

std::optional<Earlier> read_previous(Fields& parent) {
  const Json& json = parent.any("previous");
  if (json.is_null()) return std::nullopt;
  Fields fields(json, parent.path_of("previous"));
  Earlier earlier;
  earlier.id = read_id(fields);
  earlier.root = read_root(fields);
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return earlier;
}

AuthorityEvent read_adopted(Fields& fields) {
  AuthorityAdopted event;
  event.expires = read_instant(fields, "expires");
  event.id = read_id(fields);
  event.issued = read_instant(fields, "issued");
  event.previous = read_previous(fields);
  event.recovered = fields.boolean("recovered");
  event.root = read_root(fields);
  if (!fields.any("unconfirmed_until").is_null())
    event.unconfirmed_until = read_instant(fields, "unconfirmed_until");
  return event;
}

AuthorityEvent read_active(Fields& fields) {
  AuthorityActive event;
  event.generation = Generation(fields.decimal("generation"));
  event.id = read_id(fields);
  return event;
}

AuthorityEvent read_confirmed(Fields& fields) {
  return AuthorityConfirmed{read_id(fields)};
}

AuthorityEvent read_reverted(Fields& fields) {
  AuthorityReverted event;
  const std::string cause = fields.text("cause");
  const auto found = std::find(kCauses.begin(), kCauses.end(), cause);
  if (found == kCauses.end()) fields.reject("cause", "expected operator, timeout or restart");
  if (found != kCauses.end()) event.cause = static_cast<RevertCause>(found - kCauses.begin());
  event.id = read_id(fields);
  return event;
}

AuthorityEvent read_equivocated(Fields& fields) {
  AuthorityEquivocated event;
  if (!fields.any("document").is_null()) event.document = fields.text("document");
  event.id = read_id(fields);
  event.other = read_hash(fields, "other");
  return event;
}

AuthorityEvent read_timestamp_seen(Fields& fields) {
  TimestampSeen event;
  event.document = fields.text("document");
  event.expires = read_instant(fields, "expires");
  event.id = read_id(fields);
  event.issued = read_instant(fields, "issued");
  return event;
}

// In the order of the variant's alternatives.
struct Kind {
  std::string_view name;
  AuthorityEvent (*read)(Fields&);
};
constexpr std::array<Kind, std::variant_size_v<AuthorityEvent>> kKinds{{
    {"AuthorityFloors", read_floors},
    {"AuthorityAdopted", read_adopted},
    {"AuthorityActive", read_active},
    {"AuthorityConfirmed", read_confirmed},
    {"AuthorityReverted", read_reverted},
    {"AuthorityEquivocated", read_equivocated},
    {"TimestampSeen", read_timestamp_seen},
}};

}  // namespace

std::string_view word_of(RevertCause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}

std::vector<std::string> authority_event_kinds() {
  std::vector<std::string> out;
  for (const Kind& kind : kKinds)
    out.emplace_back(kind.name);
  return out;
}

Draft draft_of(const AuthorityEvent& event) {
  return {std::string(kKinds[event.index()].name),
          std::visit([](const auto& body) { return body_of(body); }, event)};
}

Result<std::optional<AuthorityEvent>> read_authority_event(const Event& event) {
  for (const Kind& kind : kKinds) {
    if (kind.name != event.kind) continue;
    Fields fields(event.body, std::string(kind.name));
    AuthorityEvent read = kind.read(fields);
    if (const Result<> done = fields.finish(); !done)
      return fail(errc::event_invalid, done.error().message());
    return std::optional<AuthorityEvent>(std::move(read));
  }
  return std::optional<AuthorityEvent>();
}

}  // namespace postern::ledger
