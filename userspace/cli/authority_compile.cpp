// SPDX-License-Identifier: Apache-2.0
// postern authority compile: from the policy that people write to a snapshot that waits for its signatures.
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/envelope.h"
#include "authority/policy_test.h"
#include "authority/policy_warnings.h"
#include "authority/snapshot_codec.h"
#include "cli/command.h"
#include "cli/compiled_policy.h"
#include "cli/edition.h"
#include "cli/errors.h"
#include "cli/policy_words.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

struct CompileRequest {
  std::string policy;
  std::string out;
  EditionRequest edition;
};

Result<> check_output(const CompileRequest& request) {
  for (const std::string& input : {request.policy, request.edition.after}) {
    std::error_code ignored;
    if (input.empty() || !std::filesystem::equivalent(input, request.out, ignored)) continue;
    return fail(errc::usage, "-o " + request.out + " would replace " + input +
                                 ", which is read here and still needed; name another file");
  }
  return {};
}

// What no gateway that adopted the predecessor could adopt is refused before anybody signs it.
Result<> check_succession(const authority::Snapshot& snapshot, const Hash256& hash, const Chained& chained) {
  if (!chained.predecessor) return {};
  const std::string& before = chained.predecessor_snapshot->mesh;
  if (before != snapshot.mesh) {
    return fail(authority::errc::wrong_mesh,
                "the policy is of mesh \"" + snapshot.mesh + "\", --after names one of \"" + before + "\"");
  }
  authority::Candidate candidate;
  candidate.snapshot = snapshot;
  candidate.hash = hash;
  candidate.satisfies_own_root = true;  // signatures come later
  return authority::may_adopt(candidate, chained.predecessor, snapshot.issued);
}

Outcome compile(const CompileRequest& request) {
  const Result<Chained> chained = resolve_edition(request.edition, SystemClock().now_utc());
  if (!chained) return refuse(chained.error());
  if (const Result<> distinct = check_output(request); !distinct) return refuse(distinct.error());
  const authority::Snapshot* before =
      chained->predecessor_snapshot ? &*chained->predecessor_snapshot : nullptr;
  const Result<CompiledPolicy> compiled = compile_policy_file(request.policy, chained->edition, before);
  if (!compiled) return refuse(compiled.error());
  const authority::Snapshot& snapshot = compiled->snapshot;
  const std::vector<authority::PolicyTestResult> tests =
      authority::run_policy_tests(compiled->policy, snapshot);
  if (const Result<> passed = authority::require_policy_tests(tests, request.policy); !passed)
    return refuse(passed.error());
  const std::string payload = authority::encode_snapshot(snapshot);
  if (payload.size() > authority::kMaxSnapshotBytes) {
    return refuse(authority::errc::too_large, "the snapshot takes " + size_words(payload.size()) +
                                                  ", the limit is " +
                                                  size_words(authority::kMaxSnapshotBytes));
  }
  const Hash256 hash = authority::payload_hash(payload);
  if (const Result<> follows = check_succession(snapshot, hash, *chained); !follows)
    return refuse(follows.error());
  const Result<> written = write_file_durably(request.out, authority::seal_envelope({}, payload), 0644);
  if (!written) return refuse(written.error());

  const std::vector<std::string> warnings =
      authority::policy_warnings(compiled->policy, snapshot, request.policy);
  const std::string expires = utc_text(snapshot.expires);
  wire::Json json =
      wire::Json::object({{"expires", wire::Json(expires)},
                          {"file", json_text(request.out)},
                          {"hash", wire::Json(to_hex(hash))},
                          {"issued", wire::Json(utc_text(snapshot.issued))},
                          {"mesh", wire::Json(snapshot.mesh)},
                          {"prev", wire::Json(to_hex(snapshot.prev))},
                          {"serial", wire::Json(static_cast<std::int64_t>(snapshot.serial.value))},
                          {"tests", wire::Json(static_cast<std::int64_t>(tests.size()))},
                          {"warnings", warning_list(warnings)}});
  return Answer{with_schema(std::move(json), "authority-compile"),
                request.out + ": serial " + std::to_string(snapshot.serial.value) + " of mesh " +
                    snapshot.mesh + ", expires " + expires + ", no signature yet\nhash " + to_hex(hash) +
                    "\n" + (tests.empty() ? "" : "tests    " + std::to_string(tests.size()) + " passed\n") +
                    warning_lines(warnings) + "Next: postern authority sign " + request.out +
                    " --key KEYFILE\n"};
}

}  // namespace

void add_authority_compile(CLI::App& authority, Command& chosen) {
  CLI::App* command =
      authority.add_subcommand("compile", "Turn a YAML policy into a snapshot that waits for its signatures");
  auto request = std::make_shared<CompileRequest>();
  command->add_option("POLICY", request->policy, "The YAML policy")->required()->type_name("");
  command->add_option("-o,--output", request->out, "Write the unsigned snapshot here; replaced if there")
      ->required()
      ->type_name("FILE");
  CLI::Option* serial =
      command
          ->add_option("--serial", request->edition.serial,
                       "Serial of the snapshot, 1 to 2^53-1, with no predecessor named; default: 1")
          ->type_name("N")
          ->check(
              CLI::Range(std::uint64_t{1}, static_cast<std::uint64_t>(wire::kMaxInteger)).description(""));
  command
      ->add_option("--after", request->edition.after,
                   "Follow this snapshot: its serial plus one, chained to its hash; default: a first one")
      ->type_name("FILE")
      ->excludes(serial);
  command
      ->add_option(
          "--expires", request->edition.expires,
          "Span after its issue in days, hours, minutes or seconds (90d 12h 30m 45s), or a UTC instant; "
          "default: 90d")
      ->type_name("WHEN");
  command->add_option("--issued", request->edition.issued, "UTC instant of its issue; default: now")
      ->type_name("WHEN");
  command->callback([&chosen, request] { chosen = [request](const Globals&) { return compile(*request); }; });
}

}  // namespace postern::cli
