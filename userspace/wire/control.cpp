// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include <simdjson.h>

#include <algorithm>

#include "wire/fields.h"

namespace postern::wire {
namespace {

constexpr std::int64_t kMaxExit = 255;

// Messages may quote what somebody sent; the canonical form holds valid UTF-8 only.
std::string valid_utf8(std::string text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return text;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return text;
}

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

Error malformed(Error error, std::string_view what) {
  return {errc::control_malformed, std::string(what) + ": " + error.context};
}

}  // namespace

std::string encode_request(const ControlRequest& request) {
  return encode_canonical(Json::object({{"arguments", request.arguments},
                                        {"body_bytes", static_cast<std::int64_t>(request.body_bytes)},
                                        {"command", request.command}})) +
         "\n";
}

Result<ControlRequest> parse_request(std::string_view line) {
  constexpr std::string_view kWhat = "a control request is one line of canonical JSON";
  Result<Json> json = parse_canonical(without_newline(line), kMaxControlLine);
  if (!json) return tl::unexpected(malformed(json.error(), kWhat));
  Fields fields(*json, "request");
  ControlRequest request;
  request.arguments = fields.any("arguments");
  if (fields.ok() && request.arguments.as_object() == nullptr)
    fields.reject("arguments", "expected an object of the command's arguments");
  request.body_bytes = static_cast<std::uint64_t>(fields.integer("body_bytes", 0, kMaxInteger));
  request.command = fields.text("command");
  if (Result<> done = fields.finish(); !done) return tl::unexpected(malformed(done.error(), kWhat));
  return request;
}

std::string encode_answer(const Result<Json>& answer) {
  if (answer) return encode_canonical(Json::object({{"result", *answer}})) + "\n";
  const Error& error = answer.error();
  return encode_canonical(Json::object({{"error", Json::object({{"code", error.code.name},
                                                                {"exit", exit_code(error.code.kind)},
                                                                {"message", valid_utf8(error.context)}})}})) +
         "\n";
}

Result<ControlAnswer> parse_answer(std::string_view line) {
  constexpr std::string_view kWhat = "the agent's answer cannot be read";
  Result<Json> json = parse_canonical(without_newline(line), kMaxControlLine);
  if (!json) return tl::unexpected(malformed(json.error(), kWhat));
  Fields fields(*json, "answer");
  ControlAnswer answer;
  if (const Json* error = fields.optional("error"); error != nullptr) {
    Fields inner(*error, "answer.error");
    answer.error.emplace();
    answer.error->code = inner.text("code");
    answer.error->exit = static_cast<int>(inner.integer("exit", 1, kMaxExit));
    answer.error->message = inner.text("message");
    if (Result<> done = inner.finish(); !done) return tl::unexpected(malformed(done.error(), kWhat));
  } else {
    answer.result = fields.any("result");
  }
  if (Result<> done = fields.finish(); !done) return tl::unexpected(malformed(done.error(), kWhat));
  return answer;
}

}  // namespace postern::wire
