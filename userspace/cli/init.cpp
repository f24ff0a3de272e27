// SPDX-License-Identifier: Apache-2.0
// postern init: state directory, node key, journal, trust anchor. The key comes before the journal, so that
// an init that was cut short is finished by the next one; nothing that exists is ever replaced.
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "authority/envelope.h"
#include "cli/command.h"
#include "cli/errors.h"
#include "config/config.h"
#include "core/file.h"
#include "ledger/journal.h"
#include "wire/sign.h"

namespace postern::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRootBytes = 1U << 20;

bool is_empty_or_absent(const fs::path& directory) {
  std::error_code error;
  return fs::directory_iterator(directory, error) == fs::directory_iterator();
}

// The state directory, made if need be, ours alone. Its parents are made open to read.
Result<> secure_state(const fs::path& state) {
  std::error_code error;
  if (state.has_parent_path()) fs::create_directories(state.parent_path(), error);
  if (::mkdir(state.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(postern::errc::file_unwritable, "cannot make " + state.string() + ": " +
                                                    std::strerror(errno) +
                                                    "; run as root, or set `state:` in the config");
  }
  struct stat status {};
  if (::lstat(state.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return fail(errc::unsafe_state,
                state.string() + " is no directory; set `state:` to one, or to a free name");
  }
  if (status.st_uid != ::geteuid()) {
    return fail(errc::unsafe_state, state.string() + " belongs to uid " + std::to_string(status.st_uid) +
                                        ", not to " + std::to_string(::geteuid()) +
                                        "; run as its owner, or chown it");
  }
  if ((status.st_mode & 077) == 0) return {};
  if (is_empty_or_absent(state) && ::chmod(state.c_str(), 0700) == 0) return {};
  return fail(errc::unsafe_state,
              state.string() +
                  " holds files and others may read it; give the gateway a directory of its own, "
                  "or chmod 700 this one");
}

struct Anchor {
  enum class Found { absent, copied, present } found = Found::absent;
};

// The trust anchor at the place that the config names. `source` may be empty: then only looks.
Result<Anchor> place_anchor(const config::Config& config, const std::string& source, bool write) {
  std::error_code ignored;
  const bool there = fs::exists(config.root, ignored);
  if (source.empty()) return Anchor{there ? Anchor::Found::present : Anchor::Found::absent};
  const Result<std::string> text = read_file(source, kMaxRootBytes);
  if (!text) return tl::unexpected<Error>(text.error());
  const Result<authority::TrustAnchor> anchor = authority::parse_trust_anchor(*text);
  if (!anchor) return fail(anchor.error().code, source + ": " + anchor.error().context);
  if (anchor->mesh != config.mesh) {
    return fail(authority::errc::wrong_mesh, source + " is the trust anchor of mesh \"" + anchor->mesh +
                                                 "\", the config is of \"" + config.mesh +
                                                 "\"; name the right one");
  }
  if (there) {
    const Result<std::string> existing = read_file(config.root, kMaxRootBytes);
    if (existing && *existing == *text) return Anchor{Anchor::Found::present};
    return fail(postern::errc::file_exists, config.root.string() + " is there already and differs from " +
                                                source +
                                                "; if the new one is right, move the old one away first");
  }
  if (!write) return Anchor{Anchor::Found::absent};
  if (config.root.has_parent_path()) fs::create_directories(config.root.parent_path(), ignored);
  if (Result<> made = create_file_durably(config.root, *text, 0644); !made) return pass_on(std::move(made));
  return Anchor{Anchor::Found::copied};
}

// A journal whose key or whose kernel state tells of another life is not to be continued by a fresh start.
Result<> check_leftovers(const config::Config& config, bool key_there, bool journal_there) {
  const fs::path journal = config.state / "journal";
  if (journal_there && !key_there) {
    return fail(errc::key_lost, journal.string() +
                                    " holds a journal, but the node key beside it is gone; restore " +
                                    (config.state / "node.key").string() +
                                    " from a backup, or move the journal away to start as a new node");
  }
  const fs::path pins = config.pins / config.mesh / config.gateway;
  if (!journal_there && !is_empty_or_absent(pins)) {
    return fail(errc::tables_remain, "the kernel still serves tables pinned at " + pins.string() +
                                         " whose journal is gone; restore " + journal.string() +
                                         ", or take the tables down first (posternd --detach)");
  }
  return {};
}

Result<wire::SecretKey> load_or_make_key(const fs::path& path, bool there) {
  if (there) return wire::SecretKey::load(path);
  wire::SecretKey key = wire::SecretKey::generate();
  if (Result<> saved = key.save(path); !saved) return pass_on(std::move(saved));
  return key;
}

std::string key_lines(const fs::path& path, const wire::PublicKey& key, std::string_view note) {
  return "node key      " + path.string() + std::string(note) + "\npublic key    " + key.text() +
         "\nkey id        " + key.id() + "\n";
}

std::string anchor_line(const config::Config& config, Anchor anchor) {
  const std::string line = "trust anchor  " + config.root.string();
  switch (anchor.found) {
    case Anchor::Found::copied:
      return line + " (new)\n";
    case Anchor::Found::present:
      return line + "\n";
    case Anchor::Found::absent:
      break;
  }
  return line + " (absent: the first `postern apply` needs it; bring it with --root FILE)\n";
}

Outcome init(const Globals& globals, const std::string& root) {
  const Result<config::Config> config = config::load_config(globals.config);
  if (!config) return refuse(config.error());
  if (const Result<Anchor> fits = place_anchor(*config, root, false); !fits) return refuse(fits.error());
  const fs::path key_path = config->state / "node.key";
  const fs::path journal_path = config->state / "journal";
  std::error_code ignored;
  const bool key_there = fs::exists(fs::symlink_status(key_path, ignored));
  const bool journal_there = !is_empty_or_absent(journal_path);
  if (const Result<> safe = check_leftovers(*config, key_there, journal_there); !safe)
    return refuse(safe.error());
  if (const Result<> safe = secure_state(config->state); !safe) return refuse(safe.error());
  const Result<wire::SecretKey> key = load_or_make_key(key_path, key_there);
  if (!key) return refuse(key.error());
  const wire::PublicKey& node = key->public_key();
  const Result<Anchor> anchor = place_anchor(*config, root, true);
  if (!anchor) return refuse(anchor.error());
  ledger::JournalOptions options;
  options.directory = journal_path;
  const Result<> created = ledger::Journal::create(options);
  if (!created && created.error().code == ledger::errc::exists) {
    return refuse(ledger::errc::exists,
                  created.error().context +
                      "\nThis gateway is initialised already; what was there is unchanged:\n" +
                      key_lines(key_path, node, "") + "journal       " + journal_path.string() + "\n" +
                      anchor_line(*config, *anchor));
  }
  if (!created) return refuse(created.error());

  wire::Json json =
      wire::Json::object({{"gateway", wire::Json(config->gateway)},
                          {"id", wire::Json(node.id())},
                          {"journal", json_text(journal_path.native())},
                          {"key", json_text(key_path.native())},
                          {"key_created", wire::Json(!key_there)},
                          {"mesh", wire::Json(config->mesh)},
                          {"public", wire::Json(node.text())},
                          {"root", json_text(config->root.native())},
                          {"root_present", wire::Json(anchor->found != Anchor::Found::absent)}});
  return Answer{with_schema(std::move(json), "init"),
                "gateway       " + config->gateway + " of mesh " + config->mesh + "\n" +
                    key_lines(key_path, node, key_there ? " (was there)" : " (new)") + "journal       " +
                    journal_path.string() + " (new)\n" + anchor_line(*config, *anchor) +
                    "Next: put the public key into the policy's gateway, then compile, sign and apply it.\n"};
}

}  // namespace

void add_init(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "init", "Make this gateway's state: node key, journal, trust anchor. Never replaces anything");
  command->group(group::set_up);
  auto root = std::make_shared<std::string>();
  command
      ->add_option(
          "--root", *root,
          "Copy this trust anchor (postern authority root) to the place that the config's root: names; "
          "default: leave that alone")
      ->type_name("FILE");
  command->callback(
      [&chosen, root] { chosen = [root](const Globals& globals) { return init(globals, *root); }; });
}

}  // namespace postern::cli
