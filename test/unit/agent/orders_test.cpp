// SPDX-License-Identifier: Apache-2.0
#include "agent/orders.h"

#include <doctest/doctest.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <future>
#include <memory>
#include <string>

namespace postern::agent {
namespace {

void run_until_stopped(asio::io_context& io) {
  const auto guard = asio::make_work_guard(io);
  io.run();
}

TEST_CASE("the loop goes on while an order takes long, and its turns are turns of the loop") {
  asio::io_context io;
  OrderThread orders(io);
  std::promise<void> released;
  std::string story;
  orders.submit([&] {
    orders.on_loop([&] { story += "begun "; });
    released.get_future().wait();  // the loop must run for this to end
    orders.on_loop([&] {
      story += "done";
      io.stop();
    });
  });
  asio::steady_timer timer(io, std::chrono::milliseconds(50));
  timer.async_wait([&](const std::error_code&) {
    story += "meanwhile ";
    released.set_value();
  });
  run_until_stopped(io);
  CHECK(story == "begun meanwhile done");
}

TEST_CASE("orders run one after another, in the order in which they came, whoever gave them") {
  asio::io_context io;
  OrderThread orders(io);
  std::string story;
  std::atomic<int> under_way = 0;
  for (char name = 'a'; name <= 'h'; ++name) {
    orders.submit([&, name] {
      CHECK(++under_way == 1);
      orders.on_loop([&, name] { story += name; });
      --under_way;
    });
  }
  orders.submit([&] { orders.on_loop([&] { io.stop(); }); });
  run_until_stopped(io);
  CHECK(story == "abcdefgh");
}

TEST_CASE("an order that runs when the loop ends comes to its end, and those behind it do not begin") {
  asio::io_context io;
  OrderThread orders(io);
  bool first = false;
  bool second = false;
  std::promise<void> begun;
  const auto kept = std::make_shared<int>();
  orders.submit([&] {
    begun.set_value();
    orders.on_loop([] {});
    orders.on_loop([&] { first = true; });
  });
  orders.submit([&, kept] { second = true; });
  begun.get_future().wait();
  orders.finish();
  CHECK(first);
  CHECK_FALSE(second);
  CHECK(kept.use_count() == 1);
  orders.finish();
}

TEST_CASE("a turn that is asked for on the loop's own thread is taken at once") {
  asio::io_context io;
  OrderThread orders(io);
  bool taken = false;
  orders.on_loop([&] { taken = true; });
  CHECK(taken);
}

}  // namespace
}  // namespace postern::agent
