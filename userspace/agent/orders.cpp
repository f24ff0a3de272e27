// SPDX-License-Identifier: Apache-2.0
#include "agent/orders.h"

#include <pthread.h>

#include <asio/post.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <utility>

namespace postern::agent {
namespace {

constexpr std::chrono::milliseconds kTurns{10};

}  // namespace

OrderThread::OrderThread(asio::io_context& io) : io_(io), thread_([this] { run(); }) {}

OrderThread::~OrderThread() {
  finish();
  thread_.join();
}

void OrderThread::submit(Step order) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(order));
  wake_.notify_one();
}

void OrderThread::on_loop(const Step& turn) {
  if (std::this_thread::get_id() == loop_) return turn();
  std::promise<void> over;
  asio::post(io_, [&] {
    turn();
    over.set_value();
  });
  over.get_future().wait();
}

void OrderThread::run() {
  ::pthread_setname_np(::pthread_self(), "orders");
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) break;
    Step order = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    order();
    order = nullptr;  // what it holds goes with it
    lock.lock();
  }
  ended_ = true;
}

void OrderThread::finish() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  wake_.notify_one();
  while (!ended_) {
    lock.unlock();
    try {
      io_.restart();
      io_.run_for(kTurns);
    } catch (const std::exception&) {
      // What a turn throws ended the loop before; the order waits for its own turn.
    }
    lock.lock();
  }
  waiting_.clear();
}

}  // namespace postern::agent
