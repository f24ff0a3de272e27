// SPDX-License-Identifier: Apache-2.0
#include "ledger/cursor_text.h"

#include <doctest/doctest.h>

#include <string>

#include "ledger/errors.h"

using namespace postern;
using namespace postern::ledger;

namespace {

Cursor sample() {
  Cursor cursor;
  cursor.journal.fill(0xab);
  cursor.next = Lseq(42);
  cursor.hash.fill(0x5c);
  return cursor;
}

// What the refusal says was expected.
std::string refused(const std::string& text) {
  const Result<Cursor> cursor = parse_cursor(text);
  CHECK_MESSAGE(!cursor, text);
  if (cursor) return "";
  CHECK(cursor.error().code == errc::cursor_invalid);
  return cursor.error().context;
}

bool names(const std::string& refusal, const std::string& what) {
  return refusal.find(what) != std::string::npos &&
         refusal.find("give one back as it came") != std::string::npos;
}

}  // namespace

TEST_CASE("a cursor comes back from its text as it was") {
  CHECK(parse_cursor(cursor_text(sample())).value() == sample());
  Cursor start = sample();
  start.next = Lseq(1);
  start.hash = {};
  CHECK(parse_cursor(cursor_text(start)).value() == start);
  Cursor far = sample();
  far.next = Lseq(UINT64_MAX);
  CHECK(parse_cursor(cursor_text(far)).value() == far);
}

TEST_CASE("a cursor that is cut off or longer than it was anywhere is refused") {
  const std::string whole = cursor_text(sample());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(!refused(whole.substr(0, length)).empty());
    CHECK(!refused(whole.substr(length + 1)).empty());
  }
  for (const char* more : {"0", ":", " ", "\n", "a:b"})
    CHECK(!refused(whole + more).empty());
}

TEST_CASE("each malformed part of a cursor is refused with what was expected in its place") {
  const std::string id(32, 'a');
  const std::string hash(64, '5');
  CHECK(names(refused(""), "three parts"));
  CHECK(names(refused(id), "three parts"));
  CHECK(names(refused(id + ":42"), "three parts"));
  CHECK(names(refused(":42:" + hash), "32 lower-case hex digits"));
  CHECK(names(refused(std::string(32, 'A') + ":42:" + hash), "32 lower-case hex digits"));
  CHECK(names(refused(std::string(32, 'g') + ":42:" + hash), "32 lower-case hex digits"));
  for (const char* number : {"", "0", "042", "-1", "+1", " 42", "42 ", "4x", "0x2a", "18446744073709551616"})
    CHECK(names(refused(id + ":" + number + ":" + hash), "number of a record"));
  CHECK(names(refused(id + ":42:"), "64 lower-case hex digits"));
  CHECK(names(refused(id + ":42:" + std::string(64, 'F')), "64 lower-case hex digits"));
  CHECK(names(refused(std::string(32, '0') + ":42:" + hash), "no journal's id is zero"));
}

TEST_CASE("a cursor that its hash does not bind to its place is refused") {
  const std::string id(32, 'a');
  CHECK(names(refused(id + ":42:" + std::string(64, '0')), "a hash of zero for record 1"));
  CHECK(names(refused(id + ":1:" + std::string(64, '5')), "a hash of zero for record 1"));
}
