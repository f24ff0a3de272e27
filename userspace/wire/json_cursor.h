// SPDX-License-Identifier: Apache-2.0
// Reading canonical JSON from front to back, without a tree. Canonical JSON has one spelling for each value
// (SPEC 3.1), so a cursor that takes exactly that spelling proves, by reading, what parsing and encoding
// again would prove: no white space, the shortest escapes, integers in their one form, keys in rising order
// of their UTF-16 code units, nothing after the document. What is left of a document is skipped by nobody: a
// caller reads every value and then asks finish().
//
// The first error sticks, and names the byte where the text departs from the canonical form. After it every
// call says "no more": callers read on without looking, and look once, at finish().
//
// Memory: the text itself, and 32 short strings. Time: one pass, and one of simdjson's over the UTF-8.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "wire/errors.h"
#include "wire/json.h"

namespace postern::wire {

class JsonCursor {
 public:
  enum class Kind { none, null, boolean, integer, string, array, object };

  // `text` must outlive the cursor. A text that is too large, no UTF-8, or that begins with a byte order mark
  // is an error from the start.
  JsonCursor(std::string_view text, std::size_t limit_bytes);

  // What begins here; `none` at the end of the text, after an error, and for what begins no value.
  Kind kind() const;

  void read_null();
  bool read_boolean();
  std::int64_t read_integer();
  // Good until the next call.
  std::string_view read_string();

  // True: an object (array) was entered, and is to be read up to its end by next_member (next_element).
  bool enter_object();
  bool enter_array();
  // False at the end, which is then behind the cursor. The key is good until the object's next member.
  bool next_member(std::string_view& key);
  bool next_element();

  // The value that begins here as a tree.
  Json read_tree();
  void skip_value();

  std::size_t offset() const { return at_; }
  bool ok() const { return !error_; }
  // Records an error of the caller's, unless there is one already.
  void fail_with(Error error);
  // The first error; or that something follows the document.
  Result<> finish();

 private:
  struct Level {
    bool empty = true;          // nothing was read of it yet
    std::size_t begin = 0;      // where it began
    std::string_view last_key;  // in the text, or in `decoded`
    std::string decoded;        // a last key that has escapes
  };

  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool enter(char open);
  bool at_value();
  void refuse(ErrorCode code, std::size_t at, std::string_view why);
  void unexpected(std::string_view wanted);
  // The string that begins here: a view of the text, or of `scratch` when it has escapes.
  std::string_view take_string(std::string& scratch);
  std::string_view take_escaped(std::size_t begin, std::string& scratch);
  bool take_escape(std::string& into);
  void refuse_unicode_escape();
  void take_word(std::string_view word);
  void refuse_key(Level& level, std::string_view key, std::size_t at);
  bool is_duplicate(const Level& level, std::string_view key) const;
  void check_encoding(std::size_t limit_bytes);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::array<Level, kMaxDepth> levels_;
  std::string scratch_;
  std::string key_scratch_;
  std::optional<Error> error_;
};

}  // namespace postern::wire
