// SPDX-License-Identifier: Apache-2.0
#include "video.hpp"

#include <cstring>
#include <stdexcept>

namespace baton::demo {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error("video '" + path + "': " + what);
}

}  // namespace

Video::Video(const std::string& path, FrameSize stored, FrameSize wanted)
    : path_(path),
      file_(path, std::ios::binary | std::ios::ate),
      stored_(stored),
      wanted_(wanted),
      frame_(stored.bytes()),
      columns_(wanted.width) {
  if (!file_) fail(path, "cannot be opened");
  const auto bytes = static_cast<std::size_t>(file_.tellg());
  frames_ = bytes / stored.bytes();
  if (frames_ == 0 || bytes % stored.bytes() != 0)
    fail(path, std::to_string(bytes) + " bytes are no whole RGB frames of " + std::to_string(stored.width) + " x " +
                   std::to_string(stored.height));
  for (std::size_t x = 0; x < wanted.width; ++x) columns_[x] = 3 * (x * stored.width / wanted.width);
}

void Video::next(std::uint8_t* rgb) {
  file_.seekg(static_cast<std::streamoff>(position_ * stored_.bytes()));
  if (!file_.read(reinterpret_cast<char*>(frame_.data()), static_cast<std::streamsize>(frame_.size())))
    fail(path_, "frame " + std::to_string(position_) + " cannot be read");
  position_ = (position_ + 1) % frames_;
  const std::size_t row_bytes = 3 * wanted_.width;
  std::size_t above = stored_.height;  // the stored row of the row before; none yet
  for (std::size_t y = 0; y < wanted_.height; ++y, rgb += row_bytes) {
    const std::size_t row = y * stored_.height / wanted_.height;
    if (row == above) {
      std::memcpy(rgb, rgb - row_bytes, row_bytes);
      continue;
    }
    above = row;
    const std::uint8_t* from = frame_.data() + row * 3 * stored_.width;
    std::uint8_t* to = rgb;
    for (const std::size_t column : columns_) {
      to[0] = from[column];
      to[1] = from[column + 1];
      to[2] = from[column + 2];
      to += 3;
    }
  }
}

}  // namespace baton::demo
