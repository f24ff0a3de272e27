// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_words.h"

#include "cli/answer.h"

namespace postern::cli {

std::string warning_lines(const std::vector<std::string>& warnings) {
  std::string out;
  for (const std::string& warning : warnings)
    out += "warning  " + warning + "\n";
  return out;
}

wire::Json warning_list(const std::vector<std::string>& warnings) {
  wire::Json out = wire::Json::array();
  for (const std::string& warning : warnings)
    out.push(json_text(warning));
  return out;
}

}  // namespace postern::cli
