// SPDX-License-Identifier: Apache-2.0
// Strict reading of one object of a document under a JsonCursor, member by member and without a tree. Keys of
// a canonical object rise, so a reader that asks in the same order meets each member where it stands: a lower
// key than the one asked for is unknown, a higher one means that the one asked for is absent. Ask in rising
// order of keys.
//
// Errors go to the cursor, where the first one sticks, and name the path ("peers[3].addresses"). Paths are
// spelled only for errors: documents hold millions of objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/json_cursor.h"

namespace postern::wire {

class JsonRecord {
 public:
  // Enters the object that the cursor is at: the document, or the value at `parent`.`key`[index]. All
  // arguments must outlive this.
  explicit JsonRecord(JsonCursor& cursor);
  JsonRecord(const JsonRecord& parent, std::string_view key, std::optional<std::size_t> index = std::nullopt);

  // Whether the next member is `key`; the cursor is then at its value, which must be read.
  bool has(std::string_view key);
  // The same for a member that must be there: absence is an error.
  bool needs(std::string_view key);

  // Of required members. The text is good until the next call.
  std::string_view text(std::string_view key);
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::uint64_t decimal(std::string_view key);  // a 64-bit count as decimal string, without leading zeros

  // The same of a value that the cursor is at, at `key`.
  std::string_view text_here(std::string_view key);
  std::int64_t integer_here(std::string_view key, std::int64_t min, std::int64_t max);
  std::uint64_t decimal_here(std::string_view key);
  // Enters the array that the cursor is at, or records that there is none.
  bool enter_array_here(std::string_view key);

  void reject(std::string_view key, std::string_view why);
  std::string path_of(std::string_view key) const;
  JsonCursor& cursor() const { return *cursor_; }
  bool ok() const { return cursor_->ok(); }
  // No member is left: else the next one is unknown. Reads the end of the object.
  void finish();

 private:
  void enter();
  bool peek();
  void refuse_unknown();
  std::string path() const;
  std::string describe_here() const;

  JsonCursor* cursor_;
  const JsonRecord* parent_ = nullptr;
  std::string_view key_;
  std::optional<std::size_t> index_;
  std::string_view next_;  // key of the member that the cursor is at, while `pending_`
  bool pending_ = false;
  bool open_ = false;  // the object's end was not met yet
};

}  // namespace postern::wire
