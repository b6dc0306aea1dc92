// SPDX-License-Identifier: Apache-2.0
#include "socket_link.hpp"

#include <array>
#include <asio.hpp>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace baton::demo {
namespace {

using Protocol = asio::local::stream_protocol;
using Buffer = std::vector<std::uint8_t>;
constexpr std::size_t kDepth = 4;  // frames queued per receiver, as the Baton link's depth

std::string socket_path(const std::string& directory, const std::string& channel) {
  std::string name = channel;
  for (char& c : name)
    if (c == '/') c = '_';
  return directory + "/" + name + ".stream";
}

// The ROS 1 wire format of sensor_msgs/Image, written as roscpp's generated code does: one pass over the payload.
void put(Buffer& out, const void* data, std::size_t bytes) {
  const auto* first = static_cast<const std::uint8_t*>(data);
  out.insert(out.end(), first, first + bytes);
}
template <class T>
void put(Buffer& out, T value) {
  put(out, &value, sizeof value);
}

Buffer serialize(const Image& image) {
  Buffer out;
  out.reserve(64 + image.header.frame_id.size() + image.encoding.size() + image.data.size());
  put(out, image.header.seq);
  put(out, image.header.stamp.sec);
  put(out, image.header.stamp.nanosec);
  for (const sfm::String* text : {&image.header.frame_id, &image.encoding}) {
    if (text == &image.encoding) {
      put(out, image.height);
      put(out, image.width);
    }
    put(out, static_cast<std::uint32_t>(text->size()));
    put(out, text->data(), text->size());
  }
  put(out, image.is_bigendian);
  put(out, image.step);
  put(out, static_cast<std::uint32_t>(image.data.size()));
  put(out, image.data.data(), image.data.size());
  return out;
}

class WireReader {
 public:
  explicit WireReader(const Buffer& buffer) : buffer_(buffer) {}
  const std::uint8_t* take(std::size_t bytes) {
    if (bytes > buffer_.size() - at_) throw std::runtime_error("socket: an image ends early");
    at_ += bytes;
    return buffer_.data() + at_ - bytes;
  }
  template <class T>
  void get(T& value) {
    std::memcpy(&value, take(sizeof value), sizeof value);
  }
  std::string_view text() {
    std::uint32_t length;
    get(length);
    return {reinterpret_cast<const char*>(take(length)), length};
  }

 private:
  const Buffer& buffer_;
  std::size_t at_ = 0;
};

void deserialize(const Buffer& buffer, Image& image) {
  WireReader reader(buffer);
  reader.get(image.header.seq);
  reader.get(image.header.stamp.sec);
  reader.get(image.header.stamp.nanosec);
  image.header.frame_id = reader.text();
  reader.get(image.height);
  reader.get(image.width);
  image.encoding = reader.text();
  reader.get(image.is_bigendian);
  reader.get(image.step);
  const std::string_view data = reader.text();
  image.data.resize_for_overwrite(data.size());
  std::memcpy(image.data.data(), data.data(), data.size());
}

std::array<std::uint8_t, 4> little_endian(std::uint32_t v) {
  return {static_cast<std::uint8_t>(v), static_cast<std::uint8_t>(v >> 8), static_cast<std::uint8_t>(v >> 16),
          static_cast<std::uint8_t>(v >> 24)};
}

// One receiver: a thread that writes what the queue holds; the oldest frame is dropped when the receiver is too slow.
class Session {
 public:
  explicit Session(Protocol::socket socket) : socket_(std::move(socket)), thread_([this] { run(); }) {}
  ~Session() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    condition_.notify_one();
    asio::error_code ignored;
    socket_.shutdown(Protocol::socket::shutdown_both, ignored);
    thread_.join();
  }
  void push(std::shared_ptr<const Buffer> buffer) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (queue_.size() == kDepth) {
        queue_.pop_front();
        ++dropped_;
      }
      queue_.push_back(std::move(buffer));
    }
    condition_.notify_one();
  }
  std::uint64_t sent_bytes() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return sent_bytes_;
  }
  std::uint64_t sent() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return sent_;
  }
  std::uint64_t dropped() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return dropped_;
  }

 private:
  void run() {
    for (;;) {
      std::shared_ptr<const Buffer> buffer;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        condition_.wait(lock, [&] { return closed_ || !queue_.empty(); });
        if (closed_) return;
        buffer = std::move(queue_.front());
        queue_.pop_front();
      }
      const auto length = little_endian(static_cast<std::uint32_t>(buffer->size()));
      asio::error_code error;
      asio::write(socket_, std::array<asio::const_buffer, 2>{asio::buffer(length), asio::buffer(*buffer)}, error);
      if (error) return;  // the receiver is gone
      std::lock_guard<std::mutex> lock(mutex_);
      sent_bytes_ += buffer->size();
      ++sent_;
    }
  }

  Protocol::socket socket_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::shared_ptr<const Buffer>> queue_;
  std::uint64_t sent_ = 0, sent_bytes_ = 0, dropped_ = 0;
  bool closed_ = false;
  std::thread thread_;
};

class SocketSender final : public ImageSender {
 public:
  SocketSender(const std::string& directory, const std::string& channel)
      : acceptor_(context_, Protocol::endpoint(socket_path(directory, channel))) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~SocketSender() override {
    context_.stop();
    thread_.join();
  }
  void send(const std::function<void(Image&)>& fill, const std::function<void(Image&)>& stamp) override {
    fill(image_);
    stamp(image_);
    auto buffer = std::make_shared<const Buffer>(serialize(image_));
    ++counters_.messages;
    ++counters_.copies;  // serialize
    counters_.copied_bytes += buffer->size();
    std::lock_guard<std::mutex> lock(mutex_);
    for (Session& session : sessions_) session.push(buffer);
  }
  std::uint32_t receivers() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<std::uint32_t>(sessions_.size());
  }
  LinkCounters counters() const override {
    LinkCounters result = counters_;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Session& session : sessions_) {
      result.copies += session.sent();  // write(2) copies into the kernel
      result.copied_bytes += session.sent_bytes();
      result.lost += session.dropped();
    }
    return result;
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const asio::error_code& error, Protocol::socket socket) {
      if (error) return;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        sessions_.emplace_back(std::move(socket));
      }
      accept();
    });
  }

  asio::io_context context_;
  Protocol::acceptor acceptor_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::list<Session> sessions_;
  Image image_;
  LinkCounters counters_;
};

class SocketReceiver final : public ImageReceiver {
 public:
  SocketReceiver(const std::string& directory, const std::string& channel) : socket_(context_) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const Protocol::endpoint endpoint(socket_path(directory, channel));
    asio::error_code error;
    while (socket_.connect(endpoint, error)) {
      socket_.close();
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no camera at " + endpoint.path());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  bool receive(std::chrono::milliseconds timeout, const std::function<void(const Image&)>& use) override {
    if (!reading_) {
      reading_ = true;
      asio::async_read(socket_, asio::buffer(length_), [this](const asio::error_code& error, std::size_t) {
        if (error) return;
        buffer_.resize(length_[0] | length_[1] << 8 | length_[2] << 16 | static_cast<std::uint32_t>(length_[3]) << 24);
        asio::async_read(socket_, asio::buffer(buffer_),
                         [this](const asio::error_code& body_error, std::size_t) { complete_ = !body_error; });
      });
    }
    context_.restart();
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!complete_ && context_.run_one_until(deadline) > 0) {
    }
    if (!complete_) {
      // Nothing pending any more means that the camera hung up: then do not spin, the caller's patience ends the stream.
      if (context_.stopped()) std::this_thread::sleep_until(deadline);
      return false;
    }
    complete_ = reading_ = false;
    deserialize(buffer_, image_);
    ++counters_.messages;
    counters_.copies += 2;  // read(2) out of the kernel, deserialize
    counters_.copied_bytes += 2 * buffer_.size();
    use(image_);
    return true;
  }
  LinkCounters counters() const override { return counters_; }

 private:
  asio::io_context context_;
  Protocol::socket socket_;
  std::array<std::uint8_t, 4> length_{};
  Buffer buffer_;
  bool reading_ = false, complete_ = false;
  Image image_;
  LinkCounters counters_;
};

}  // namespace

std::unique_ptr<ImageSender> make_socket_sender(const std::string& directory, const std::string& channel) {
  return std::make_unique<SocketSender>(directory, channel);
}
std::unique_ptr<ImageReceiver> make_socket_receiver(const std::string& directory, const std::string& channel) {
  return std::make_unique<SocketReceiver>(directory, channel);
}

}  // namespace baton::demo
