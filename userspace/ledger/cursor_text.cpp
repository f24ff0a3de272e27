// SPDX-License-Identifier: Apache-2.0
#include "ledger/cursor_text.h"

#include <charconv>
#include <optional>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

tl::unexpected<Error> invalid(std::string_view what) {
  return fail(errc::cursor_invalid, "this is no cursor: " + std::string(what) +
                                        "; give one back as it came with a page or with an event, or none to "
                                        "begin at the beginning");
}

std::optional<std::uint64_t> record_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  // One spelling: no leading zeros, which also leaves out zero.
  if (!whole || text.front() == '0') return std::nullopt;
  return number;
}

}  // namespace

std::string cursor_text(const Cursor& cursor) {
  return to_hex(cursor.journal) + ":" + std::to_string(cursor.next.value) + ":" + to_hex(cursor.hash);
}

Result<Cursor> parse_cursor(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) return invalid("expected three parts with colons between them");
  const auto journal = array_from_hex<16>(text.substr(0, first));
  const std::optional<std::uint64_t> next = record_number(text.substr(first + 1, second - first - 1));
  const auto hash = array_from_hex<32>(text.substr(second + 1));
  if (!journal) return invalid("expected 32 lower-case hex digits in front, a journal's id");
  if (!next)
    return invalid("expected the number of a record in the middle, from 1 on, without leading zeros");
  if (!hash) return invalid("expected 64 lower-case hex digits at the end, the hash of what was read");
  if (*journal == Id128{}) return invalid("no journal's id is zero");
  // Without a hash the place would not be compared; only before the first record there is nothing to compare.
  if ((*hash == Hash256{}) != (*next == 1))
    return invalid("expected a hash of zero for record 1, and for no other");
  return Cursor{*journal, Lseq(*next), *hash};
}

}  // namespace postern::ledger
