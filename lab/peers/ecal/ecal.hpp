// SPDX-License-Identifier: Apache-2.0
// Declarations for the part of eCAL 6's C++ library that peer.cpp calls; the wheel brings the library without headers.
// Types that are only passed on stay incomplete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace eCAL {

namespace Publisher {
/// The members that are used; the library's struct has more.
struct Configuration {
  struct {
    bool enable, zero_copy_mode;
    unsigned acknowledge_timeout_ms, memfile_buffer_count, memfile_min_size_bytes, memfile_reserve_percent;
  } shm;
  bool udp_enable, tcp_enable;
};
}  // namespace Publisher
namespace Subscriber {
struct Configuration;
}
struct STopicId;

struct SDataTypeInformation {
  std::string name, encoding, descriptor;
};

struct SReceiveCallbackData {
  const void* buffer;
  std::size_t buffer_size;
  std::int64_t send_timestamp, send_clock;
};

/// Writes a payload into its final place. The order of the functions is the library's.
class CPayloadWriter {
 public:
  virtual ~CPayloadWriter() = default;
  virtual bool WriteFull(void* buffer, std::size_t size) = 0;
  virtual bool WriteModified(void* buffer, std::size_t size) { return WriteFull(buffer, size); }
  virtual std::size_t GetSize() = 0;
};

bool Initialize(const std::string& unit_name, unsigned components);
bool Finalize();
bool Ok();
const Publisher::Configuration& GetPublisherConfiguration();
const Subscriber::Configuration& GetSubscriberConfiguration();

class CPublisher {
 public:
  CPublisher(const std::string& topic, const SDataTypeInformation& type, const Publisher::Configuration& configuration);
  virtual ~CPublisher();
  bool Send(CPayloadWriter& payload, long long time);

 private:
  std::shared_ptr<void> implementation_;
  void* room_[8];  // the library's class may be larger than this declaration
};

class CSubscriber {
 public:
  CSubscriber(const std::string& topic, const SDataTypeInformation& type,
              const Subscriber::Configuration& configuration);
  virtual ~CSubscriber();
  bool SetReceiveCallback(
      std::function<void(const STopicId&, const SDataTypeInformation&, const SReceiveCallbackData&)> callback);
  bool RemoveReceiveCallback();

 private:
  std::shared_ptr<void> implementation_;
  void* room_[8];
};

}  // namespace eCAL
