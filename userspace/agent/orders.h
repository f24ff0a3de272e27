// SPDX-License-Identifier: Apache-2.0
// Where orders run that change what is served: one after another, in the order in which they came, and beside
// the event loop where they take long. What an order does is done in turns of the loop, but for the long
// parts that touch nothing of it: verifying, compiling, filling maps that nobody reaches yet. So a gateway
// that adopts a million prefixes goes on to renew its leases, and whoever writes an order reads it from top
// to bottom.
#pragma once

#include <asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace postern::agent {

class Orders {
 public:
  using Step = std::function<void()>;

  virtual ~Orders() = default;
  // Runs the order after those before it.
  virtual void submit(Step order) = 0;
  // For an order: runs `turn` as a turn of the loop, and comes back when it is over.
  virtual void on_loop(const Step& turn) = 0;
};

// Where there is no loop: all happens at once.
class ImmediateOrders final : public Orders {
 public:
  void submit(Step order) override { order(); }
  void on_loop(const Step& turn) override { turn(); }
};

// On a thread of their own. To be made on the loop's thread, and destroyed after finish().
class OrderThread final : public Orders {
 public:
  explicit OrderThread(asio::io_context& io);
  OrderThread(const OrderThread&) = delete;
  OrderThread& operator=(const OrderThread&) = delete;
  ~OrderThread() override;

  // Any thread.
  void submit(Step order) override;
  // The loop's thread too, for a part that an order and a turn of the loop have in common.
  void on_loop(const Step& turn) override;
  // When the loop has ended: sees the order that runs to its end, and drops those behind it.
  void finish();

 private:
  void run();

  asio::io_context& io_;
  const std::thread::id loop_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Step> waiting_;
  bool ending_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace postern::agent
