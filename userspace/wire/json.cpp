// SPDX-License-Identifier: Apache-2.0
#include "wire/json.h"

#include <algorithm>

#include "wire/json_text.h"

namespace postern::wire {

const Json* Json::find(std::string_view key) const {
  const Object* members = as_object();
  if (members == nullptr) return nullptr;
  const auto found =
      std::find_if(members->begin(), members->end(), [key](const Member& m) { return m.first == key; });
  return found == members->end() ? nullptr : &found->second;
}

Json& Json::set(std::string key, Json value) {
  Object& members = std::get<Object>(value_);
  const auto found =
      std::find_if(members.begin(), members.end(), [&key](const Member& m) { return m.first == key; });
  if (found != members.end()) {
    found->second = std::move(value);
  } else {
    members.emplace_back(std::move(key), std::move(value));
  }
  return *this;
}

namespace {

struct StringSink {
  std::string text;
  void put(std::string_view piece) { text.append(piece); }
};

}  // namespace

std::string encode_canonical(const Json& value) {
  JsonText<StringSink> out;
  out.write(value);
  return std::move(out.sink().text);
}

}  // namespace postern::wire
