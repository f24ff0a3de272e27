// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_hook.h"

#include <doctest/doctest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "unit/core/scratch_directory.h"

using namespace postern;
using namespace postern::agent;
using namespace postern::testing;

namespace {

struct Hooked {
  ScratchDirectory scratch;
  std::ostringstream said;
  spdlog::logger log{"test", std::make_shared<spdlog::sinks::ostream_sink_st>(said)};
  asio::io_context io;
  ClaimsHook hook{io, log};

  std::filesystem::path script(const std::string& body) {
    const std::filesystem::path path = scratch / "hook";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }
  std::string seen() const {
    std::ostringstream out;
    out << std::ifstream(scratch / "seen").rdbuf();
    return out.str();
  }
};

}  // namespace

TEST_CASE("a hook hears what was held and lost, in order, one at a time") {
  Hooked f;
  f.hook.use(f.script("mkdir \"$0.busy\" && echo \"$# $*\" >> \"${0%hook}seen\" && rmdir \"$0.busy\""));
  f.hook.tell(true, "vip", Epoch(7));
  f.hook.tell(true, "other", Epoch(1));
  f.hook.tell(false, "third", Epoch(9));
  f.io.run();
  CHECK(f.seen() == "3 held vip 7\n3 held other 1\n3 lost third 9\n");
  CHECK(f.said.str().find("held vip 7: exit status 0") != std::string::npos);
}

TEST_CASE("what a hook has not begun of a resource is replaced by what is newer") {
  Hooked f;
  f.hook.use(f.script("echo \"$*\" >> \"${0%hook}seen\""));
  f.hook.tell(true, "busy", Epoch(1));
  for (std::uint64_t epoch = 1; epoch < 50; ++epoch)
    f.hook.tell(epoch % 2 == 0, "vip", Epoch(epoch));
  f.io.run();
  CHECK(f.seen() == "held busy 1\nlost vip 49\n");
}

TEST_CASE("no shell stands between a hook and its words") {
  Hooked f;
  f.hook.use(f.script("printf '%s|' \"$@\" >> \"${0%hook}seen\""));
  f.hook.tell(true, "a b;$(reboot)", Epoch(1));
  f.io.run();
  CHECK(f.seen() == "held|a b;$(reboot)|1|");
}

TEST_CASE("a hook that fails, or cannot run, is said, and the next one runs") {
  Hooked f;
  f.hook.use(f.script("exit 3"));
  f.hook.tell(true, "vip", Epoch(1));
  f.io.run();
  CHECK(f.said.str().find("held vip 1: exit status 3") != std::string::npos);
  f.io.restart();
  f.hook.use(f.script("kill -TERM $$"));
  f.hook.tell(true, "vip", Epoch(2));
  f.io.run();
  CHECK(f.said.str().find("held vip 2: ended by signal 15") != std::string::npos);
  f.io.restart();
  f.hook.use(f.scratch / "absent");
  f.hook.tell(true, "vip", Epoch(3));
  f.io.run();
  CHECK(f.said.str().find("cannot run") != std::string::npos);
  f.io.restart();
  f.hook.use(f.script("echo \"$*\" >> \"${0%hook}seen\""));
  f.hook.tell(false, "vip", Epoch(3));
  f.io.run();
  CHECK(f.seen() == "lost vip 3\n");
}

TEST_CASE("without a hook nothing runs") {
  Hooked f;
  f.hook.tell(true, "vip", Epoch(1));
  f.io.run();
  CHECK(f.said.str().empty());
}
