// SPDX-License-Identifier: Apache-2.0
// Files beside the segments: auth-SERIAL-HASH (SPEC 4.1). Nothing else may be put, read, listed or removed
// here, so a caller cannot reach a segment or LOCK by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ledger/directory.h"

namespace postern::ledger {

// errc::file_name unless it is one that may be put here.
Result<> check_side_file_name(std::string_view name);
// Whole or not there, and durable on return. Replaces a file of that name.
Result<> put_side_file(Directory& directory, std::string_view name, std::string_view content);
// With ".tmp" after the name: what a killed attempt at writing that file has left.
Result<std::string> get_side_file(const Directory& directory, std::string_view name, std::size_t limit_bytes);
// Names that start with `prefix`, sorted; unfinished ones are left out.
Result<std::vector<std::string>> list_side_files(const Directory& directory, std::string_view prefix);
// A file that is not there is removed already.
Result<> remove_side_file(Directory& directory, std::string_view name);

}  // namespace postern::ledger
