// SPDX-License-Identifier: Apache-2.0
#include "agent/event_question.h"

#include <doctest/doctest.h>

#include "agent/errors.h"
#include "ledger/errors.h"

using namespace postern;
using namespace postern::agent;
using wire::Json;

namespace {

const wire::PublicKey& node_key() {
  static const wire::PublicKey key = wire::SecretKey::generate().public_key();
  return key;
}

const std::map<wire::PublicKey, std::string>& names() {
  static const std::map<wire::PublicKey, std::string> kNames = {{node_key(), "gw1"}};
  return kNames;
}

Json one(Json value) {
  return Json::array({std::move(value)});
}

std::string refused(const Json& arguments) {
  const Result<EventQuestion> question = read_event_question(arguments, names());
  REQUIRE(!question);
  CHECK(question.error().code.kind == ErrorKind::usage);
  return question.error().context;
}

bool says(const Json& arguments, std::string_view what) {
  return refused(arguments).find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("nothing asked of the events is everything from the beginning") {
  const EventQuestion question = read_event_question(Json::object(), names()).value();
  CHECK(question.from == ledger::Cursor{});
  CHECK(question.limit == kMaxEventsAPage);
}

TEST_CASE("an author is asked for by the name in the snapshot or by the key") {
  for (const std::string& author : {std::string("gw1"), node_key().text()}) {
    const auto question = read_event_question(Json::object({{"authors", one(author)}}), names());
    REQUIRE(question);
    CHECK(question->filter.authors == std::vector<wire::PublicKey>{node_key()});
  }
}

TEST_CASE("a question about events that makes no sense is refused with what was expected") {
  CHECK(says(Json::object({{"kinds", one("AuthorityAdoptd")}}), "AuthorityAdopted"));
  CHECK(says(Json::object({{"kinds", one(Json(3))}}), "expected kinds of events"));
  CHECK(says(Json::object({{"kinds", "StreamOpened"}}), "expected an array"));
  CHECK(says(Json::object({{"authors", one("gw9")}}), "gw1"));
  CHECK(says(Json::object({{"stream", "abc"}}), "32 lower-case hex digits"));
  CHECK(says(Json::object({{"limit", 0}}), "from 1 to 1000"));
  CHECK(says(Json::object({{"limit", 1001}}), "from 1 to 1000"));
  CHECK(says(Json::object({{"since", -1}}), "from 0"));
  CHECK(says(Json::object({{"until_ms", "today"}}), "expected an integer"));
  CHECK(says(Json::object({{"cursor", 7}}), "expected a string"));
  CHECK(says(Json::object({{"cursor", "abc"}}), "three parts"));
  CHECK(says(Json::object({{"form", "long"}}), "not known here"));
}
