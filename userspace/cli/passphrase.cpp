// SPDX-License-Identifier: Apache-2.0
#include "cli/passphrase.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "cli/errors.h"
#include "core/unique_fd.h"

namespace postern::cli {
namespace {

// Keeps the terminal from showing what is typed.
class Silence {
 public:
  explicit Silence(int terminal) : terminal_(terminal) {
    if (::tcgetattr(terminal_, &before_) != 0) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    active_ = ::tcsetattr(terminal_, TCSAFLUSH, &quiet) == 0;
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    if (active_) ::tcsetattr(terminal_, TCSAFLUSH, &before_);
  }
  bool active() const { return active_; }

 private:
  int terminal_;
  termios before_{};
  bool active_ = false;
};

// Byte by byte: nothing that follows the line is taken, and no buffer keeps a copy.
Result<wire::Passphrase> read_line(int fd, std::string_view whence) {
  wire::Passphrase out;
  for (;;) {
    char c = 0;
    const ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(errc::usage,
                  "cannot read the passphrase from " + std::string(whence) + ": " + std::strerror(errno));
    }
    if (got == 0 || c == '\n') break;
    if (!out.append(c)) {
      return fail(errc::usage,
                  "the passphrase is longer than " + std::to_string(wire::Passphrase::kMaxBytes) + " bytes");
    }
  }
  if (out.empty()) return fail(errc::usage, "no passphrase came from " + std::string(whence));
  return out;
}

Result<wire::Passphrase> ask_terminal(std::string_view prompt) {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal) {
    return fail(errc::usage,
                "the key has a passphrase, and there is no terminal to ask for it; hand it over with "
                "--passphrase-fd");
  }
  const Silence silence(terminal.get());
  if (!silence.active()) return fail(errc::usage, "the terminal cannot be kept from showing the passphrase");
  const std::string question = std::string(prompt) + ": ";
  if (::write(terminal.get(), question.data(), question.size()) < 0)
    return fail(errc::usage, "cannot write to the terminal");
  Result<wire::Passphrase> out = read_line(terminal.get(), "the terminal");
  [[maybe_unused]] const ssize_t newline = ::write(terminal.get(), "\n", 1);
  return out;
}

}  // namespace

void add_passphrase_option(CLI::App& command, PassphraseRequest& request) {
  command
      .add_option("--passphrase-fd", request.fd,
                  "Read the key's passphrase, one line, from this file descriptor; default: ask the terminal")
      ->type_name("N")
      ->check(CLI::Range(0, 65535).description(""));
}

Result<wire::Passphrase> read_passphrase(const PassphraseRequest& request, std::string_view prompt) {
  if (request.fd) return read_line(*request.fd, "file descriptor " + std::to_string(*request.fd));
  return ask_terminal(prompt);
}

Result<wire::Passphrase> read_new_passphrase(const PassphraseRequest& request) {
  Result<wire::Passphrase> first = read_passphrase(request, "New passphrase");
  if (!first || request.fd) return first;
  const Result<wire::Passphrase> second = ask_terminal("The same again");
  if (!second) return tl::unexpected<Error>(second.error());
  if (!(*first == *second))
    return fail(errc::usage, "the two passphrases differ; nothing was made, start again");
  return first;
}

wire::AskPassphrase ask_for(const PassphraseRequest& request, const std::string& key_file) {
  return [request, key_file] { return read_passphrase(request, "Passphrase of " + key_file); };
}

}  // namespace postern::cli
