// SPDX-License-Identifier: Apache-2.0
// A reader's cursor as it is handed out (SPEC 4.10): "JOURNAL:NEXT:HASH", two parts in hex around a number.
// To a reader it is a word to give back as it came. One spelling each, so a cursor that was cut off, edited
// or made up is refused, and never leads to another place than the one that it was given out for.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "ledger/pages.h"

namespace postern::ledger {

// `cursor` is one that a page gave: of a journal, and with the hash of what stands before it.
std::string cursor_text(const Cursor& cursor);

// errc::cursor_invalid, saying which part was expected to be what.
Result<Cursor> parse_cursor(std::string_view text);

}  // namespace postern::ledger
