// SPDX-License-Identifier: Apache-2.0
// Drives a real journal for the crash tests, which kill it at a system call of their choice.
//
//   journal-driver create DIR
//   journal-driver append DIR COUNT BYTES
//       opens, then appends COUNT events of BYTES bytes one by one; prints "opened CLASS" and "ack TAG" after
//       each acknowledgement
//   journal-driver compact DIR
//       opens and compacts, keeping every event; prints "compacted" when it is done
//   journal-driver hold DIR MESH
//       opens as the mesh's writer, then waits for the end of its input
//   journal-driver read DIR
//       opens and prints "event TAG" for each that survived, then "opened CLASS"
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/compaction.h"
#include "ledger/journal.h"

namespace {

using namespace postern;

// By one write call, so that a line is never lost in a buffer when the process is killed after it.
void say(std::string line) {
  line += '\n';
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

int refuse(const Error& error) {
  say("refused " + error.message());
  return exit_code(error.code.kind);
}

int wait_for_end() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

std::string tag_of(std::string_view payload) {
  const std::size_t start = payload.find(':') + 1;
  return std::string(payload.substr(start, payload.find(',') - start));
}

int append(ledger::Journal& journal, std::size_t events_before, int count, std::size_t bytes) {
  for (int i = 0; i < count; ++i) {
    const std::string tag = std::to_string(events_before + static_cast<std::size_t>(i));
    const std::vector<std::string> batch = {"{\"i\":" + tag + ",\"p\":\"" + std::string(bytes, 'p') + "\"}"};
    const Result<Lseq> head = journal.append(batch);
    if (!head) return refuse(head.error());
    say("ack " + tag);
  }
  return 0;
}

int compact(ledger::Journal& journal) {
  ledger::KeepEverything summary;
  // The same in each process: one node signs all bases of a journal.
  const wire::SecretKey key = wire::SecretKey::from_seed(std::array<std::uint8_t, 32>{7});
  const Result<ledger::CompactionReport> done = journal.compact({key, summary, 0});
  if (!done) return refuse(done.error());
  say(done->compacted ? "compacted" : "nothing to compact");
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  ledger::JournalOptions options;
  options.directory = arguments[1];
  options.any_file_system = true;
  if (arguments[0] == "create") {
    const Result<> created = ledger::Journal::create(options);
    return created ? 0 : refuse(created.error());
  }
  if (arguments[0] == "hold") options.mesh = arguments[2];
  const bool reading = arguments[0] == "read";
  std::size_t events = 0;
  const auto journal = ledger::Journal::open(options, [&](const ledger::Record& record) -> Result<> {
    ++events;
    if (reading) say("event " + tag_of(record.payload));
    return {};
  });
  if (!journal) return refuse(journal.error());
  say("opened " + std::string(ledger::recovery_class_name((*journal)->recovery().found)));
  if (reading) return 0;
  if (arguments[0] == "compact") return compact(**journal);
  if (arguments[0] == "hold") return wait_for_end();
  return append(**journal, events, std::atoi(arguments[2].c_str()),
                static_cast<std::size_t>(std::atoll(arguments[3].c_str())));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool known = (arguments.size() == 4 && arguments[0] == "append") ||
                     (arguments.size() == 3 && arguments[0] == "hold") ||
                     (arguments.size() == 2 &&
                      (arguments[0] == "create" || arguments[0] == "read" || arguments[0] == "compact"));
  if (!known) {
    say("usage: journal-driver create DIR | append DIR COUNT BYTES | compact DIR | hold DIR MESH | read DIR");
    return 2;
  }
  return run(arguments);
}
