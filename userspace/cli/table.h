// SPDX-License-Identifier: Apache-2.0
// Aligned columns for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace postern::cli {

class Table {
 public:
  enum class Side { left, right };
  struct Column {
    std::string heading;
    Side side = Side::left;  // numbers go to the right
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Heading and rows, `indent` spaces in front, no blanks at the ends of lines.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace postern::cli
