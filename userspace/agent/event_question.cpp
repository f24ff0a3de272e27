// SPDX-License-Identifier: Apache-2.0
#include "agent/event_question.h"

#include <algorithm>
#include <optional>

#include "agent/errors.h"
#include "ledger/cursor_text.h"
#include "ledger/event_kinds.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

using wire::Json;

std::string listed(std::string list, std::string_view word) {
  return list.append(list.empty() ? "" : ", ").append(word);
}

void read_kinds(wire::Fields& fields, std::vector<std::string>& kinds) {
  if (fields.optional("kinds") == nullptr) return;
  for (const Json& wanted : fields.array("kinds")) {
    const std::string* kind = wanted.as_string();
    if (kind == nullptr || !ledger::is_known_kind(*kind)) {
      std::string known;
      for (const std::string_view name : ledger::kEventKinds)
        known = listed(std::move(known), name);
      return fields.reject("kinds", "expected kinds of events: " + known);
    }
    kinds.push_back(*kind);
  }
}

void read_authors(wire::Fields& fields, const std::map<wire::PublicKey, std::string>& names,
                  std::vector<wire::PublicKey>& authors) {
  if (fields.optional("authors") == nullptr) return;
  for (const Json& wanted : fields.array("authors")) {
    const std::string* text = wanted.as_string();
    const std::size_t before = authors.size();
    std::string known;
    for (const auto& [key, name] : names) {
      if (text != nullptr && *text == name) authors.push_back(key);
      known = listed(std::move(known), name);
    }
    const auto key = text != nullptr ? wire::PublicKey::parse(*text) : std::nullopt;
    if (key) authors.push_back(*key);
    if (authors.size() != before) continue;
    return fields.reject("authors", "expected gateways of the snapshot that is served (" +
                                        (known.empty() ? "none" : known) + "), or node keys in base64");
  }
}

void read_stream(wire::Fields& fields, std::optional<Id128>& stream) {
  if (fields.optional("stream") == nullptr) return;
  stream = array_from_hex<16>(fields.text("stream"));
  if (!stream) fields.reject("stream", "expected a stream's id, 32 lower-case hex digits");
}

std::optional<std::int64_t> read_bound(wire::Fields& fields, std::string_view key) {
  if (fields.optional(key) == nullptr) return std::nullopt;
  return fields.integer(key, 0, wire::kMaxInteger);
}

std::optional<Lamport> read_lamport(wire::Fields& fields, std::string_view key) {
  const std::optional<std::int64_t> bound = read_bound(fields, key);
  return bound ? std::optional(Lamport(static_cast<std::uint64_t>(*bound))) : std::nullopt;
}

}  // namespace

Result<EventQuestion> read_event_question(const wire::Json& arguments,
                                          const std::map<wire::PublicKey, std::string>& names) {
  wire::Fields fields(arguments, "arguments");
  EventQuestion question;
  if (fields.optional("limit") != nullptr)
    question.limit = static_cast<std::size_t>(fields.integer("limit", 1, kMaxEventsAPage));
  if (fields.optional("cursor") != nullptr) {
    Result<ledger::Cursor> cursor = ledger::parse_cursor(fields.text("cursor"));
    if (!cursor && fields.ok()) return pass_on(std::move(cursor));
    if (cursor) question.from = *cursor;
  }
  ledger::EventFilter& filter = question.filter;
  read_kinds(fields, filter.kinds);
  read_authors(fields, names, filter.authors);
  read_stream(fields, filter.stream);
  filter.since = read_lamport(fields, "since");
  filter.until = read_lamport(fields, "until");
  filter.since_ms = read_bound(fields, "since_ms");
  filter.until_ms = read_bound(fields, "until_ms");
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  return question;
}

}  // namespace postern::agent
