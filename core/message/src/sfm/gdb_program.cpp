// SPDX-License-Identifier: Apache-2.0
// The program that the test of packaging/gdb/baton_printers.py debugs: messages in private memory and in a (model) chunk.
#include "testing/messages.hpp"
#include "testing/test_chunk.hpp"

using namespace baton::message::testing;

__attribute__((noinline)) void stop_here(const Image& image, const PointCloud& cloud, const Strings& strings) {
  asm volatile("" ::"g"(&image), "g"(&cloud), "g"(&strings) : "memory");
}

int main() {
  Image image;
  image.encoding = "rgb8";
  image.data = {1, 2, 3};
  Loaned<PointCloud> cloud;
  cloud->header.frame_id = "map";
  cloud->channels.resize(2);
  cloud->channels[1].name = "intensity";
  cloud->channels[1].values = {1.5f};
  Strings strings;
  strings.wide = u"wide";
  strings.lines.push_back("line");
  stop_here(image, *cloud, strings);
}
