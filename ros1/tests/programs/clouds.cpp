// SPDX-License-Identifier: Apache-2.0
// Point clouds of PCL and messages: pcl_conversions, pcl_ros. The test compiles this file both ways and compares the lines.
// "convert FOLDER" calls each function of pcl_conversions with random arguments; its files lie in the folder. "talk" and "listen CLASS"
// are nodes: the one publishes clouds of three classes on the topics "message", "points" and "blob", and on "wrapped" by
// pcl_ros::Publisher; the other subscribes to them with one of the classes (message, points, blob) and prints each cloud. "talk CLASS"
// is both in one process. Lines of their input: "publish SIZE" and "subscribers COUNT"; "tcp".
#include <pcl/point_types.h>
#include <pcl_conversions/pcl_conversions.h>
#include <pcl_ros/point_cloud.h>
#include <pcl_ros/publisher.h>
#include <ros/ros.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tcp_bytes.hpp"

/// With fields of several types, and padding between them.
struct Echo {
  PCL_ADD_POINT4D;
  std::uint16_t ring;
  double time;
  float weights[3];
  PCL_MAKE_ALIGNED_OPERATOR_NEW
};
POINT_CLOUD_REGISTER_POINT_STRUCT(Echo, (float, x, x)(float, y, y)(float, z, z)(std::uint16_t, ring,
                                                                                ring)(double, time,
                                                                                      time)(float[3], weights, weights))

namespace {

std::mt19937 random_bits(11);

std::uint32_t below(std::uint32_t bound) {
  return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_bits);
}
float number() { return static_cast<float>(below(20001)) / 7.0f - 1000.0f; }
std::string word() { return std::string(below(9), static_cast<char>('a' + below(26))); }

std::uint64_t digest(const void* bytes, std::size_t count) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const std::uint8_t*>(bytes)[i]) * 1099511628211u;
  return hash;
}

/// Serialized, for what has ROS's wire format.
template <class M>
std::vector<std::uint8_t> bytes_of(const M& message) {
  std::vector<std::uint8_t> bytes(ros::serialization::serializationLength(message));
  ros::serialization::OStream stream(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  ros::serialization::serialize(stream, message);
  return bytes;
}
template <class M>
M read_from(std::vector<std::uint8_t> bytes) {
  M message;
  ros::serialization::IStream stream(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  ros::serialization::deserialize(stream, message);
  return message;
}

template <class M>
void print_message(const char* what, const M& message) {
  const std::vector<std::uint8_t> bytes = bytes_of(message);
  std::cout << what << ' ' << bytes.size() << ' ' << digest(bytes.data(), bytes.size()) << '\n';
}
/// PCL's classes have text.
template <class P>
void print(const char* what, const P& object) {
  std::ostringstream text;
  text << object;
  std::cout << what << ' ' << text.str().size() << ' ' << digest(text.str().data(), text.str().size()) << '\n';
}
template <class T>
void print_points(const char* what, const pcl::PointCloud<T>& cloud) {
  std::ostringstream text;
  text << cloud.header << cloud.width << 'x' << cloud.height << ' ' << cloud.is_dense << ' ';
  for (const T& point : cloud) {
    text << point.x << ' ' << point.y << ' ' << point.z << ' ';
    if constexpr (std::is_same_v<T, pcl::PointXYZRGB>) text << point.rgba << ' ';
    if constexpr (std::is_same_v<T, pcl::PointXYZI>) text << point.intensity << ' ';
    if constexpr (std::is_same_v<T, Echo>) text << point.ring << ' ' << point.time << ' ' << point.weights[2] << ' ';
  }
  std::cout << what << ' ' << cloud.size() << ' ' << digest(text.str().data(), text.str().size()) << '\n';
}

template <class F>
void attempt(const char* what, F&& call) {
  try {
    call();
  } catch (const std::runtime_error&) {  // texts differ
    std::cout << what << ": exception\n";
  }
}

// --- random arguments ---------------------------------------------------------------------------------------------------------
void fill(std_msgs::Header& header) {
  header.seq = below(1000);
  header.stamp = ros::Time(below(2000000000), below(1000000000));
  header.frame_id = word();
}
template <class Array>
void fill_bytes(Array& array, std::size_t count) {
  array.resize(count);
  for (auto& byte : array) byte = static_cast<std::uint8_t>(below(256));
}
template <class T>
void fill_point(T& point) {
  std::memset(static_cast<void*>(&point), 0, sizeof point);  // messages have its bytes between the fields, too
  point.x = number();
  point.y = number();
  point.z = number();
  if constexpr (std::is_same_v<T, pcl::PointXYZRGB>) point.rgba = below(0xffffffff);
  if constexpr (std::is_same_v<T, pcl::PointXYZI>) point.intensity = number();
  if constexpr (std::is_same_v<T, Echo>) {
    point.ring = static_cast<std::uint16_t>(below(65536));
    point.time = number();
    for (float& weight : point.weights) weight = number();
  }
}
template <class T>
pcl::PointCloud<T> points() {
  pcl::PointCloud<T> cloud;
  std_msgs::Header header;
  fill(header);
  pcl_conversions::toPCL(header, cloud.header);
  const std::uint32_t width = below(9), height = below(5);
  cloud.resize(width * height);
  cloud.width = width;
  cloud.height = height;
  if (below(3) == 0) cloud.width = cloud.height = 0;  // "unorganized", as far as conversions are concerned
  cloud.is_dense = below(2) == 0;
  for (T& point : cloud) fill_point(point);
  return cloud;
}
sensor_msgs::Image image() {
  sensor_msgs::Image result;
  fill(result.header);
  result.height = below(7);
  result.width = below(7);
  result.encoding = word();
  result.is_bigendian = static_cast<std::uint8_t>(below(2));
  result.step = 3 * result.width + below(2);
  fill_bytes(result.data, result.step * result.height);
  return result;
}
sensor_msgs::PointField field(const std::string& name, std::uint32_t offset, std::uint8_t datatype,
                              std::uint32_t count = 1) {
  sensor_msgs::PointField result;
  result.name = name;
  result.offset = offset;
  result.datatype = datatype;
  result.count = count;
  return result;
}
/// Of fields in another order, with gaps, fields of other types, padding, and rows that are longer than their points.
sensor_msgs::PointCloud2 cloud() {
  static const char* const kNames[] = {"x",    "y",    "z",       "intensity", "rgb",  "rgba",
                                       "ring", "time", "weights", "_",         "other"};
  sensor_msgs::PointCloud2 result;
  fill(result.header);
  std::uint32_t offset = 0;
  for (std::uint32_t i = 1 + below(6); i-- > 0;) {
    const bool is_float = below(3) != 0;
    const std::uint8_t datatype =
        is_float ? std::uint8_t{sensor_msgs::PointField::FLOAT32} : static_cast<std::uint8_t>(1 + below(8));
    const std::uint32_t count = below(5) == 0 ? 3 : 1;
    result.fields.push_back(field(kNames[below(11)], offset, datatype, count));
    offset += static_cast<std::uint32_t>(pcl::getFieldSize(datatype)) * count + 2 * below(3);
  }
  result.width = below(9);
  result.height = below(4);
  result.point_step = offset + below(4);
  result.row_step = result.point_step * result.width + below(2) * 8;
  result.is_dense = below(2) == 0;
  fill_bytes(result.data, result.row_step * result.height);
  return result;
}
pcl_msgs::PolygonMesh mesh() {
  pcl_msgs::PolygonMesh result;
  fill(result.header);
  result.cloud = cloud();
  result.polygons.resize(below(4));
  for (auto& polygon : result.polygons) {
    for (std::uint32_t i = below(5); i-- > 0;) polygon.vertices.push_back(below(0xffffffff));
  }
  return result;
}

// --- functions ----------------------------------------------------------------------------------------------------------------
/// Both directions, copying and moving. `M` and `P` are a message's class and PCL's.
template <class M, class P>
void convert(const char* what, const M& message, bool is_emptied = true) {
  P object;
  pcl_conversions::toPCL(message, object);
  print(what, object);
  M moved = message;
  P taken;
  pcl_conversions::moveToPCL(moved, taken);
  print(what, taken);
  if (is_emptied) print_message("left", moved);
  M back;
  pcl_conversions::fromPCL(object, back);
  print_message(what, back);
  M given;
  pcl_conversions::moveFromPCL(taken, given);
  print_message(what, given);
  if (is_emptied) print("left", taken);
  // Over others.
  M other = message;
  pcl_conversions::fromPCL(object, other);
  print_message(what, other);
  pcl_conversions::moveFromPCL(object, other);
  print_message(what, other);
}

void convert_parts() {
  std_msgs::Header header;
  fill(header);
  pcl::PCLHeader pcl_header = pcl_conversions::toPCL(header);
  print("header", pcl_header);
  print_message("header", pcl_conversions::fromPCL(pcl_header));
  std::uint64_t stamp = pcl_conversions::toPCL(ros::Time(header.stamp));
  ros::Time time;
  pcl_conversions::fromPCL(stamp, time);
  pcl_conversions::toPCL(time, stamp);
  std::cout << "stamp " << stamp << ' ' << time << ' ' << pcl_conversions::fromPCL(stamp) << '\n';

  const sensor_msgs::Image an_image = image();
  convert<sensor_msgs::Image, pcl::PCLImage>("image", an_image);
  pcl::PCLImage image_data;
  pcl_conversions::copyImageMetaData(an_image, image_data);
  print("image", image_data);
  sensor_msgs::Image image_again;
  pcl_conversions::copyPCLImageMetaData(image_data, image_again);
  print_message("image", image_again);

  const sensor_msgs::PointCloud2 a_cloud = cloud();
  convert<sensor_msgs::PointCloud2, pcl::PCLPointCloud2>("cloud", a_cloud);
  pcl::PCLPointCloud2 cloud_data;
  pcl_conversions::copyPointCloud2MetaData(a_cloud, cloud_data);
  print("cloud", cloud_data);
  sensor_msgs::PointCloud2 cloud_again;
  pcl_conversions::copyPCLPointCloud2MetaData(cloud_data, cloud_again);
  print_message("cloud", cloud_again);

  std::vector<pcl::PCLPointField> pcl_fields;
  pcl_conversions::toPCL(a_cloud.fields, pcl_fields);
  std::vector<sensor_msgs::PointField> fields;
  pcl_conversions::fromPCL(pcl_fields, fields);
  pcl_conversions::toPCL(fields, pcl_fields);
  pcl_conversions::fromPCL(pcl_fields, cloud_again.fields);
  print_message("fields", cloud_again);
  for (const auto& each : fields) {
    pcl::PCLPointField one;
    pcl_conversions::toPCL(each, one);
    sensor_msgs::PointField again;
    pcl_conversions::fromPCL(one, again);
    print("field", one);
    print_message("field", again);
  }

  pcl_msgs::PointIndices indices;
  pcl_msgs::ModelCoefficients coefficients;
  fill(indices.header);
  fill(coefficients.header);
  for (std::uint32_t i = below(9); i-- > 0;) {
    indices.indices.push_back(static_cast<int>(below(1000)) - 500);
    coefficients.values.push_back(number());
  }
  convert<pcl_msgs::PointIndices, pcl::PointIndices>("indices", indices);
  convert<pcl_msgs::ModelCoefficients, pcl::ModelCoefficients>("coefficients", coefficients);

  const pcl_msgs::PolygonMesh a_mesh = mesh();
  convert<pcl_msgs::PolygonMesh, pcl::PolygonMesh>("mesh", a_mesh);
  for (const auto& polygon : a_mesh.polygons) convert<pcl_msgs::Vertices, pcl::Vertices>("vertices", polygon);
  std::vector<pcl::Vertices> pcl_vertices;
  pcl_conversions::toPCL(a_mesh.polygons, pcl_vertices);
  std::vector<pcl_msgs::Vertices> vertices;
  pcl_conversions::fromPCL(pcl_vertices, vertices);
  pcl_conversions::toPCL(vertices, pcl_vertices);
  pcl_conversions::moveToPCL(vertices, pcl_vertices);
  pcl_msgs::PolygonMesh mesh_again;
  pcl_conversions::fromPCL(pcl_vertices, mesh_again.polygons);
  pcl_conversions::moveToPCL(mesh_again.polygons, pcl_vertices);
  print_message("vertices", mesh_again);
}

template <class T>
void convert_points() {
  const pcl::PointCloud<T> some = points<T>();
  sensor_msgs::PointCloud2 message;
  pcl::toROSMsg(some, message);
  print_message("message", message);
  pcl::PointCloud<T> again;
  pcl::fromROSMsg(message, again);
  print_points("points", again);
  message.row_step += 5;  // rows are longer than their points
  message.data.resize(message.row_step * message.height);
  pcl::fromROSMsg(message, again);
  print_points("points", again);
  pcl::moveFromROSMsg(message, again);
  print_points("points", again);
  print_message("left", message);
  attempt("image", [&] {
    sensor_msgs::Image colors;
    pcl::toROSMsg(message = sensor_msgs::PointCloud2(), colors);
  });
  attempt("image", [&] {
    pcl::toROSMsg(some, message);
    sensor_msgs::Image colors;
    pcl::toROSMsg(message, colors);
    print_message("image", colors);
    pcl::moveToROSMsg(message, colors);
    print_message("image", colors);
    print_message("left", message);
  });
  if constexpr (std::is_same_v<T, pcl::PointXYZRGB>) {
    attempt("image", [&] {
      sensor_msgs::Image colors;
      pcl::toROSMsg(some, colors);
      print_message("image", colors);
    });
  }

  // Of any fields.
  const sensor_msgs::PointCloud2 any = cloud();
  pcl::MsgFieldMap mapping, same;
  pcl::createMapping<T>(any.fields, mapping);
  pcl::createMapping<T>(std::vector<sensor_msgs::PointField>(any.fields.begin(), any.fields.end()), same);
  for (const auto& each : mapping)
    std::cout << each.serialized_offset << ' ' << each.struct_offset << ' ' << each.size << '\n';
  std::cout << "mapping " << mapping.size() << ' ' << same.size() << '\n';
  pcl::fromROSMsg(any, again);
  for (T& point : again) {  // of which the message has no fields
    if (pcl::getFieldIndex(any, "x") < 0) point.x = 0;
    if (pcl::getFieldIndex(any, "y") < 0) point.y = 0;
    if (pcl::getFieldIndex(any, "z") < 0) point.z = 0;
  }
  std::cout << again.size() << ' ' << again.width << ' ' << again.height << ' ' << again.is_dense << '\n';

  // As messages: pcl_ros.
  std::vector<std::uint8_t> bytes = bytes_of(some);
  std::cout << "serialized " << bytes.size() << ' ' << digest(bytes.data(), bytes.size()) << '\n';
  print_message("read", read_from<sensor_msgs::PointCloud2>(bytes));
  print_points("read", read_from<pcl::PointCloud<T>>(bytes));
  print("read", read_from<pcl::PCLPointCloud2>(bytes));
  std::cout << ros::message_traits::md5sum(some) << ' ' << ros::message_traits::datatype(some) << ' '
            << ros::message_traits::definition(some) << ' ' << ros::message_traits::hasHeader<pcl::PointCloud<T>>()
            << '\n';
  std::cout << ros::message_traits::TimeStamp<pcl::PointCloud<T>>::value(some) << ' '
            << ros::message_traits::FrameId<pcl::PointCloud<T>>::value(some) << '\n';
}

void concatenate() {
  sensor_msgs::PointCloud2 first = cloud(), second = cloud();
  if (below(4) != 0) {  // the same fields, or almost
    second.fields = first.fields;
    second.point_step = first.point_step;
    second.row_step = second.point_step * second.width;
    second.data.resize(second.row_step * second.height);
    for (auto& each : second.fields) {
      if (each.name == "rgb") each.name = "rgba";
    }
  }
  // pcl_conversions looks for fields behind the last one of the first cloud, and reads behind the second's bytes.
  const bool has_padding = pcl::getFieldIndex(first, "_") >= 0 || pcl::getFieldIndex(second, "_") >= 0;
  if (has_padding) second.fields.resize(std::min(first.fields.size(), second.fields.size()));
  for (auto& each : second.fields) each.count = 1;
  for (auto& each : second.fields) {
    if (each.offset + 8 > second.point_step) each.offset = 0;
    if (second.point_step < 8) return;
  }
  for (auto& each : first.fields) {
    if (each.offset + 8 > first.point_step) each.offset = 0;
    if (first.point_step < 8) return;
  }
  sensor_msgs::PointCloud2 result = cloud();
  std::cout << pcl::getFieldsList(first) << ": " << pcl::getFieldIndex(first, "x") << ' '
            << pcl::getFieldIndex(first, "none") << '\n';
  std::cout << pcl::concatenatePointCloud(first, second, result) << ' ';
  print_message("concatenated", result);
  std::cout << pcl::concatenatePointCloud(first, second, first) << ' ';
  print_message("concatenated", first);
}

void use_files(const std::string& folder) {
  const auto content = [](const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  sensor_msgs::PointCloud2 saved, loaded;
  pcl::PointCloud<Echo> some = points<Echo>();
  if (some.empty()) return;
  some.width = static_cast<std::uint32_t>(some.size());
  some.height = 1;
  pcl::toROSMsg(some, saved);
  const std::string file = folder + "/cloud.pcd";
  for (const bool is_binary : {false, true}) {
    std::cout << pcl::io::savePCDFile(file, saved, Eigen::Vector4f(1, 2, 3, 4), Eigen::Quaternionf(1, 0, 0, 0),
                                      is_binary)
              << ' ';
    const std::string text = content(file);
    std::cout << text.size() << ' ' << digest(text.data(), text.size()) << '\n';
    std::cout << pcl::io::loadPCDFile(file, loaded) << ' ';
    print_message("loaded", loaded);
  }
  std::cout << pcl::io::savePCDFile(file, saved) << ' ' << pcl::io::destructiveSavePCDFile(folder + "/other.pcd", saved)
            << ' ';
  std::cout << (content(file) == content(folder + "/other.pcd")) << ' ';
  print_message("left", saved);
  std::cout << pcl::io::loadPCDFile(folder + "/none.pcd", loaded) << ' ';
  print_message("loaded", loaded);
}

void serialize_pcl() {
  const sensor_msgs::PointCloud2 message = cloud();
  pcl::PCLPointCloud2 object;
  pcl_conversions::toPCL(message, object);
  print_message("blob", object);
  print_message("blob", object.header);
  for (const auto& each : object.fields) print_message("blob", each);
  print("blob", read_from<pcl::PCLPointCloud2>(bytes_of(message)));
  print("blob", read_from<pcl::PCLHeader>(bytes_of(object.header)));
  using Traits = ros::message_traits::MD5Sum<pcl::PCLPointCloud2>;
  std::cout << std::hex << Traits::static_value1 << ' ' << Traits::static_value2 << std::dec << ' ' << Traits::value()
            << ' ' << ros::message_traits::DataType<pcl::PCLPointCloud2>::value() << ' '
            << ros::message_traits::Definition<pcl::PCLPointCloud2>::value() << ' '
            << ros::message_traits::hasHeader<pcl::PCLPointCloud2>() << ' '
            << ros::DefaultMessageCreator<pcl::PCLPointCloud2>()()->data.size() << '\n';
}

void convert_all(const std::string& folder) {
  std::cout.precision(9);
  for (int i = 0; i < 300; ++i) {
    convert_parts();
    convert_points<pcl::PointXYZ>();
    convert_points<pcl::PointXYZI>();
    convert_points<pcl::PointXYZRGB>();
    convert_points<Echo>();
    concatenate();
    serialize_pcl();
    if (i % 10 == 0) use_files(folder);
  }
}

// --- nodes --------------------------------------------------------------------------------------------------------------------
using Points = pcl::PointCloud<pcl::PointXYZI>;

Points numbered(std::uint32_t size, std::uint32_t number) {
  Points some;
  some.header.frame_id = "laser";
  some.header.stamp = 1000000 * number;
  some.resize(size);
  some.height = 1;  // of an empty one, too
  for (std::uint32_t i = 0; i < size; ++i) {
    some[i].x = static_cast<float>(i % 1000);
    some[i].intensity = static_cast<float>(number);
  }
  return some;
}

std::mutex output;

void print_line(const std::string& line) {
  const std::lock_guard<std::mutex> lock(output);
  std::cout << line << std::endl;
}

void print_received(const std::string& topic, const Points& some) {
  bool is_good = some.header.frame_id == "laser" && some.height == 1 && some.width == some.size();
  const std::uint64_t number = some.header.stamp / 1000000;
  const Points expected = numbered(some.width, static_cast<std::uint32_t>(number));
  for (std::size_t i = 0; i < some.size(); ++i) {
    is_good = is_good && some[i].x == expected[i].x && some[i].intensity == expected[i].intensity;
  }
  print_line(topic + ' ' + std::to_string(number) + ' ' + std::to_string(some.size()) + (is_good ? " good" : " bad"));
}

template <class M>
std::vector<ros::Subscriber> subscribe_as(ros::NodeHandle& node) {
  std::vector<ros::Subscriber> subscribers;
  for (const std::string topic : {"message", "points", "blob", "wrapped"}) {
    const boost::function<void(const boost::shared_ptr<const M>&)> callback =
        [topic](const boost::shared_ptr<const M>& received) {
          Points some;
          if constexpr (std::is_same_v<M, Points>) {
            some = *received;
          } else if constexpr (std::is_same_v<M, pcl::PCLPointCloud2>) {
            pcl::fromPCLPointCloud2(*received, some);
          } else {
            pcl::fromROSMsg(*received, some);
          }
          print_received(topic, some);
        };
    subscribers.push_back(node.subscribe<M>(topic, 100, callback));
  }
  return subscribers;
}

std::vector<ros::Subscriber> subscribe(ros::NodeHandle& node, const std::string& name) {
  if (name == "message") return subscribe_as<sensor_msgs::PointCloud2>(node);
  if (name == "points") return subscribe_as<Points>(node);
  if (name == "blob") return subscribe_as<pcl::PCLPointCloud2>(node);
  return {};
}

void listen(const std::string& name) {
  ros::NodeHandle node;
  const std::vector<ros::Subscriber> subscribers = subscribe(node, name);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "tcp") print_line("tcp " + std::to_string(tcp_bytes()));
  }
}

void talk(const std::string& name) {
  ros::NodeHandle node;
  const ros::Publisher messages = node.advertise<sensor_msgs::PointCloud2>("message", 100);
  const ros::Publisher points = node.advertise<Points>("points", 100);
  const ros::Publisher blobs = node.advertise<pcl::PCLPointCloud2>("blob", 100);
  pcl_ros::Publisher<pcl::PointXYZI> wrapped(node, "wrapped", 100);
  const std::vector<ros::Subscriber> subscribers = subscribe(node, name);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    std::uint32_t argument = 0;
    words >> command >> argument;
    if (command == "subscribers") {
      while (messages.getNumSubscribers() < argument || points.getNumSubscribers() < argument ||
             blobs.getNumSubscribers() < argument || wrapped.getNumSubscribers() < argument) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    } else if (command == "publish") {
      const Points some = numbered(argument, ++number);
      const sensor_msgs::PointCloud2Ptr message = boost::make_shared<sensor_msgs::PointCloud2>();
      pcl::toROSMsg(some, *message);
      const boost::shared_ptr<pcl::PCLPointCloud2> blob = boost::make_shared<pcl::PCLPointCloud2>();
      pcl_conversions::toPCL(*message, *blob);
      messages.publish(message);
      if (number % 2 == 0) {
        points.publish(some);
        blobs.publish(*blob);
        wrapped.publish(some);
      } else {
        points.publish(boost::make_shared<Points>(some));
        blobs.publish(blob);
        wrapped.publish(boost::make_shared<const Points>(some));
      }
    }
    print_line("done " + line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "clouds", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  pcl::console::setVerbosityLevel(pcl::console::L_ALWAYS);
  const std::string what = argc > 1 ? argv[1] : "", argument = argc > 2 ? argv[2] : "";
  if (what == "convert") {
    convert_all(argument);
  } else if (what == "talk") {
    talk(argument);
  } else if (what == "listen") {
    listen(argument);
  } else {
    return 2;
  }
}
