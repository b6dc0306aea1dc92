// SPDX-License-Identifier: Apache-2.0
// An ordinary program of cv_bridge, compiled as it is and recompiled: prints what each function makes of many images, a line
// each. Both programs have to print the same.
#include <cv_bridge/cv_bridge.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <boost/weak_ptr.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

namespace {

const std::vector<std::string> kEncodings = {
    "mono8",        "mono16",       "bgr8",         "rgb8",        "bgra8",
    "rgba8",        "bgr16",        "rgb16",        "bgra16",      "rgba16",
    "bayer_rggb8",  "bayer_bggr8",  "bayer_gbrg8",  "bayer_grbg8", "bayer_rggb16",
    "bayer_bggr16", "bayer_gbrg16", "bayer_grbg16", "yuv422",      "8UC1",
    "8UC2",         "8UC3",         "8UC4",         "8SC1",        "16UC1",
    "16UC3",        "16UC4",        "16SC1",        "32SC1",       "32FC1",
    "32FC3",        "64FC1",        "8UC10",        "8UC",         "8U",
    "yuv422_yuy2",  "mono",         "mono32",       "nonsense",    ""};

template <class Bytes>
std::string hash(const Bytes& first, std::size_t count) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < count; ++i) sum = (sum ^ first[i]) * 0x100000001b3;
  return std::to_string(sum);
}

std::string words(const std_msgs::Header& header) {
  return std::to_string(header.seq) + " " + std::to_string(header.stamp.toNSec()) + " " + std::string(header.frame_id);
}

std::string words(const cv_bridge::CvImageConstPtr& image) {
  if (!image) return "null";
  const cv::Mat pixels = image->image.clone();
  return words(image->header) + " " + image->encoding + " " + std::to_string(pixels.cols) + "x" +
         std::to_string(pixels.rows) + " type " + std::to_string(pixels.type()) + " " +
         hash(pixels.data, pixels.total() * pixels.elemSize());
}

std::string words(const sensor_msgs::Image& image) {
  return words(image.header) + " " + std::string(image.encoding) + " " + std::to_string(image.width) + "x" +
         std::to_string(image.height) + " step " + std::to_string(image.step) + " order " +
         std::to_string(image.is_bigendian) + " bytes " + std::to_string(image.data.size()) + " " +
         hash(image.data.data(), image.data.size());
}

std::string words(const sensor_msgs::CompressedImage& image) {
  return words(image.header) + " " + std::string(image.format) + " bytes " + std::to_string(image.data.size()) + " " +
         hash(image.data.data(), image.data.size());
}

using Made = std::function<std::string()>;

void show(const std::string& what, const Made& made) {
  std::cout << what << ": ";
  try {
    std::cout << made();
  } catch (const cv_bridge::Exception&) {
    std::cout << "cv_bridge::Exception";
  } catch (const cv::Exception&) {
    std::cout << "cv::Exception";
  } catch (const std::runtime_error&) {
    std::cout << "std::runtime_error";
  }
  std::cout << '\n';
}

/// The same for one of many encodings.
void show(const std::string& what, const char* how, const std::string& encoding, const Made& made) {
  std::cout << what << ' ' << how << ' ';
  show(encoding, made);
}

std::size_t pixel_bytes(const std::string& encoding) {
  try {
    return static_cast<std::size_t>(CV_ELEM_SIZE(cv_bridge::getCvType(encoding)));
  } catch (const cv_bridge::Exception&) {
    return 1;
  }
}

sensor_msgs::ImagePtr message(const std::string& encoding, bool bigendian, std::uint32_t padding,
                              std::uint32_t width = 12, std::uint32_t height = 6) {
  sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
  image->header.seq = 5;
  image->header.stamp = ros::Time(12, 34);
  image->header.frame_id = "camera";
  image->width = width;
  image->height = height;
  image->encoding = encoding;
  image->is_bigendian = bigendian;
  image->step = static_cast<std::uint32_t>(width * pixel_bytes(encoding)) + padding;
  image->data.resize(std::size_t{image->step} * height);
  std::uint32_t state = 1;
  for (auto& byte : image->data) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  if (encoding.rfind("32F", 0) == 0 || encoding.rfind("64F", 0) == 0) {  // numbers, or a pixel may be no number
    for (std::size_t i = 3; i < image->data.size(); ++i) {
      if (i % 4 == 3) image->data[i] = 0x40;
    }
  }
  return image;
}

void conversions() {
  for (const std::string& from : kEncodings) {
    show("type " + from, [&] { return std::to_string(cv_bridge::getCvType(from)); });
    for (const bool bigendian : {false, true}) {
      for (const std::uint32_t padding : {0u, 8u}) {
        const sensor_msgs::ImagePtr source = message(from, bigendian, padding);
        const std::string name = from + (bigendian ? " big-endian" : "") + (padding > 0 ? " padded" : "");
        for (const std::string& to : kEncodings) {
          show(name, "copied as", to, [&] { return words(cv_bridge::toCvCopy(source, to)); });
          show(name, "shared as", to, [&] { return words(cv_bridge::toCvShare(source, to)); });
          show(name, "tracked as", to, [&] { return words(cv_bridge::toCvShare(*source, source, to)); });
          if (bigendian) continue;
          show(name, "converted to", to, [&] { return words(cv_bridge::cvtColor(cv_bridge::toCvShare(source), to)); });
          show(name, "there and back to", to, [&] { return words(*cv_bridge::toCvCopy(source, to)->toImageMsg()); });
        }
        show(name + " shares the message's pixels", [&] {
          const cv_bridge::CvImageConstPtr shared = cv_bridge::toCvShare(source);
          const bool copied = cv_bridge::toCvCopy(source)->image.data != source->data.data();
          // Where the order of bytes does not matter, ours are shared and cv_bridge's are not: not compared.
          return bigendian ? "" : std::to_string(shared->image.data == source->data.data()) + std::to_string(copied);
        });
      }
    }
  }
}

void malformed() {
  const auto changed = [](const std::string& what, const std::function<void(sensor_msgs::Image&)>& change) {
    for (const char* const encoding : {"mono8", "bgr8", "mono16", "32FC1"}) {
      const sensor_msgs::ImagePtr image = message(encoding, false, 0);
      change(*image);
      show(std::string(encoding) + " with " + what, [&] { return words(cv_bridge::toCvShare(image)); });
      show(std::string(encoding) + " with " + what + " copied",
           [&] { return words(cv_bridge::toCvCopy(image, "bgr8")); });
    }
  };
  changed("a short step", [](sensor_msgs::Image& image) { --image.step; });
  changed("a step of 0", [](sensor_msgs::Image& image) { image.step = 0; });
  changed("a step that is long", [](sensor_msgs::Image& image) { ++image.step; });
  changed("a byte too few", [](sensor_msgs::Image& image) { image.data.pop_back(); });
  changed("a byte too many", [](sensor_msgs::Image& image) { image.data.push_back(0); });
  changed("a row too many", [](sensor_msgs::Image& image) { ++image.height; });
  changed("no pixels", [](sensor_msgs::Image& image) {
    image.width = image.height = image.step = 0;
    image.data.clear();
  });
  changed("one row, of an odd step", [](sensor_msgs::Image& image) {
    image.height = 1;
    ++image.step;
    image.data.resize(image.step);
  });
  changed("an odd step", [](sensor_msgs::Image& image) {
    ++image.step;
    image.data.resize(std::size_t{image.step} * image.height);
  });
}

void messages() {
  cv::Mat large(20, 30, CV_8UC3);
  for (int i = 0; i < 20 * 30 * 3; ++i) large.data[i] = static_cast<std::uint8_t>(7 * i);
  std_msgs::Header header;
  header.frame_id = "lens";
  const cv_bridge::CvImage part(header, "rgb8", large(cv::Rect(3, 4, 11, 9)));
  show("a part of an image", [&] { return words(*part.toImageMsg()); });
  show("a message that is written twice", [&] {
    sensor_msgs::Image image;
    cv_bridge::CvImage(header, "rgb8", large).toImageMsg(image);
    part.toImageMsg(image);
    return words(image);
  });
  show("an empty image", [&] { return words(*cv_bridge::CvImage(header, "mono8").toImageMsg()); });
  show("a default image", [&] { return words(*cv_bridge::CvImage().toImageMsg()); });
  show("compressed by default", [&] { return words(*part.toCompressedImageMsg()); });
  for (const auto format : {cv_bridge::BMP, cv_bridge::DIB, cv_bridge::JPG, cv_bridge::JPEG, cv_bridge::JPE,
                            cv_bridge::PNG, cv_bridge::PBM, cv_bridge::PGM, cv_bridge::PPM, cv_bridge::SR,
                            cv_bridge::RAS, cv_bridge::TIFF, cv_bridge::TIF, cv_bridge::JP2}) {
    for (const std::string& encoding : kEncodings) {
      const std::string name = encoding + " in format " + std::to_string(format);
      if (pixel_bytes(encoding) == 10) continue;
      sensor_msgs::CompressedImage file;
      show(name, [&] {
        cv_bridge::toCvCopy(message(encoding, false, 0))->toCompressedImageMsg(file, format);
        return words(file);
      });
      if (file.data.empty()) continue;
      const auto pointer = boost::make_shared<sensor_msgs::CompressedImage>(file);
      for (const char* const wanted : {"", "mono8", "rgb8", "bgra8", "mono16", "8UC3", "32FC1", "nonsense"}) {
        show(name + " read as " + wanted, [&] { return words(cv_bridge::toCvCopy(file, wanted)); });
        show(name + " read as " + wanted + " by pointer", [&] { return words(cv_bridge::toCvCopy(pointer, wanted)); });
      }
    }
  }
  for (const int type : {CV_8UC1, CV_8UC4, CV_16UC1, CV_16UC3}) {
    sensor_msgs::CompressedImage file;
    file.format = "png";
    std::vector<std::uint8_t> bytes;
    cv::imencode(".png", cv::Mat(5, 4, type, cv::Scalar::all(77)), bytes);
    file.data = bytes;
    for (const char* const wanted : {"", "mono8", "bgr8", "rgba8", "mono16", "bgr16"}) {
      show("png of type " + std::to_string(type) + " as " + wanted,
           [&] { return words(cv_bridge::toCvCopy(file, wanted)); });
    }
  }
  sensor_msgs::CompressedImage broken;
  broken.data = std::vector<std::uint8_t>{1, 2, 3};
  show("a broken file", [&] { return words(cv_bridge::toCvCopy(broken)); });
  show("an image whose encoding is not that of its pixels", [&] {
    return words(cv_bridge::cvtColor(boost::make_shared<cv_bridge::CvImage>(header, "mono8", large), "bgr8"));
  });
}

void displays() {
  std::vector<std::pair<std::string, cv_bridge::CvtColorForDisplayOptions>> all(6);
  all[0].first = "by default";
  all[1].first = "scaled";
  all[1].second.do_dynamic_scaling = true;
  all[2].first = "between two values";
  all[2].second.min_image_value = 2;
  all[2].second.max_image_value = 100;
  all[3].first = "scaled with colors";
  all[3].second.do_dynamic_scaling = true;
  all[3].second.colormap = cv::COLORMAP_HOT;
  all[4].first = "with another background";
  all[4].second.bg_label = 3;
  all[5].first = "between two values with colors";
  all[5].second.min_image_value = -5;
  all[5].second.max_image_value = 200;
  all[5].second.colormap = 2;
  for (const auto& options : all) {
    for (const std::string& from : kEncodings) {
      sensor_msgs::ImagePtr source = message(from, false, 0);
      if (from == "32SC1") {  // labels
        for (std::size_t i = 0; i < source->data.size(); ++i)
          source->data[i] = i % 4 == 0 ? static_cast<std::uint8_t>(i) : 0;
      }
      cv_bridge::CvImageConstPtr image;
      show("to show " + from, [&] { return words(image = cv_bridge::toCvShare(source)); });
      if (!image) continue;
      cv::Mat pixels = image->image.clone();
      std::memset(pixels.data, 9, pixels.total() * pixels.elemSize());
      const cv_bridge::CvImageConstPtr flat = boost::make_shared<cv_bridge::CvImage>(image->header, from, pixels);
      const cv_bridge::CvImageConstPtr typed =
          boost::make_shared<cv_bridge::CvImage>(image->header, "CV_" + from, image->image);
      for (const std::string& to : kEncodings) {
        const auto shown = [&](const char* which, const cv_bridge::CvImageConstPtr& given) {
          std::cout << which << from << ' ';
          show(options.first, "shown as", to, [&] {
            const cv_bridge::CvImageConstPtr result = cv_bridge::cvtColorForDisplay(given, to, options.second);
            return words(result) + (result == given ? " itself" : "");
          });
        };
        shown("", image);
        shown("flat ", flat);
        shown("CV_", typed);
      }
    }
  }
  show("no image shown", [&] { return words(cv_bridge::cvtColorForDisplay(cv_bridge::CvImageConstPtr())); });
}

std::string keeps_its_message() {
  sensor_msgs::ImagePtr source = message("mono8", false, 0);
  const boost::weak_ptr<sensor_msgs::Image> watched = source;
  cv_bridge::CvImageConstPtr shared = cv_bridge::toCvShare(sensor_msgs::ImageConstPtr(source));
  source.reset();
  const bool kept = !watched.expired();
  shared.reset();
  return std::to_string(kept) + " and then " + std::to_string(!watched.expired());
}

std::string serialized() {
  const cv_bridge::CvImagePtr image = cv_bridge::toCvCopy(message("bgr8", false, 0));
  const ros::SerializedMessage bytes = ros::serialization::serializeMessage(*image);
  std::cout << ros::message_traits::datatype(*image) << ' ' << ros::message_traits::md5sum(*image) << ' '
            << bytes.num_bytes << ' ' << hash(bytes.buf.get(), bytes.num_bytes) << *image << ' ';
  cv_bridge::CvImage read;
  ros::serialization::deserializeMessage(bytes, read);
  return words(boost::make_shared<cv_bridge::CvImage>(read));
}

}  // namespace

int main() {
  conversions();
  malformed();
  messages();
  displays();
  show("a shared image keeps its message", keeps_its_message);
  show("an image as a message", serialized);
}
