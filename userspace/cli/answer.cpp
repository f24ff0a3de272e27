// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <cstddef>

namespace postern::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the valid UTF-8 sequence at the front, 0 if there is none (Unicode, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

}  // namespace

tl::unexpected<Refusal> refuse(const Error& error) {
  return tl::unexpected<Refusal>(
      Refusal{std::string(error.code.name), exit_code(error.code.kind), error.context});
}

tl::unexpected<Refusal> refuse(ErrorCode code, std::string context) {
  return refuse(Error{code, std::move(context)});
}

std::string refusal_json(const Refusal& refusal) {
  wire::Json error = wire::Json::object({{"code", json_text(refusal.code)},
                                         {"exit", wire::Json(refusal.exit)},
                                         {"message", json_text(refusal.message)}});
  return with_schema(wire::Json::object({{"error", std::move(error)}}), "error");
}

wire::Json json_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    out += length == 0 ? kReplacement : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return wire::Json(std::move(out));
}

std::string with_schema(wire::Json object, std::string_view name) {
  object.set("schema", wire::Json("postern/" + std::string(name) + "/v1"));
  return wire::encode_canonical(object);
}

}  // namespace postern::cli
