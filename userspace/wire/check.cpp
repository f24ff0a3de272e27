// SPDX-License-Identifier: Apache-2.0
#include "wire/check.h"

#include <utility>

namespace postern::wire {
namespace {

constexpr CheckStatus kStatuses[] = {CheckStatus::ok, CheckStatus::warn, CheckStatus::fail};

std::string text_of(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  const std::string* text = member != nullptr ? member->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

}  // namespace

std::string_view check_status_name(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok:
      return "ok";
    case CheckStatus::warn:
      return "warn";
    case CheckStatus::fail:
      break;
  }
  return "fail";
}

Check check_ok(std::string name, std::string found) {
  return {std::move(name), CheckStatus::ok, std::move(found), ""};
}

Check check_warn(std::string name, std::string found, std::string remedy) {
  return {std::move(name), CheckStatus::warn, std::move(found), std::move(remedy)};
}

Check check_fail(std::string name, std::string found, std::string remedy) {
  return {std::move(name), CheckStatus::fail, std::move(found), std::move(remedy)};
}

Json check_json(const Check& check) {
  return Json::object({{"found", check.found},
                       {"name", check.name},
                       {"remedy", check.remedy},
                       {"status", check_status_name(check.status)}});
}

Check parse_check(const Json& json) {
  Check check{text_of(json, "name"), CheckStatus::warn, text_of(json, "found"), text_of(json, "remedy")};
  const std::string status = text_of(json, "status");
  for (const CheckStatus known : kStatuses) {
    if (status == check_status_name(known) && !check.name.empty()) {
      check.status = known;
      return check;
    }
  }
  return check_warn(check.name.empty() ? "unknown" : check.name,
                    "a check of another version with the status \"" + status + "\": " + check.found,
                    "use the postern of the version that posternd has");
}

}  // namespace postern::wire
