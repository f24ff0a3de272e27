// SPDX-License-Identifier: Apache-2.0
// What an authority signs: which kind of document a payload is, and what it says.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace postern::cli {

struct Document {
  std::string_view domain;  // of its signatures
  std::string headline;     // lines for those who are about to sign it
};

// A snapshot, a timestamp or a revocation that a gateway would take, but for its signatures.
Result<Document> read_document(std::string_view payload);

}  // namespace postern::cli
