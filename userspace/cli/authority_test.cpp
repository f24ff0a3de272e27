// SPDX-License-Identifier: Apache-2.0
// postern authority test: the tests that a policy brings along, one by one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "authority/policy_test.h"
#include "authority/policy_warnings.h"
#include "cli/command.h"
#include "cli/compiled_policy.h"
#include "cli/policy_words.h"
#include "cli/wording.h"

namespace postern::cli {
namespace {

using authority::PolicyTestResult;

std::string line_of(const PolicyTestResult& result, const std::string& policy) {
  return std::string(result.passed() ? "pass  " : "FAIL  ") + policy + ":" + std::to_string(result.line) +
         ": " + result.what + (result.wants_allow ? ", expect allow: " : ", expect deny: ") + result.because +
         "\n";
}

wire::Json json_of(const PolicyTestResult& result) {
  return wire::Json::object({{"allowed", wire::Json(result.allowed)},
                             {"because", wire::Json(result.because)},
                             {"expect", wire::Json(result.wants_allow ? "allow" : "deny")},
                             {"line", wire::Json(result.line)},
                             {"passed", wire::Json(result.passed())},
                             {"what", wire::Json(result.what)}});
}

Outcome test(const std::string& path) {
  const Result<CompiledPolicy> compiled = compile_policy_file(path, kNoEdition);
  if (!compiled) return refuse(compiled.error());
  const auto& [policy, snapshot] = *compiled;
  const std::vector<PolicyTestResult> results = authority::run_policy_tests(policy, snapshot);
  const std::vector<std::string> warnings = authority::policy_warnings(policy, snapshot, path);
  const auto failed = static_cast<std::uint64_t>(
      std::count_if(results.begin(), results.end(), [](const PolicyTestResult& r) { return !r.passed(); }));
  std::string lines;
  wire::Json tests = wire::Json::array();
  for (const PolicyTestResult& result : results) {
    lines += line_of(result, path);
    tests.push(json_of(result));
  }
  wire::Json json = wire::Json::object({{"failed", wire::Json(static_cast<std::int64_t>(failed))},
                                        {"file", json_text(path)},
                                        {"tests", std::move(tests)},
                                        {"warnings", warning_list(warnings)}});
  const std::string total =
      results.empty() ? path + ": no tests; write some under `tests:`\n"
                      : count_words(results.size(), "test") + ", " + std::to_string(failed) + " failed\n";
  return Answer{with_schema(std::move(json), "authority-test"), lines + warning_lines(warnings) + total,
                failed == 0 ? 0 : exit_code(ErrorKind::config)};
}

}  // namespace

void add_authority_test(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "test", "Run the tests of a policy: who must reach what, and who must not (exit 4 when one fails)");
  auto path = std::make_shared<std::string>();
  command->add_option("POLICY", *path, "The YAML policy")->required()->type_name("");
  command->callback([&chosen, path] { chosen = [path](const Globals&) { return test(*path); }; });
}

}  // namespace postern::cli
