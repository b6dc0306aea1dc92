// SPDX-License-Identifier: Apache-2.0
// A stock roscpp program that publishes and receives serialized messages of any type.
//   source [TOPIC FILE]...   Publishes the messages of FILE: a line each with type, MD5 sum, bytes of the definition, and number of
//                       messages; the definition; then length and bytes of each message. Lines of its input: "subscribers N"
//                       waits for so many on each topic, "publish N" publishes the next N of each;
//                       "try" publishes the next one without counting it, "try_last" the last one; "rewind" makes the first one the
//                       next.
//   sink [TOPIC FILE]...     Writes length and bytes of each message to FILE, and prints a line for each.
#include <chrono>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include "raw_message.hpp"

namespace {

struct Source {
  std::ifstream file;
  RawMessage message;
  ros::Publisher publisher;
  std::istream::pos_type first, last;

  Source(ros::NodeHandle& node, const std::string& topic, const char* path) : file(path, std::ios::binary) {
    std::size_t definition_bytes = 0, count = 0;
    std::getline(file, message.type);
    std::getline(file, message.md5);
    file >> definition_bytes >> count;
    file.ignore(1);
    message.definition.resize(definition_bytes);
    file.read(message.definition.data(), static_cast<std::streamsize>(definition_bytes));
    first = last = file.tellg();
    for (std::uint32_t bytes = 0; count > 1; --count) {
      file.read(reinterpret_cast<char*>(&bytes), sizeof bytes);
      file.ignore(bytes);
      last = file.tellg();
    }
    file.seekg(first);
    ros::AdvertiseOptions options(topic, 1000, message.md5, message.type, message.definition);
    publisher = node.advertise(options);
  }
  bool publish() {
    std::uint32_t bytes = 0;
    if (!file.read(reinterpret_cast<char*>(&bytes), sizeof bytes)) return false;
    message.bytes.resize(bytes);
    file.read(reinterpret_cast<char*>(message.bytes.data()), bytes);
    publisher.publish(message);
    return true;
  }
};

int source(int pairs, char** words) {
  ros::NodeHandle node;
  std::deque<Source> sources;
  for (int i = 0; i < pairs; ++i) sources.emplace_back(node, words[2 * i], words[2 * i + 1]);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string word;
    std::size_t number = 0;
    in >> word >> number;
    for (Source& source : sources) {
      if (word == "subscribers") {
        while (source.publisher.getNumSubscribers() < number) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      if (word == "rewind") source.file.seekg(source.first);
      if (word == "try" || word == "try_last") {
        const auto next = source.file.tellg();
        if (word == "try_last") source.file.seekg(source.last);
        if (!source.publish()) return 4;
        source.file.seekg(next);
      }
      for (std::size_t i = 0; word == "publish" && i < number; ++i) {
        if (!source.publish()) return 4;
      }
    }
    std::cout << "done " << line << std::endl;
  }
  return 0;
}

int sink(int pairs, char** words) {
  std::deque<std::ofstream> files;
  ros::NodeHandle node;
  std::vector<ros::Subscriber> subscribers;
  for (int i = 0; i < pairs; ++i) {
    std::ofstream& file = files.emplace_back(words[2 * i + 1], std::ios::binary);
    const boost::function<void(const boost::shared_ptr<const RawMessage>&)> callback =
        [&file](const boost::shared_ptr<const RawMessage>& message) {
          const auto bytes = static_cast<std::uint32_t>(message->bytes.size());
          file.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
          file.write(reinterpret_cast<const char*>(message->bytes.data()), bytes);
          file.flush();
          std::cout << message->type << ' ' << bytes << std::endl;
        };
    subscribers.push_back(node.subscribe<RawMessage>(words[2 * i], 1000, callback));
  }
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "raw", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc < 4 || argc % 2 != 0) return 2;
  const int pairs = argc / 2 - 1;
  return std::string(argv[1]) == "source" ? source(pairs, argv + 2) : sink(pairs, argv + 2);
}
