// SPDX-License-Identifier: Apache-2.0
// postern authority diff: what another snapshot would change for whom.
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/snapshot_diff.h"
#include "cli/command.h"
#include "cli/compiled_policy.h"
#include "cli/snapshot_file.h"
#include "cli/wording.h"
#include "core/file.h"

namespace postern::cli {
namespace {

struct DiffRequest {
  std::string before;
  std::string after;
};

// A policy is compiled as the one that would follow `before`. A signed file begins with a brace.
Result<authority::Snapshot> read_either(const std::string& path, const authority::Snapshot& before) {
  Result<std::string> text = read_file(path, kMaxSnapshotFileBytes);
  if (!text) return pass_on(std::move(text));
  if (text->starts_with('{')) {
    Result<SnapshotFile> file = parse_snapshot_file(*text, path);
    if (!file) return pass_on(std::move(file));
    return std::move(file->snapshot);
  }
  const authority::Edition next{
      .serial = before.serial.next(), .issued = before.issued, .expires = before.expires};
  Result<CompiledPolicy> compiled = compile_policy_text(*text, path, next, &before);
  if (!compiled) return pass_on(std::move(compiled));
  return std::move(compiled->snapshot);
}

Outcome diff(const DiffRequest& request) {
  const Result<SnapshotFile> before = read_snapshot_file(request.before);
  if (!before) return refuse(before.error());
  const Result<authority::Snapshot> after = read_either(request.after, before->snapshot);
  if (!after) return refuse(after.error());
  const std::vector<authority::Change> changes = authority::diff_snapshots(before->snapshot, *after);
  wire::Json list = wire::Json::array();
  std::string lines;
  for (const authority::Change& change : changes) {
    list.push(wire::Json::object({{"kind", wire::Json(change.kind)},
                                  {"subject", json_text(change.subject)},
                                  {"text", json_text(change.text)}}));
    lines += change.subject + " " + change.text + "\n";
  }
  wire::Json json = wire::Json::object({{"after", json_text(request.after)},
                                        {"before", json_text(request.before)},
                                        {"changes", std::move(list)}});
  lines += changes.empty() ? "nothing changes for anybody\n" : count_words(changes.size(), "change") + "\n";
  return Answer{with_schema(std::move(json), "authority-diff"), lines,
                changes.empty() ? 0 : exit_code(ErrorKind::changes)};
}

}  // namespace

void add_authority_diff(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "diff", "Say what a snapshot or policy would change, and for whom (exit 7 when there are changes)");
  auto request = std::make_shared<DiffRequest>();
  command->add_option("BEFORE", request->before, "The snapshot in force; its signatures are not checked")
      ->required()
      ->type_name("");
  command->add_option("AFTER", request->after, "A snapshot, or a YAML policy that would follow BEFORE")
      ->required()
      ->type_name("");
  command->callback([&chosen, request] { chosen = [request](const Globals&) { return diff(*request); }; });
}

}  // namespace postern::cli
