// SPDX-License-Identifier: Apache-2.0
#include "sequence.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tum_slam {

std::vector<ListedImage> read_list(const std::string& folder) {
  const std::string list = folder + "/rgb.txt";
  std::ifstream lines(list);
  if (!lines) throw std::runtime_error(list + ": cannot be read; a sequence of TUM RGB-D has this list of its images");
  std::vector<ListedImage> images;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    words >> std::ws;
    if (words.eof() || words.peek() == '#') continue;
    const std::string place = list + ":" + std::to_string(number) + ": ";
    ListedImage image;
    std::string more;
    if (!(words >> image.time >> image.file) || words >> more)
      throw std::runtime_error(place + "'" + line + "' is no line of the form 'timestamp file'");
    image.file = folder + "/" + image.file;
    if (!std::filesystem::is_regular_file(image.file))
      throw std::runtime_error(place + "there is no file " + image.file);
    images.push_back(image);
  }
  if (images.empty()) throw std::runtime_error(list + ": has no image");
  return images;
}

}  // namespace tum_slam
