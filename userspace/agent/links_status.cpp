// SPDX-License-Identifier: Apache-2.0
#include "agent/links_status.h"

#include <algorithm>

#include "mesh/limits.h"

namespace postern::agent {
namespace {

constexpr std::uint64_t kDownTooLong_ns = 30 * mesh::kSecond_ns;

bool is_up(const mesh::LinkRow& row) {
  return row.state == mesh::LinkState::up;
}

}  // namespace

std::size_t links_up(const LinksStatus& status) {
  return static_cast<std::size_t>(std::count_if(status.rows.begin(), status.rows.end(), is_up));
}

std::vector<std::string> problems_of(const LinksStatus& status) {
  std::vector<std::string> problems;
  if (!status.problem.empty()) problems.push_back(status.problem);
  for (const mesh::LinkRow& row : status.rows) {
    if (row.twin && row.refused_us == mesh::Refusal::replay) {
      problems.push_back(
          "gateway " + row.gateway +
          " says that another process runs under this gateway's key; stop one of the two, then restart "
          "the other");
    } else if (row.twin) {
      problems.push_back("two processes run under the key of gateway " + row.gateway +
                         "; stop one of the two, then restart the other");
    }
    if (is_up(row) || row.state == mesh::LinkState::unreachable ||
        status.made_ns < row.since_ns + kDownTooLong_ns)
      continue;
    problems.push_back("there is no link to gateway " + row.gateway +
                       "; `postern links` says what was tried");
  }
  return problems;
}

}  // namespace postern::agent
