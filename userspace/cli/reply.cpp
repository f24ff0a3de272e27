// SPDX-License-Identifier: Apache-2.0
#include "cli/reply.h"

#include <charconv>

namespace postern::cli {
namespace {

const wire::Json kNull;

}  // namespace

Reply Reply::at(std::string_view key) const {
  const wire::Json* member = value_->find(key);
  return Reply(member != nullptr ? *member : kNull);
}

std::vector<Reply> Reply::list(std::string_view key) const {
  std::vector<Reply> out;
  const wire::Json::Array* elements = at(key).value_->as_array();
  if (elements == nullptr) return out;
  for (const wire::Json& element : *elements)
    out.emplace_back(element);
  return out;
}

bool Reply::has(std::string_view key) const {
  return !at(key).value_->is_null();
}

bool Reply::flag(std::string_view key) const {
  const bool* value = at(key).value_->as_bool();
  return value != nullptr && *value;
}

std::uint64_t Reply::count(std::string_view key) const {
  const wire::Json& member = *at(key).value_;
  std::uint64_t out = 0;
  if (const std::int64_t* number = member.as_integer()) {
    out = *number < 0 ? 0 : static_cast<std::uint64_t>(*number);
  } else if (const std::string* digits = member.as_string()) {
    std::from_chars(digits->data(), digits->data() + digits->size(), out);
  }
  return out;
}

std::string Reply::text() const {
  if (const std::string* text = value_->as_string()) return *text;
  if (const std::int64_t* number = value_->as_integer()) return std::to_string(*number);
  if (const bool* flag = value_->as_bool()) return *flag ? "yes" : "no";
  return "-";
}

std::string Reply::text(std::string_view key) const {
  return at(key).text();
}

std::string Reply::words(std::string_view key) const {
  std::string out;
  for (const Reply& word : list(key))
    out += (out.empty() ? "" : ", ") + word.text();
  return out.empty() ? "-" : out;
}

}  // namespace postern::cli
