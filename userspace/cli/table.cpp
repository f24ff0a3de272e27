// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>

namespace postern::cli {
namespace {

constexpr std::size_t kGap = 2;

// Characters, not bytes: names are ASCII, but help texts need not be.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> headings;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].heading);
    for (const auto& row : rows_)
      width = std::max(width, width_of(row[i]));
    widths.push_back(width);
    headings.push_back(columns_[i].heading);
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string pad(widths[i] - width_of(cells[i]), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += columns_[i].side == Side::right ? pad + cells[i] : cells[i] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line(headings);
  for (const auto& row : rows_)
    add_line(row);
  return out;
}

}  // namespace postern::cli
