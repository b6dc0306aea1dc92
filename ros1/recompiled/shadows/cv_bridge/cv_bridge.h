// SPDX-License-Identifier: Apache-2.0
// In the place of cv_bridge's header of this name, with its interface, for recompiled programs. Includes <cv_bridge/rgb_colors.h> of
// the installed cv_bridge; the program links cv_bridge and OpenCV, as before.
//
// The stock library must not take the place of these functions, nor these of the stock library's: it was compiled with ROS's
// messages, and names such as cv_bridge::CvImage::toImageMsg() const or boost::make_shared<cv_bridge::CvImage>() say nothing of
// them. So everything that has a message in its parameters, result or members lies in an inline namespace: sources write
// cv_bridge::CvImage, and the linker sees cv_bridge::baton_recompiled::CvImage. (A source that declares `class CvImage;` itself
// does not compile: the name is then ambiguous.) Outside of it are those that the stock library defines and that know no message:
// getCvType(), rgb_colors::getRGBColor() and the class that they throw.
//
// Thread rules: none of their own.
#pragma once

#ifdef CV_BRIDGE_CV_BRIDGE_H
#error "cv_bridge's own cv_bridge.h was included before Baton's header of that name"
#endif
#define CV_BRIDGE_CV_BRIDGE_H

#include <cv_bridge/rgb_colors.h>
#include <ros/static_assert.h>
#include <sensor_msgs/CompressedImage.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/image_encodings.h>
#include <std_msgs/Header.h>

#include <opencv2/imgproc/types_c.h>
#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc/imgproc.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cv_bridge {

class Exception : public std::runtime_error {
 public:
  Exception(const std::string& description) : std::runtime_error(description) {}  // NOLINT(google-explicit-constructor)
};

/// OpenCV's type for an encoding. Throws Exception for an unknown one.
int getCvType(const std::string& encoding);

inline namespace baton_recompiled {

class CvImage;
typedef boost::shared_ptr<CvImage> CvImagePtr;
typedef boost::shared_ptr<CvImage const> CvImageConstPtr;

typedef enum { BMP, DIB, JPG, JPEG, JPE, JP2, PNG, PBM, PGM, PPM, SR, RAS, TIFF, TIF } Format;

class CvImage {
 public:
  std_msgs::Header header;
  std::string encoding;
  cv::Mat image;

  CvImage() {}
  CvImage(const std_msgs::Header& its_header, const std::string& its_encoding, const cv::Mat& its_image = cv::Mat())
      : header(its_header), encoding(its_encoding), image(its_image) {}

  /// The message lies in shared memory if this process publishes images: publishing it adds no copy.
  sensor_msgs::ImagePtr toImageMsg() const;
  sensor_msgs::CompressedImagePtr toCompressedImageMsg(const Format dst_format = JPG) const;
  void toImageMsg(sensor_msgs::Image& ros_image) const;
  void toCompressedImageMsg(sensor_msgs::CompressedImage& ros_image, const Format dst_format = JPG) const;

  typedef boost::shared_ptr<CvImage> Ptr;
  typedef boost::shared_ptr<CvImage const> ConstPtr;

 protected:
  boost::shared_ptr<void const> tracked_object_;

  friend CvImageConstPtr toCvShare(const sensor_msgs::Image& source,
                                   const boost::shared_ptr<void const>& tracked_object, const std::string& encoding);
};

struct CvtColorForDisplayOptions {
  CvtColorForDisplayOptions()
      : do_dynamic_scaling(false), min_image_value(0.0), max_image_value(0.0), colormap(-1), bg_label(-1) {}
  bool do_dynamic_scaling;
  double min_image_value;
  double max_image_value;
  int colormap;
  int bg_label;
};

namespace detail {

/// What OpenCV's codes of conversions distinguish.
enum class Color { kOther, kGray, kRgb, kBgr, kRgba, kBgra, kYuv422, kRggb, kBggr, kGbrg, kGrbg };

inline Color color_of(const std::string& encoding) {
  static const struct {
    const char* prefix;
    Color color;
  } kNames[] = {{"mono", Color::kGray},       {"rgba", Color::kRgba},       {"bgra", Color::kBgra},
                {"rgb", Color::kRgb},         {"bgr", Color::kBgr},         {"bayer_rggb", Color::kRggb},
                {"bayer_bggr", Color::kBggr}, {"bayer_gbrg", Color::kGbrg}, {"bayer_grbg", Color::kGrbg}};
  if (encoding == sensor_msgs::image_encodings::YUV422) return Color::kYuv422;
  for (const auto& name : kNames) {
    const std::string prefix = name.prefix;
    if (encoding == prefix + "8" || encoding == prefix + "16") return name.color;
  }
  return Color::kOther;
}

constexpr int kSameColor = -1, kNoConversion = -2;

/// OpenCV's code, or one of the constants above.
inline int conversion_code(Color from, Color to) {
  // OpenCV names a pattern by its second row's second and third pixel.
  static const struct {
    Color from;
    int gray, rgb, bgr, rgba, bgra;
  } kCodes[] = {
      {Color::kGray, kSameColor, cv::COLOR_GRAY2RGB, cv::COLOR_GRAY2BGR, cv::COLOR_GRAY2RGBA, cv::COLOR_GRAY2BGRA},
      {Color::kRgb, cv::COLOR_RGB2GRAY, kSameColor, cv::COLOR_RGB2BGR, cv::COLOR_RGB2RGBA, cv::COLOR_RGB2BGRA},
      {Color::kBgr, cv::COLOR_BGR2GRAY, cv::COLOR_BGR2RGB, kSameColor, cv::COLOR_BGR2RGBA, cv::COLOR_BGR2BGRA},
      {Color::kRgba, cv::COLOR_RGBA2GRAY, cv::COLOR_RGBA2RGB, cv::COLOR_RGBA2BGR, kSameColor, cv::COLOR_RGBA2BGRA},
      {Color::kBgra, cv::COLOR_BGRA2GRAY, cv::COLOR_BGRA2RGB, cv::COLOR_BGRA2BGR, cv::COLOR_BGRA2RGBA, kSameColor},
      {Color::kYuv422, cv::COLOR_YUV2GRAY_UYVY, cv::COLOR_YUV2RGB_UYVY, cv::COLOR_YUV2BGR_UYVY, cv::COLOR_YUV2RGBA_UYVY,
       cv::COLOR_YUV2BGRA_UYVY},
      {Color::kRggb, cv::COLOR_BayerBG2GRAY, cv::COLOR_BayerBG2RGB, cv::COLOR_BayerBG2BGR, kNoConversion,
       kNoConversion},
      {Color::kBggr, cv::COLOR_BayerRG2GRAY, cv::COLOR_BayerRG2RGB, cv::COLOR_BayerRG2BGR, kNoConversion,
       kNoConversion},
      {Color::kGbrg, cv::COLOR_BayerGR2GRAY, cv::COLOR_BayerGR2RGB, cv::COLOR_BayerGR2BGR, kNoConversion,
       kNoConversion},
      {Color::kGrbg, cv::COLOR_BayerGB2GRAY, cv::COLOR_BayerGB2RGB, cv::COLOR_BayerGB2BGR, kNoConversion,
       kNoConversion}};
  for (const auto& codes : kCodes) {
    if (codes.from != from) continue;
    switch (to) {
      case Color::kGray:
        return codes.gray;
      case Color::kRgb:
        return codes.rgb;
      case Color::kBgr:
        return codes.bgr;
      case Color::kRgba:
        return codes.rgba;
      case Color::kBgra:
        return codes.bgra;
      default:
        return kNoConversion;
    }
  }
  return kNoConversion;
}

/// `to` with the pixels of `from`, whose encoding differs. Throws Exception if there is no such conversion.
inline void convert(const cv::Mat& from, const std::string& from_encoding, cv::Mat& to,
                    const std::string& to_encoding) {
  using namespace sensor_msgs::image_encodings;
  const std::string what = "an image of encoding '" + from_encoding + "' cannot be converted to '" + to_encoding + "'";
  const Color from_color = color_of(from_encoding), to_color = color_of(to_encoding);
  const int from_channels = numChannels(from_encoding), to_channels = numChannels(to_encoding);
  int code = kSameColor;
  if (from_color == Color::kOther || to_color == Color::kOther) {
    // One of them says nothing of colors: the same numbers with another depth.
    if (to_color != Color::kOther)
      throw Exception(what + ": the first says nothing of colors; name its colors in the message");
    if (from_channels != to_channels) throw Exception(what + ": they differ in their number of channels");
  } else {
    code = conversion_code(from_color, to_color);
    if (code == kNoConversion) throw Exception(what + ": there is no such conversion");
  }
  cv::Mat colored;  // not `from` itself: OpenCV would convert the message's own pixels
  if (code != kSameColor) cv::cvtColor(from, colored, code);
  const int from_depth = bitDepth(from_encoding), to_depth = bitDepth(to_encoding);
  if (code != kSameColor && from_depth == to_depth) {
    to = colored;
    return;
  }
  // Between 8 and 16 bits white stays white; other depths keep the numbers.
  const double scale = from_depth == 8 && to_depth == 16   ? 65535. / 255.
                       : from_depth == 16 && to_depth == 8 ? 255. / 65535.
                                                           : 1.;
  (code != kSameColor ? colored : from).convertTo(to, CV_MAT_DEPTH(getCvType(to_encoding)), scale);
}

inline CvImagePtr converted(const std_msgs::Header& header, const cv::Mat& image, const std::string& encoding,
                            const std::string& wanted) {
  const CvImagePtr result = boost::make_shared<CvImage>();
  result->header = header;
  if (wanted.empty() || wanted == encoding) {
    result->encoding = encoding;
    image.copyTo(result->image);
  } else {
    result->encoding = wanted;
    convert(image, encoding, result->image, wanted);
  }
  return result;
}

inline bool has_other_byte_order(const sensor_msgs::Image& image, const std::string& encoding) {
  const bool machine = boost::endian::order::native == boost::endian::order::big;
  return (image.is_bigendian != 0) != machine && sensor_msgs::image_encodings::bitDepth(encoding) > 8;
}

/// OpenCV's view on the pixels where the message has them, whatever their byte order.
inline cv::Mat view_of(const sensor_msgs::Image& image, const std::string& encoding) {
  const int type = getCvType(encoding);
  const std::size_t pixel = static_cast<std::size_t>(sensor_msgs::image_encodings::bitDepth(encoding)) / 8 *
                            static_cast<std::size_t>(sensor_msgs::image_encodings::numChannels(encoding));
  const std::string size =
      std::to_string(image.width) + "x" + std::to_string(image.height) + " pixels of '" + encoding + "'";
  if (image.step < image.width * pixel) {
    throw Exception("the image of " + size + " has a step of only " + std::to_string(image.step) +
                    " bytes; a row needs " + std::to_string(image.width * pixel));
  }
  if (std::size_t{image.step} * image.height != image.data.size()) {
    throw Exception("the image of " + size + " has " + std::to_string(image.data.size()) + " bytes; height * step is " +
                    std::to_string(std::size_t{image.step} * image.height));
  }
  // const_cast: who gets it writes nothing to it, or copies.
  return cv::Mat(static_cast<int>(image.height), static_cast<int>(image.width), type,
                 const_cast<std::uint8_t*>(image.data.data()), image.step);
}

/// A copy in the other byte order. Its pixels have a channel for each byte, as those of cv_bridge have.
inline cv::Mat with_swapped_bytes(const cv::Mat& image) {
  const std::size_t number = image.elemSize1(), row = static_cast<std::size_t>(image.cols) * image.elemSize();
  if (image.elemSize() > CV_CN_MAX) throw Exception("big-endian pixels of more than 512 bytes cannot be read");
  cv::Mat swapped(image.rows, image.cols, CV_8UC(static_cast<int>(image.elemSize())));
  for (int y = 0; y < image.rows; ++y) {
    const std::uint8_t* const from = image.ptr(y);
    std::uint8_t* const to = swapped.ptr(y);
    for (std::size_t at = 0; at < row; at += number) std::reverse_copy(from + at, from + at + number, to + at);
  }
  return swapped;
}

}  // namespace detail

inline CvImagePtr toCvCopy(const sensor_msgs::Image& source, const std::string& encoding = std::string()) {
  const std::string own(source.encoding);
  const cv::Mat view = detail::view_of(source, own);
  const bool swap = detail::has_other_byte_order(source, own);
  return detail::converted(source.header, swap ? detail::with_swapped_bytes(view) : view, own, encoding);
}

inline CvImagePtr toCvCopy(const sensor_msgs::ImageConstPtr& source, const std::string& encoding = std::string()) {
  return toCvCopy(*source, encoding);
}

inline CvImagePtr toCvCopy(const sensor_msgs::CompressedImage& source, const std::string& encoding = std::string()) {
  using namespace sensor_msgs::image_encodings;
  const cv::Mat file(1, static_cast<int>(source.data.size()), CV_8UC1, const_cast<std::uint8_t*>(source.data.data()));
  const cv::Mat image = cv::imdecode(file, cv::IMREAD_UNCHANGED);
  if (encoding == MONO16) return detail::converted(source.header, image, MONO16, encoding);  // whatever the file has
  switch (image.channels()) {
    case 4:
      return detail::converted(source.header, image, BGRA8, encoding);
    case 3:
      return detail::converted(source.header, image, BGR8, encoding);
    case 1:
      return detail::converted(source.header, image, MONO8, encoding);
    default:
      return CvImagePtr();
  }
}

inline CvImagePtr toCvCopy(const sensor_msgs::CompressedImageConstPtr& source,
                           const std::string& encoding = std::string()) {
  return toCvCopy(*source, encoding);
}

/// The result's pixels are those in shared memory, which are read-only, and it keeps `tracked_object`.
inline CvImageConstPtr toCvShare(const sensor_msgs::Image& source, const boost::shared_ptr<void const>& tracked_object,
                                 const std::string& encoding = std::string()) {
  const std::string own(source.encoding);
  const cv::Mat view = detail::view_of(source, own);
  if ((!encoding.empty() && encoding != own) || detail::has_other_byte_order(source, own)) {
    return toCvCopy(source, encoding);
  }
  const CvImagePtr shared = boost::make_shared<CvImage>(source.header, own, view);
  shared->tracked_object_ = tracked_object;
  return shared;
}

inline CvImageConstPtr toCvShare(const sensor_msgs::ImageConstPtr& source,
                                 const std::string& encoding = std::string()) {
  return toCvShare(*source, source, encoding);
}

inline CvImagePtr cvtColor(const CvImageConstPtr& source, const std::string& encoding) {
  return detail::converted(source->header, source->image, source->encoding, encoding);
}

inline void CvImage::toImageMsg(sensor_msgs::Image& ros_image) const {
  ros_image.header = header;
  ros_image.height = static_cast<std::uint32_t>(image.rows);
  ros_image.width = static_cast<std::uint32_t>(image.cols);
  ros_image.encoding = encoding;
  ros_image.is_bigendian = boost::endian::order::native == boost::endian::order::big;
  const std::size_t row = static_cast<std::size_t>(image.cols) * image.elemSize();
  const std::size_t rows = static_cast<std::size_t>(image.rows);
  ros_image.step = static_cast<std::uint32_t>(row);
  ros_image.data.resize_for_overwrite(row * rows);
  if (row * rows == 0) return;
  if (image.isContinuous()) {
    std::memcpy(ros_image.data.data(), image.data, row * rows);
    return;
  }
  std::uint8_t* to = ros_image.data.data();
  for (int y = 0; y < image.rows; ++y, to += row) std::memcpy(to, image.ptr(y), row);
}

inline sensor_msgs::ImagePtr CvImage::toImageMsg() const {
  sensor_msgs::ImagePtr message = boost::make_shared<sensor_msgs::Image>();
  toImageMsg(*message);
  return message;
}

inline void CvImage::toCompressedImageMsg(sensor_msgs::CompressedImage& ros_image, const Format dst_format) const {
  using namespace sensor_msgs::image_encodings;
  static const char* const kNames[] = {"bmp", "dib", "jpg", "jpeg", "jpe", "jp2",  "png",
                                       "pbm", "pgm", "ppm", "sr",   "ras", "tiff", "tif"};  // in the order of Format
  ros_image.header = header;
  cv::Mat written = image;
  if (encoding != BGR8 && encoding != BGRA8 && encoding != MONO8 && encoding != MONO16) {
    written = detail::converted(header, image, encoding, hasAlpha(encoding) ? BGRA8 : BGR8)->image;
  }
  const std::string name = kNames[dst_format];
  std::vector<std::uint8_t> bytes;
  cv::imencode("." + name, written, bytes);
  ros_image.format = name;
  ros_image.data = bytes;
}

inline sensor_msgs::CompressedImagePtr CvImage::toCompressedImageMsg(const Format dst_format) const {
  sensor_msgs::CompressedImagePtr message = boost::make_shared<sensor_msgs::CompressedImage>();
  toCompressedImageMsg(*message, dst_format);
  return message;
}

/// `source` itself if it can be shown as it is. Without an encoding the result is "bgr8".
inline CvImageConstPtr cvtColorForDisplay(const CvImageConstPtr& source, const std::string& encoding = std::string(),
                                          const CvtColorForDisplayOptions options = CvtColorForDisplayOptions()) {
  namespace enc = sensor_msgs::image_encodings;
  if (!source) throw Exception("cvtColorForDisplay: the image is a null pointer");
  std::string wanted = encoding;
  if (wanted.empty()) {
    int depth = 0;
    bool has_colors = false;
    try {
      depth = enc::bitDepth(source->encoding);
      has_colors = enc::numChannels(source->encoding) != 1;
    } catch (const std::runtime_error&) {  // unknown: depth 0
    }
    if (depth != 8 && depth != 16 && (depth != 32 || has_colors)) {
      throw Exception("cvtColorForDisplay: no way to show an image of encoding '" + source->encoding +
                      "' is known; name the encoding of the result");
    }
    wanted = enc::BGR8;
  } else if ((!enc::isColor(wanted) && !enc::isMono(wanted)) || enc::bitDepth(wanted) != 8) {
    throw Exception("cvtColorForDisplay: an image cannot be shown as '" + wanted +
                    "'; the result must be mono8, bgr8, rgb8, bgra8 or rgba8");
  }

  const CvImagePtr result = boost::make_shared<CvImage>(source->header, wanted);
  if (wanted == enc::BGR8 && source->encoding == enc::TYPE_32SC1) {  // labels: a color for each
    result->image = cv::Mat(source->image.size(), CV_8UC3);
    for (int y = 0; y < source->image.rows; ++y) {
      for (int x = 0; x < source->image.cols; ++x) {
        const int label = source->image.at<int>(y, x);
        const cv::Vec3d rgb = label == options.bg_label ? cv::Vec3d() : rgb_colors::getRGBColor(label) * 255.;
        for (int i = 0; i < 3; ++i) result->image.at<cv::Vec3b>(y, x)[i] = static_cast<std::uint8_t>(rgb[2 - i]);
      }
    }
    return result;
  }

  double least = options.min_image_value, most = options.max_image_value;
  if (options.do_dynamic_scaling) {
    cv::minMaxLoc(source->image, &least, &most);
    if (least == most) {
      // Of three channels for "mono8", too: cv_bridge's result is not changed here.
      result->image = cv::Mat(source->image.size(), CV_8UC3, cv::Scalar::all(255. / 2.));
      return result;
    }
  }
  if (least != most) {
    if (enc::numChannels(source->encoding) != 1) {
      throw Exception("cvtColorForDisplay: an image of encoding '" + source->encoding +
                      "' cannot be scaled; only images of one channel can");
    }
    result->encoding = enc::MONO8;
    cv::Mat(source->image - least).convertTo(result->image, CV_8U, 255. / (most - least));
    if (options.colormap != -1) {
      result->encoding = enc::BGR8;
      cv::applyColorMap(result->image, result->image, options.colormap);
    }
    return cvtColorForDisplay(result, wanted);
  }

  // The names that cv_bridge takes for those of types, by their channels.
  static const struct {
    const char *encoding, *colors;
  } kGuesses[] = {{"CV_8UC1", "mono8"}, {"CV_8UC3", "bgr8"},   {"CV_8UC4", "bgra8"},
                  {"16UC1", "mono16"},  {"CV_16UC3", "bgr16"}, {"CV_16UC4", "bgra16"}};
  std::string guessed = source->encoding;
  for (const auto& guess : kGuesses) {
    if (source->encoding == guess.encoding) guessed = guess.colors;
  }
  if (guessed == wanted) return source;
  try {
    return detail::converted(source->header, source->image, guessed, wanted);
  } catch (const Exception& error) {
    throw Exception(std::string("cvtColorForDisplay: ") + error.what());
  }
}

}  // namespace baton_recompiled
}  // namespace cv_bridge

// --- CvImage as a message: topics of sensor_msgs/Image -------------------------------------------------------------------
namespace ros {
namespace message_traits {

template <>
struct MD5Sum<cv_bridge::CvImage> : MD5Sum<sensor_msgs::Image> {
  using MD5Sum<sensor_msgs::Image>::value;
  static const char* value(const cv_bridge::CvImage&) { return value(); }
};
template <>
struct DataType<cv_bridge::CvImage> : DataType<sensor_msgs::Image> {
  using DataType<sensor_msgs::Image>::value;
  static const char* value(const cv_bridge::CvImage&) { return value(); }
};
template <>
struct Definition<cv_bridge::CvImage> : Definition<sensor_msgs::Image> {
  using Definition<sensor_msgs::Image>::value;
  static const char* value(const cv_bridge::CvImage&) { return value(); }
};
template <>
struct HasHeader<cv_bridge::CvImage> : TrueType {};

}  // namespace message_traits

template <>
struct serialization::Serializer<cv_bridge::CvImage> {
  template <typename Stream>
  static void write(Stream& stream, const cv_bridge::CvImage& image) {
    sensor_msgs::Image message;
    image.toImageMsg(message);
    stream.next(message);
  }
  template <typename Stream>
  static void read(Stream& stream, cv_bridge::CvImage& image) {
    sensor_msgs::Image message;
    stream.next(message);
    const cv_bridge::CvImagePtr read = cv_bridge::toCvCopy(message);
    image.header = read->header;
    image.encoding = read->encoding;
    image.image = read->image;
  }
  static std::uint32_t serializedLength(const cv_bridge::CvImage& image) {
    const std::size_t pixels = image.image.total() * image.image.elemSize();
    return serializationLength(image.header) + serializationLength(image.encoding) + 17 +
           static_cast<std::uint32_t>(pixels);
  }
};
template <>
struct message_operations::Printer<cv_bridge::CvImage> {
  template <typename Stream>
  static void stream(Stream&, const std::string&, const cv_bridge::CvImage&) {}  // as in cv_bridge
};

// An advertisement of CvImages has an end of Baton, as its topic's type is sensor_msgs/Image.
template <>
inline void Publisher::publish<cv_bridge::CvImage>(const boost::shared_ptr<cv_bridge::CvImage>& image) const {
  publish(image->toImageMsg());
}
template <>
inline void Publisher::publish<const cv_bridge::CvImage>(
    const boost::shared_ptr<const cv_bridge::CvImage>& image) const {
  publish(image->toImageMsg());
}
template <>
inline void Publisher::publish<cv_bridge::CvImage>(const cv_bridge::CvImage& image) const {
  publish(image.toImageMsg());
}
template <>
void SingleSubscriberPublisher::publish<cv_bridge::CvImage>(const cv_bridge::CvImage& image) const = delete;

}  // namespace ros

namespace cv_bridge {
inline namespace baton_recompiled {
inline std::ostream& operator<<(std::ostream& out, const CvImage& image) {
  ros::message_operations::Printer<CvImage>::stream(out, "", image);
  return out;
}
}  // namespace baton_recompiled
}  // namespace cv_bridge
