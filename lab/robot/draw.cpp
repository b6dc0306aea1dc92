// SPDX-License-Identifier: Apache-2.0
// Draws views as the camera does, for the video and the tests. Arguments: task, picture's width. For each line "TRAVELLED LIT" of its
// input it writes the RGB pixels of one picture.
#include <iostream>
#include <string>
#include <vector>

#include "picture.hpp"

using namespace baton::robot;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Task task = task_of(argv[1]);
  const Size size(static_cast<std::uint32_t>(std::stoul(argv[2])));
  std::vector<char> picture(size.bytes());
  double travelled = 0;
  for (bool lit = false; std::cin >> travelled >> lit;) {
    draw({task, travelled, lit ? Lamp::red : Lamp::none}, size, reinterpret_cast<std::uint8_t*>(picture.data()));
    std::cout.write(picture.data(), static_cast<std::streamsize>(picture.size()));
  }
}
