// SPDX-License-Identifier: Apache-2.0
#include "cli/claim_page.h"

namespace postern::cli {
namespace {

std::string note(const Reply& resource) {
  std::string out;
  if (resource.flag("yields")) out = "released by hand, left to others for a while";
  if (const std::string why = resource.has("why") ? resource.text("why") : ""; !why.empty())
    out += (out.empty() ? "" : "; ") + why;
  return out;
}

std::string waits_for(const Reply& resource) {
  std::string out;
  for (const Reply& other : resource.list("waits_for")) {
    out += (out.empty() ? "" : "; ") + other.text("gateway");
    if (const std::string why = other.text("why"); !why.empty()) out += ": " + why;
  }
  return out;
}

}  // namespace

std::string seconds_words(std::uint64_t ms) {
  return std::to_string(ms / 1000) + "." + std::to_string(ms / 100 % 10) + " s";
}

Table claim_table() {
  return Table({{"RESOURCE"},
                {"HOLDER"},
                {"EPOCH", Table::Side::right},
                {"STATE"},
                {"LEASE LEFT", Table::Side::right},
                {"WAITS FOR"},
                {"WHY"}});
}

void add_claim_row(Table& table, const Reply& resource) {
  const std::uint64_t left_ms = resource.count("lease_left_ms");
  table.add({resource.text("resource"), resource.text("holder") + (resource.flag("own") ? " (this one)" : ""),
             resource.text("epoch"), resource.text("standing"), left_ms == 0 ? "-" : seconds_words(left_ms),
             waits_for(resource), note(resource)});
}

std::string claim_page(const Reply& resource) {
  Table table = claim_table();
  add_claim_row(table, resource);
  return table.text();
}

}  // namespace postern::cli
