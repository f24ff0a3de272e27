// SPDX-License-Identifier: Apache-2.0
// Reading canonical JSON. simdjson checks syntax and UTF-8 and yields values; what it lets pass that the
// canonical form forbids (spaces, a second spelling of a number or string, another order of keys, lone
// surrogates) shows when the values are spelled again and compared with the text, which also finds the place.
// Only duplicate keys, numbers and depth need a look of their own.
#include <simdjson.h>

#include <exception>

#include "core/bytes.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace postern::wire {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kIntegersOnly =
    "expected an integer within 2^53-1 in magnitude; larger counts are written as decimal strings";

// Compares what is written with the text that it should be.
class MatchSink {
 public:
  explicit MatchSink(std::string_view expected) : expected_(expected) {}

  void put(std::string_view piece) {
    if (differs_) return;
    const std::string_view there = expected_.substr(at_, piece.size());
    if (there == piece) {
      at_ += piece.size();
      return;
    }
    differs_ = true;
    while (at_ < expected_.size() && !piece.empty() && expected_[at_] == piece.front()) {
      piece.remove_prefix(1);
      ++at_;
    }
    wanted_ = piece.empty() ? '\0' : piece.front();
  }

  bool matches() const { return !differs_ && at_ == expected_.size(); }
  std::size_t offset() const { return at_; }
  std::string complaint() const {
    std::string out = "the text departs from canonical JSON at byte " + std::to_string(at_);
    if (!differs_) return out + ": nothing may follow the document";
    if (at_ == expected_.size()) return out + ": it ends too early";
    return out + ": expected " + spelled(wanted_) + ", found " + spelled(expected_[at_]);
  }

 private:
  static std::string spelled(char c) {
    if (c > 0x20 && c < 0x7f) return std::string("'") + c + "'";
    const std::uint8_t byte = static_cast<std::uint8_t>(c);
    return "byte 0x" + to_hex({&byte, 1});
  }

  std::string_view expected_;
  std::size_t at_ = 0;
  char wanted_ = '\0';
  bool differs_ = false;
};

// `depth` counts the arrays and objects around the element.
Result<Json> convert(const dom::element& element, std::size_t depth);

Result<Json> convert_array(const dom::array& source, std::size_t depth) {
  Json::Array out;
  out.reserve(source.size());
  for (const dom::element element : source) {
    Result<Json> value = convert(element, depth + 1);
    if (!value) return pass_on(std::move(value), "[" + std::to_string(out.size()) + "]");
    out.push_back(std::move(*value));
  }
  return Json(std::move(out));
}

Result<Json> convert_object(const dom::object& source, std::size_t depth) {
  Json out = Json::object();
  Json::Object& members = *out.as_object();
  members.reserve(source.size());
  for (const dom::key_value_pair member : source) {
    Result<Json> value = convert(member.value, depth + 1);
    if (!value) return pass_on(std::move(value), "\"" + std::string(member.key.substr(0, 64)) + "\"");
    members.emplace_back(std::string(member.key), std::move(*value));
  }
  return out;
}

Result<Json> convert(const dom::element& element, std::size_t depth) {
  const bool nests = element.is_array() || element.is_object();
  if (nests && depth == kMaxDepth) {
    return fail(errc::json_depth, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      return Json();
    case dom::element_type::BOOL:
      return Json(element.get_bool().value_unsafe());
    case dom::element_type::INT64: {
      const std::int64_t number = element.get_int64().value_unsafe();
      if (number > kMaxInteger || number < -kMaxInteger) {
        return fail(errc::json_number, "found " + std::to_string(number) + ", " + std::string(kIntegersOnly));
      }
      return Json(number);
    }
    case dom::element_type::UINT64:
      return fail(errc::json_number, "found " + std::to_string(element.get_uint64().value_unsafe()) + ", " +
                                         std::string(kIntegersOnly));
    case dom::element_type::DOUBLE:
      return fail(errc::json_number, "found a fraction or an exponent, " + std::string(kIntegersOnly));
    case dom::element_type::STRING:
      return Json(element.get_string().value_unsafe());
    case dom::element_type::ARRAY:
      return convert_array(element.get_array().value_unsafe(), depth);
    case dom::element_type::OBJECT:
      return convert_object(element.get_object().value_unsafe(), depth);
  }
  return fail(errc::json_syntax, "a value of no known type");
}

tl::unexpected<Error> syntax_error(simdjson::error_code error) {
  switch (error) {
    case simdjson::DEPTH_ERROR:
      return fail(errc::json_depth, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    case simdjson::NUMBER_ERROR:
      return fail(errc::json_number,
                  "a number that is malformed or out of range, " + std::string(kIntegersOnly));
    case simdjson::CAPACITY:
      return fail(errc::json_too_large, "the document is larger than the parser takes");
    default:
      return fail(errc::json_syntax, std::string("no valid JSON: ") + simdjson::error_message(error));
  }
}

Result<Json> parse_text(std::string_view text) {
  dom::parser parser;
  if (const auto error = parser.allocate(text.size(), kMaxDepth + 1); error != simdjson::SUCCESS) {
    return syntax_error(error);
  }
  dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root); error != simdjson::SUCCESS) {
    return syntax_error(error);
  }
  return convert(root, 0);
}

}  // namespace

Result<Json> parse_canonical(std::string_view text, std::size_t limit_bytes) try {
  if (text.size() > limit_bytes) {
    return fail(errc::json_too_large, "the document has " + std::to_string(text.size()) +
                                          " bytes, the limit is " + std::to_string(limit_bytes));
  }
  Result<Json> value = parse_text(text);
  if (!value) return value;
  JsonText<MatchSink> again{MatchSink(text)};
  again.write(*value);
  if (again.duplicate_key() != nullptr) {
    return fail(errc::json_duplicate_key, "the key \"" + again.duplicate_key()->substr(0, 64) +
                                              "\" stands twice in one object, near byte " +
                                              std::to_string(again.sink().offset()));
  }
  if (!again.sink().matches()) return fail(errc::json_not_canonical, again.sink().complaint());
  return value;
} catch (const std::exception& e) {
  return fail(errc::json_syntax, std::string("no valid JSON: ") + e.what());
}

}  // namespace postern::wire
