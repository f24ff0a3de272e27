// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::wire;

TEST_CASE("a control request survives the way over the socket") {
  ControlRequest request;
  request.command = "owners";
  request.arguments = Json::object({{"segment", "blue"}});
  request.body_bytes = 17;
  const std::string line = encode_request(request);
  CHECK(line == "{\"arguments\":{\"segment\":\"blue\"},\"body_bytes\":17,\"command\":\"owners\"}\n");
  const Result<ControlRequest> back = parse_request(line);
  REQUIRE(back);
  CHECK(back->command == "owners");
  CHECK(back->arguments == request.arguments);
  CHECK(back->body_bytes == 17);
}

TEST_CASE("a control request that is not the grammar's is refused as misuse") {
  const std::string_view bad[] = {
      "",
      "\n",
      "status\n",
      "[]\n",
      "{\"arguments\":{},\"body_bytes\":0}\n",
      "{\"arguments\":[],\"body_bytes\":0,\"command\":\"status\"}\n",
      "{\"arguments\":{},\"body_bytes\":-1,\"command\":\"status\"}\n",
      "{\"arguments\":{},\"body_bytes\":0,\"command\":7}\n",
      "{\"arguments\":{},\"body_bytes\":0,\"command\":\"status\",\"extra\":1}\n",
      "{\"command\":\"status\",\"arguments\":{},\"body_bytes\":0}\n",
      "{\"arguments\":{},\"body_bytes\":0,\"command\":\"status\"}\n\n",
  };
  for (const std::string_view line : bad) {
    CAPTURE(line);
    const Result<ControlRequest> request = parse_request(line);
    REQUIRE_FALSE(request);
    CHECK(request.error().code == wire::errc::control_malformed);
    CHECK(exit_code(request.error().code.kind) == 2);
  }
}

TEST_CASE("a result comes back as the value that was sent") {
  const Json value = Json::object({{"schema", "postern/status/v1"}, {"serial", 7}});
  const Result<ControlAnswer> answer = parse_answer(encode_answer(Result<Json>(value)));
  REQUIRE(answer);
  CHECK_FALSE(answer->error);
  CHECK(answer->result == value);
}

TEST_CASE("an error carries its code, its exit code and its sentence") {
  constexpr ErrorCode kRollback{"snapshot.rollback", ErrorKind::authority};
  const std::string line = encode_answer(Result<Json>(fail(kRollback, "serial 3 is older than 5")));
  CHECK(line ==
        "{\"error\":{\"code\":\"snapshot.rollback\",\"exit\":5,\"message\":\"serial 3 is older than 5\"}}\n");
  const Result<ControlAnswer> answer = parse_answer(line);
  REQUIRE(answer);
  REQUIRE(answer->error);
  CHECK(answer->error->code == "snapshot.rollback");
  CHECK(answer->error->exit == 5);
  CHECK(answer->error->message == "serial 3 is older than 5");
}

TEST_CASE("an error that quotes broken UTF-8 still makes a readable answer") {
  constexpr ErrorCode kCode{"config.syntax", ErrorKind::config};
  const Result<ControlAnswer> answer =
      parse_answer(encode_answer(Result<Json>(fail(kCode, "key \"\xff\xc3\""))));
  REQUIRE(answer);
  REQUIRE(answer->error);
  CHECK(answer->error->message == "key \"??\"");
}

TEST_CASE("a line that is no answer is refused") {
  const std::string_view bad[] = {
      "",
      "{}\n",
      "{\"error\":{\"code\":\"a\",\"exit\":0,\"message\":\"\"}}\n",
      "{\"error\":{\"code\":\"a\",\"exit\":1}}\n",
      "{\"error\":{\"code\":\"a\",\"exit\":1,\"message\":\"\"},\"result\":1}\n",
      "{\"result\":1,\"then\":2}\n",
  };
  for (const std::string_view line : bad) {
    CAPTURE(line);
    const Result<ControlAnswer> answer = parse_answer(line);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == wire::errc::control_malformed);
  }
}
