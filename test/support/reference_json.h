// SPDX-License-Identifier: Apache-2.0
// The rule that the reader of canonical JSON must agree with (SPEC 3.1), in its literal form: parse with a
// general parser, encode again, compare the bytes. Slow, built on another parser, and for tests only.
#pragma once

#include <string_view>

namespace postern::testing {

bool reference_accepts(std::string_view text);

}  // namespace postern::testing
