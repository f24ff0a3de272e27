// SPDX-License-Identifier: Apache-2.0
#include "wire/json.h"
#include "wire/json_cursor.h"

namespace postern::wire {

Result<Json> parse_canonical(std::string_view text, std::size_t limit_bytes) {
  JsonCursor cursor(text, limit_bytes);
  Json value = cursor.read_tree();
  if (Result<> done = cursor.finish(); !done) return pass_on(std::move(done));
  return value;
}

}  // namespace postern::wire
