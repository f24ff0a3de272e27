// SPDX-License-Identifier: Apache-2.0
// How it stands with a resource, for people.
#pragma once

#include <cstdint>
#include <string>

#include "cli/reply.h"
#include "cli/table.h"

namespace postern::cli {

Table claim_table();
// A row of postern/claims/v1.
void add_claim_row(Table& table, const Reply& resource);
// Of one resource alone.
std::string claim_page(const Reply& resource);
std::string seconds_words(std::uint64_t ms);  // "6.9 s"

}  // namespace postern::cli
