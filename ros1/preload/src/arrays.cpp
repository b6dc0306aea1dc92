// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>

#include "baton/containers/heap.hpp"
#include "baton/memory/arena.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::ros1 {
namespace {

// initial-exec: these are read in every large memcpy of the process.
thread_local Deserialization* deserialization __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local ArrayPlace::Watch* watch __attribute__((tls_model("initial-exec"))) = nullptr;

/// While this thread is inside, its calls are the library's own.
template <class T>
class Pause {
 public:
  explicit Pause(T*& current) noexcept : current_(current), was_(current) { current_ = nullptr; }
  ~Pause() { current_ = was_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  T*& current_;
  T* const was_;
};

constexpr std::size_t kElementBytes[] = {1, 2, 4, 8};
constexpr std::size_t kLargestElement = 8;

}  // namespace

struct HeldMessage {
  transport::TakenSample sample;                 // or
  std::optional<containers::Received> received;  // if its arrays may be aliased
  const std::uint8_t* begin = nullptr;
  std::size_t size = 0;
  std::shared_ptr<LearnedArrays> learned;

  bool contains(const std::uint8_t* address, std::size_t bytes) const {
    const auto at =
        static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin));
    return at <= size && bytes <= size - at;
  }
};

namespace {

/// Held messages by the addresses of their bytes.
class HeldMessages {
 public:
  static HeldMessages& instance() {
    static auto* const messages = new HeldMessages;  // never destroyed, as the links
    return *messages;
  }
  void add(const std::shared_ptr<HeldMessage>& message) {
    const os::Lock lock(mutex_);
    // A message that came twice, by two links, is aliased by one of them.
    messages_.emplace(message->begin, message);
  }
  void remove(const HeldMessage& message) {
    const os::Lock lock(mutex_);
    const auto found = messages_.find(message.begin);
    if (found != messages_.end() && found->second.get() == &message) messages_.erase(found);
  }
  std::shared_ptr<HeldMessage> find(const void* begin) {
    const os::Lock lock(mutex_);
    const auto found = messages_.find(begin);
    return found == messages_.end() ? nullptr : found->second;
  }

 private:
  os::Mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<HeldMessage>> messages_ BATON_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<LearnedArrays::Place> LearnedArrays::get() {
  const os::Lock lock(mutex_);
  return places_;
}

void LearnedArrays::learn(std::size_t number, const Place& place) {
  constexpr std::size_t kMost = 16;
  const os::Lock lock(mutex_);
  if (given_up_ || number >= kMost) return;
  if (places_.size() <= number) places_.resize(number + 1, Place{0, nullptr, 1});
  places_[number] = place;
}

void LearnedArrays::give_up() {
  const os::Lock lock(mutex_);
  given_up_ = true;
  places_.clear();
}

boost::shared_array<std::uint8_t> hold(transport::TakenSample sample, const std::uint8_t* begin, std::size_t size,
                                       std::shared_ptr<LearnedArrays> learned) {
  auto message = std::make_shared<HeldMessage>();
  message->begin = begin;
  message->size = size;
  message->learned = std::move(learned);
  Result<containers::Received> received = containers::Received::begin(sample, message->learned->quota);
  if (received) {
    message->received.emplace(std::move(*received));
    HeldMessages::instance().add(message);
  } else {
    message->sample = std::move(sample);
  }
  return {const_cast<std::uint8_t*>(begin), [message](std::uint8_t*) mutable {
            HeldMessages::instance().remove(*message);
            message.reset();
          }};
}

bool is_generated(const char* type) {
  // N <package> <Name>_ I SaIvE E E, with each name's length before it (Itanium C++ ABI, 5.1): ros::Image_<std::allocator<void>>.
  constexpr std::string_view kEnd = "_ISaIvEEE";
  std::string_view left = type;
  if (left.empty() || left[0] != 'N') return false;
  left.remove_prefix(1);
  for (int part = 0; part < 2; ++part) {
    std::size_t length = 0;
    while (!left.empty() && left[0] >= '0' && left[0] <= '9' && length < 1000) {
      length = length * 10 + static_cast<std::size_t>(left[0] - '0');
      left.remove_prefix(1);
    }
    if (length == 0 || length > left.size()) return false;
    left.remove_prefix(part == 0 ? length : length - 1);  // the second name's end is the first sign of kEnd
  }
  return left == kEnd;
}

Deserialization::Deserialization(const std::uint8_t* buffer, const char* type) {
  if (!memory::in_window(buffer)) return;
  message_ = HeldMessages::instance().find(buffer);
  if (!message_) return;
  if (!is_generated(type)) {
    message_.reset();
    return;
  }
  places_ = message_->learned->get();
  deserialization = this;
}

Deserialization::~Deserialization() {
  if (!message_) return;
  settle();
  deserialization = nullptr;
}

Deserialization* Deserialization::current() noexcept { return deserialization; }

/// The program has left the array's zeros and content behind it.
void Deserialization::settle() noexcept {
  if (array_.content != nullptr) message_->learned->give_up();  // memcpy was not seen
  array_ = {};
}

void* Deserialization::allocate(std::size_t bytes, const void* caller) noexcept {
  const Pause pause(deserialization);
  settle();
  const std::size_t number = number_++;
  if (number >= places_.size()) return nullptr;
  const LearnedArrays::Place& place = places_[number];
  if (place.caller != caller || place.offset < 4) return nullptr;
  const std::uint8_t* const content = message_->begin + place.offset;
  if (place.offset > message_->size || !message_->contains(content, bytes)) return nullptr;
  std::uint32_t count;
  std::memcpy(&count, content - 4, sizeof count);
  if (count * place.element_bytes != bytes) return nullptr;
  void* const address = message_->received->alias(content, bytes, kNewAlignment);
  if (address == nullptr) return nullptr;
  BATON_CRASH_POINT("ros1.aliased");
  array_ = {static_cast<std::uint8_t*>(address), bytes, caller, content, false};
  return address;
}

void Deserialization::allocated(void* address, std::size_t bytes, const void* caller) noexcept {
  array_ = {static_cast<std::uint8_t*>(address), bytes, caller, nullptr, false};
}

bool Deserialization::zeroed(const void* address, std::size_t bytes) noexcept {
  // libstdc++ stores the first element itself and gives the others to memset.
  const auto before = static_cast<std::size_t>(static_cast<const std::uint8_t*>(address) - array_.address);
  if (array_.address == nullptr || before > kLargestElement || before + bytes != array_.bytes) return false;
  array_.zeroed = true;
  return array_.content != nullptr;
}

bool Deserialization::copied(void* to, const void* from, std::size_t bytes) noexcept {
  if (to != array_.address || bytes != array_.bytes) return false;
  const Array array = array_;
  array_ = {};
  const auto* const source = static_cast<const std::uint8_t*>(from);
  if (array.content != nullptr) {
    if (array.content == source && array.zeroed) {
      std::memcpy(to, from, std::min(kLargestElement, bytes));  // was stored by the program
      return true;
    }
    const Pause pause(deserialization);
    message_->learned->give_up();  // the zeros were stored without memset, in pages of this process: no gain
    return false;
  }
  if (!array.zeroed || !message_->contains(source, bytes) || source - message_->begin < 4) return false;
  std::uint32_t count;
  std::memcpy(&count, source - 4, sizeof count);
  for (const std::size_t element_bytes : kElementBytes) {
    if (count * element_bytes != bytes) continue;
    const Pause pause(deserialization);
    try {
      message_->learned->learn(number_ - 1,
                               {static_cast<std::size_t>(source - message_->begin), array.caller, element_bytes});
    } catch (const std::bad_alloc&) {
    }
    break;
  }
  return false;
}

ArrayPlace::ArrayPlace(const std::string& definition) : may_shift_(false) {
  std::istringstream lines(definition);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("===", 0) == 0) return;  // the end of the message's own fields
    line.resize(std::min(line.size(), line.find('#')));
    std::istringstream words(line);
    std::string type;
    if (!(words >> type) || line.find('=') != std::string::npos) continue;  // a constant
    may_shift_ = type == "Header" || type == "std_msgs/Header";
    return;
  }
}

std::size_t ArrayPlace::shift() const noexcept {
  return may_shift_ ? (64 - at_.load(std::memory_order_relaxed) % 64) % 64 : 0;
}

ArrayPlace::Watch::Watch(ArrayPlace& place) noexcept : place_(place) { watch = this; }

ArrayPlace::Watch::~Watch() {
  watch = nullptr;
  if (largest_ != 0) place_.at_.store(at_, std::memory_order_relaxed);
}

ArrayPlace::Watch* ArrayPlace::Watch::current() noexcept { return watch; }

void ArrayPlace::Watch::buffer(const std::uint8_t* begin, std::size_t bytes) noexcept {
  begin_ = begin;
  bytes_ = bytes;
}

void ArrayPlace::Watch::copied(const void* to, std::size_t bytes) noexcept {
  const auto at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(to) - begin_);
  if (begin_ == nullptr || at >= bytes_ || bytes <= largest_) return;
  largest_ = bytes;
  at_ = at;
}

}  // namespace baton::ros1
