// SPDX-License-Identifier: Apache-2.0
// Lenient look into what the agent answered, for people's pages: an agent of another version may leave out or
// add members, and the page shows what there is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json.h"

namespace postern::cli {

class Reply {
 public:
  // `value` must outlive this.
  explicit Reply(const wire::Json& value) : value_(&value) {}

  Reply at(std::string_view key) const;  // an absent member reads as null
  std::vector<Reply> list(std::string_view key) const;
  bool has(std::string_view key) const;  // there, and not null
  bool flag(std::string_view key) const;
  std::uint64_t count(std::string_view key) const;  // an integer or a decimal string; 0 when absent
  std::string text(std::string_view key) const;     // strings and integers; "-" when absent
  std::string words(std::string_view key) const;    // a list of strings, joined by ", "; "-" when empty

  std::string text() const;

 private:
  const wire::Json* value_;
};

}  // namespace postern::cli
