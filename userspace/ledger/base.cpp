// SPDX-License-Identifier: Apache-2.0
#include "ledger/base.h"

#include <algorithm>
#include <charconv>

#include "ledger/errors.h"
#include "wire/base64.h"
#include "wire/fields.h"

namespace postern::ledger {
namespace {

constexpr std::string_view kPrefix = "base-";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxNameBytes = 128;  // of a resource and a grant

// The text around the signed part: everything before it has a fixed length.
constexpr std::string_view kBeforeKey = R"({"key":")";
constexpr std::string_view kBeforeSignature = R"(","sig":")";
constexpr std::string_view kBeforeSigned = R"(","signed":)";
constexpr std::size_t kKeyChars = 44;
constexpr std::size_t kSignatureChars = 88;
constexpr std::size_t kKeyAt = kBeforeKey.size();
constexpr std::size_t kSignatureAt = kKeyAt + kKeyChars + kBeforeSignature.size();
constexpr std::size_t kSignedAt = kSignatureAt + kSignatureChars + kBeforeSigned.size();

wire::Json streams_json(const BaseState& state) {
  wire::Json streams = wire::Json::array();
  for (const auto& [id, head] : state.streams) {
    streams.push(wire::Json::object({{"hash", to_hex(head.hash)},
                                     {"key", head.key.text()},
                                     {"lamport", wire::Json::decimal(head.lamport.value)},
                                     {"seq", wire::Json::decimal(head.seq.value)},
                                     {"stream", to_hex(id)}}));
  }
  return streams;
}

wire::Json findings_json(const BaseState& state) {
  wire::Json findings = wire::Json::array();
  for (const Finding& finding : state.findings) {
    findings.push(wire::Json::object({{"class", finding.condition},
                                      {"first_unproven", wire::Json::decimal(finding.first_unproven.value)},
                                      {"given_up", finding.given_up},
                                      {"kept", wire::Json::decimal(finding.kept)},
                                      {"lseq", wire::Json::decimal(finding.lseq.value)}}));
  }
  return findings;
}

wire::Json gaps_json(const BaseState& state) {
  wire::Json gaps = wire::Json::array();
  for (const Gap& gap : state.gaps) {
    gaps.push(wire::Json::object({{"first", wire::Json::decimal(gap.first.value)},
                                  {"last", wire::Json::decimal(gap.last.value)},
                                  {"open", gap.open}}));
  }
  return gaps;
}

wire::Json events_json(const BaseState& state) {
  wire::Json events = wire::Json::array();
  for (const KeptEvent& kept : state.events) {
    events.push(wire::Json::object({{"event", kept.payload},
                                    {"hash", to_hex(kept.hash)},
                                    {"lseq", wire::Json::decimal(kept.lseq.value)}}));
  }
  return events;
}

std::string signed_text(const Base& base) {
  wire::Json floors = wire::Json::object();
  for (const auto& [resource, epoch] : base.state.floors)
    floors.set(resource, wire::Json::decimal(epoch.value));
  wire::Json spend = wire::Json::object();
  for (const auto& [grant, bytes] : base.state.spend)
    spend.set(grant, wire::Json::decimal(bytes));
  return wire::encode_canonical(wire::Json::object({
      {"claims", base.state.claims},
      {"events", events_json(base.state)},
      {"findings", findings_json(base.state)},
      {"floors", std::move(floors)},
      {"gaps", gaps_json(base.state)},
      {"hash", to_hex(base.hash)},
      {"journal", to_hex(base.journal)},
      {"lseq", wire::Json::decimal(base.lseq.value)},
      {"made_ms", base.made_ms},
      {"min_reader", kVersion},
      {"number", wire::Json::decimal(base.number)},
      {"spend", std::move(spend)},
      {"streams", streams_json(base.state)},
      {"v", kVersion},
  }));
}

template <std::size_t N>
std::array<std::uint8_t, N> read_hex(wire::Fields& fields, std::string_view key) {
  const auto bytes = array_from_hex<N>(fields.text(key));
  if (!bytes) fields.reject(key, "expected " + std::to_string(2 * N) + " lower-case hex digits");
  return bytes.value_or(std::array<std::uint8_t, N>{});
}

// Calls `read` with the fields of each element of the array `key`.
template <class Read>
void for_each(wire::Fields& parent, std::string_view key, const Read& read) {
  std::size_t index = 0;
  for (const wire::Json& element : parent.array(key)) {
    wire::Fields fields(element, parent, key, index++);
    read(fields);
    if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  }
}

// Members are names, values decimals.
template <class Value>
std::map<std::string, Value> read_counts(wire::Fields& parent, std::string_view key) {
  std::map<std::string, Value> counts;
  const wire::Json& object = parent.any(key);
  wire::Fields fields(object, parent, key);
  if (const wire::Json::Object* members = object.as_object()) {
    for (const auto& [name, value] : *members) {
      if (name.size() > kMaxNameBytes) fields.reject(name, "expected a name of at most 128 bytes");
      counts.emplace(name, Value(fields.decimal(name)));
    }
  }
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return counts;
}

void read_events(wire::Fields& fields, BaseState& state) {
  for_each(fields, "events", [&state](wire::Fields& event) {
    KeptEvent kept;
    kept.payload = event.text("event");
    kept.hash = read_hex<32>(event, "hash");
    kept.lseq = Lseq(event.decimal("lseq"));
    if (!state.events.empty() && kept.lseq <= state.events.back().lseq)
      event.reject("lseq", "expected to rise");
    if (kept.payload.empty() || kept.payload.size() > kMaxEventBytes)
      event.reject("event", "of no event's size");
    state.events.push_back(std::move(kept));
  });
}

void read_findings(wire::Fields& fields, BaseState& state) {
  for_each(fields, "findings", [&state](wire::Fields& finding) {
    Finding found;
    found.condition = finding.text("class");
    found.first_unproven = Lseq(finding.decimal("first_unproven"));
    found.given_up = finding.boolean("given_up");
    found.kept = finding.decimal("kept");
    found.lseq = Lseq(finding.decimal("lseq"));
    state.findings.push_back(std::move(found));
  });
}

void read_gaps(wire::Fields& fields, BaseState& state) {
  for_each(fields, "gaps", [&state](wire::Fields& gap) {
    Gap read;
    read.first = Lseq(gap.decimal("first"));
    read.last = Lseq(gap.decimal("last"));
    read.open = gap.boolean("open");
    const bool apart = state.gaps.empty() || state.gaps.back().last < read.first;
    if (read.last < read.first || !apart)
      gap.reject("first", "expected gaps in order, apart from each other");
    state.gaps.push_back(read);
  });
}

void read_streams(wire::Fields& fields, BaseState& state) {
  for_each(fields, "streams", [&state](wire::Fields& stream) {
    StreamHead head;
    head.hash = read_hex<32>(stream, "hash");
    const std::optional<wire::PublicKey> key = wire::PublicKey::parse(stream.text("key"));
    if (!key) stream.reject("key", "expected an Ed25519 public key in base64");
    head.key = key.value_or(wire::PublicKey{});
    head.lamport = Lamport(stream.decimal("lamport"));
    head.seq = Seq(stream.decimal("seq"));
    const auto id = read_hex<16>(stream, "stream");
    if (!state.streams.emplace(id, head).second) stream.reject("stream", "stands here twice");
  });
}

Result<Base> parse_signed(std::string_view text) {
  const Result<wire::Json> json = wire::parse_canonical(text, kMaxBaseBytes);
  if (!json) return fail(errc::base_invalid, json.error().message());
  const wire::Json* min_reader = json->find("min_reader");
  const std::int64_t* needed = min_reader != nullptr ? min_reader->as_integer() : nullptr;
  if (needed != nullptr && *needed > kVersion) {
    return fail(errc::newer_format, "the base needs a reader of version " + std::to_string(*needed) +
                                        ", this one is " + std::to_string(kVersion) + "; upgrade Postern");
  }
  wire::Fields fields(*json, "base");
  Base base;
  base.state.claims = fields.any("claims");
  if (base.state.claims.as_array() == nullptr) fields.reject("claims", "expected an array");
  read_events(fields, base.state);
  read_findings(fields, base.state);
  base.state.floors = read_counts<Epoch>(fields, "floors");
  read_gaps(fields, base.state);
  base.hash = read_hex<32>(fields, "hash");
  base.journal = read_hex<16>(fields, "journal");
  base.lseq = Lseq(fields.decimal("lseq"));
  base.made_ms = fields.integer("made_ms", 0, wire::kMaxInteger);
  fields.integer("min_reader", kVersion, kVersion);
  base.number = fields.decimal("number");
  base.state.spend = read_counts<std::uint64_t>(fields, "spend");
  read_streams(fields, base.state);
  fields.integer("v", kVersion, kVersion);
  if (!base.state.events.empty() && base.state.events.back().lseq > base.lseq) {
    fields.reject("events", "expected none above the base's own lseq");
  }
  if (const Result<> done = fields.finish(); !done) return fail(errc::base_invalid, done.error().message());
  return base;
}

}  // namespace

std::string seal_base(const Base& base, const wire::SecretKey& key) {
  const std::string text = signed_text(base);
  std::string out(kBeforeKey);
  out += key.public_key().text();
  out += kBeforeSignature;
  out += wire::base64_encode(key.sign(wire::domain::base, as_bytes(text)));
  out += kBeforeSigned;
  out += text;
  out += '}';
  return out;
}

Result<Base> open_base(std::string_view text) {
  const bool framed =
      text.size() > kSignedAt && text.size() <= kMaxBaseBytes && text.starts_with(kBeforeKey) &&
      text.substr(kKeyAt + kKeyChars).starts_with(kBeforeSignature) &&
      text.substr(kSignatureAt + kSignatureChars).starts_with(kBeforeSigned) && text.ends_with('}');
  if (!framed) return fail(errc::base_invalid, "is no base: it is empty, cut short or something else");
  const std::optional<wire::PublicKey> key = wire::PublicKey::parse(text.substr(kKeyAt, kKeyChars));
  const std::optional<Bytes> bytes = wire::base64_decode(text.substr(kSignatureAt, kSignatureChars));
  wire::Signature signature{};
  const bool readable = key && bytes && bytes->size() == signature.size();
  if (readable) std::copy(bytes->begin(), bytes->end(), signature.begin());
  const std::string_view part = text.substr(kSignedAt, text.size() - kSignedAt - 1);
  if (!readable || !wire::verify(*key, wire::domain::base, as_bytes(part), signature)) {
    return fail(errc::base_invalid, "its signature is not made by the key that it names over what it says");
  }
  Result<Base> base = parse_signed(part);
  if (base) base->key = *key;
  return base;
}

Result<> refuse_foreign_base(const Base& base, const wire::PublicKey& node) {
  if (base.key == node) return {};
  return fail(
      errc::foreign_base,
      base_name(base.number) + " is signed by " + base.key.text() + ", the key of this node is " +
          node.text() +
          "; nothing was changed; bring back the node.key that this journal was written with, or, if "
          "the base is not this node's, move it away: the one before it and its segments say the same");
}

std::string base_name(std::uint64_t number) {
  return std::string(kPrefix) + std::to_string(number);
}

std::optional<std::uint64_t> base_number(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view digits = name.substr(kPrefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || number == 0 || base_name(number) != name) return std::nullopt;
  return number;
}

}  // namespace postern::ledger
