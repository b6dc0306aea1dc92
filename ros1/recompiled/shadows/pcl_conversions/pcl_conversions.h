// SPDX-License-Identifier: Apache-2.0
// In the place of pcl_conversions' header of this name, with its interface, for recompiled programs. The program links PCL's
// libraries (common, and io for files), as before.
//
// The elements of a message lie in the message's memory, which PCL's std::vectors cannot take over. So the functions that move copy
// an array once, and leave it empty where they took it from. The conversions between sensor_msgs::PointCloud2 and pcl::PointCloud
// copy the points once, straight between the two.
//
// Names for the linker: every message is in the parameters of its functions, or is their result, and recompiled messages have names
// of their own. The others (stamps, serializers of PCL's classes) do the same as those of stock libraries.
//
// Thread rules: none of their own.
#pragma once

#ifdef PCL_CONVERSIONS_H__
#error "pcl_conversions' own pcl_conversions.h was included before Baton's header of that name"
#endif
#define PCL_CONVERSIONS_H__

#include <pcl/ModelCoefficients.h>
#include <pcl/PCLHeader.h>
#include <pcl/PCLImage.h>
#include <pcl/PCLPointCloud2.h>
#include <pcl/PCLPointField.h>
#include <pcl/PointIndices.h>
#include <pcl/PolygonMesh.h>
#include <pcl/Vertices.h>
#include <pcl/conversions.h>
#include <pcl/io/pcd_io.h>
#include <pcl_msgs/ModelCoefficients.h>
#include <pcl_msgs/PointIndices.h>
#include <pcl_msgs/PolygonMesh.h>
#include <pcl_msgs/Vertices.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/PointCloud2.h>
#include <sensor_msgs/PointField.h>
#include <std_msgs/Header.h>

#include <Eigen/Geometry>
#include <Eigen/StdVector>
#include <algorithm>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace pcl_conversions {

namespace detail {

/// Elements from PCL's array to a message's, or back. Both have assign().
template <class From, class To>
void copy(const From& from, To& to) {
  to.assign(from.begin(), from.end());
}
template <class From, class To>
void move(From& from, To& to) {
  copy(from, to);
  from.clear();
}

/// Calls `convert` for each element and its counterpart in `to`.
template <class From, class To, class Convert>
void convert_each(const From& from, To& to, Convert&& convert) {
  to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) convert(from[i], to[i]);
}

}  // namespace detail

// --- stamps: PCL's are in microseconds ------------------------------------------------------------------------------------
inline void fromPCL(const std::uint64_t& pcl_stamp, ros::Time& stamp) { stamp.fromNSec(pcl_stamp * 1000); }
inline void toPCL(const ros::Time& stamp, std::uint64_t& pcl_stamp) { pcl_stamp = stamp.toNSec() / 1000; }
inline ros::Time fromPCL(const std::uint64_t& pcl_stamp) {
  ros::Time stamp;
  fromPCL(pcl_stamp, stamp);
  return stamp;
}
inline std::uint64_t toPCL(const ros::Time& stamp) {
  std::uint64_t pcl_stamp = 0;
  toPCL(stamp, pcl_stamp);
  return pcl_stamp;
}

// --- Header -----------------------------------------------------------------------------------------------------------------
inline void fromPCL(const pcl::PCLHeader& pcl_header, std_msgs::Header& header) {
  header.seq = pcl_header.seq;
  header.stamp = fromPCL(pcl_header.stamp);
  header.frame_id = pcl_header.frame_id;
}
inline void toPCL(const std_msgs::Header& header, pcl::PCLHeader& pcl_header) {
  pcl_header.seq = header.seq;
  pcl_header.stamp = toPCL(ros::Time(header.stamp));
  pcl_header.frame_id = header.frame_id;
}
inline std_msgs::Header fromPCL(const pcl::PCLHeader& pcl_header) {
  std_msgs::Header header;
  fromPCL(pcl_header, header);
  return header;
}
inline pcl::PCLHeader toPCL(const std_msgs::Header& header) {
  pcl::PCLHeader pcl_header;
  toPCL(header, pcl_header);
  return pcl_header;
}

// --- Image ------------------------------------------------------------------------------------------------------------------
inline void copyPCLImageMetaData(const pcl::PCLImage& pcl_image, sensor_msgs::Image& image) {
  fromPCL(pcl_image.header, image.header);
  image.height = pcl_image.height;
  image.width = pcl_image.width;
  image.encoding = pcl_image.encoding;
  image.is_bigendian = pcl_image.is_bigendian;
  image.step = pcl_image.step;
}
inline void copyImageMetaData(const sensor_msgs::Image& image, pcl::PCLImage& pcl_image) {
  toPCL(image.header, pcl_image.header);
  pcl_image.height = image.height;
  pcl_image.width = image.width;
  pcl_image.encoding = image.encoding;
  pcl_image.is_bigendian = image.is_bigendian;
  pcl_image.step = image.step;
}
inline void fromPCL(const pcl::PCLImage& pcl_image, sensor_msgs::Image& image) {
  copyPCLImageMetaData(pcl_image, image);
  detail::copy(pcl_image.data, image.data);
}
inline void moveFromPCL(pcl::PCLImage& pcl_image, sensor_msgs::Image& image) {
  copyPCLImageMetaData(pcl_image, image);
  detail::move(pcl_image.data, image.data);
}
inline void toPCL(const sensor_msgs::Image& image, pcl::PCLImage& pcl_image) {
  copyImageMetaData(image, pcl_image);
  detail::copy(image.data, pcl_image.data);
}
inline void moveToPCL(sensor_msgs::Image& image, pcl::PCLImage& pcl_image) {
  copyImageMetaData(image, pcl_image);
  detail::move(image.data, pcl_image.data);
}

// --- PointField: also many, in a message's array or in a std::vector ----------------------------------------------------------
inline void fromPCL(const pcl::PCLPointField& pcl_pf, sensor_msgs::PointField& pf) {
  pf.name = pcl_pf.name;
  pf.offset = pcl_pf.offset;
  pf.datatype = pcl_pf.datatype;
  pf.count = pcl_pf.count;
}
inline void toPCL(const sensor_msgs::PointField& pf, pcl::PCLPointField& pcl_pf) {
  pcl_pf.name = pf.name;
  pcl_pf.offset = pf.offset;
  pcl_pf.datatype = pf.datatype;
  pcl_pf.count = pf.count;
}

inline void fromPCL(const std::vector<pcl::PCLPointField>& pcl_pfs, std::vector<sensor_msgs::PointField>& pfs) {
  detail::convert_each(pcl_pfs, pfs, [](const auto& from, auto& to) { fromPCL(from, to); });
}
inline void fromPCL(const std::vector<pcl::PCLPointField>& pcl_pfs, sensor_msgs::PointCloud2::_fields_type& pfs) {
  detail::convert_each(pcl_pfs, pfs, [](const auto& from, auto& to) { fromPCL(from, to); });
}
inline void toPCL(const std::vector<sensor_msgs::PointField>& pfs, std::vector<pcl::PCLPointField>& pcl_pfs) {
  detail::convert_each(pfs, pcl_pfs, [](const auto& from, auto& to) { toPCL(from, to); });
}
inline void toPCL(const sensor_msgs::PointCloud2::_fields_type& pfs, std::vector<pcl::PCLPointField>& pcl_pfs) {
  detail::convert_each(pfs, pcl_pfs, [](const auto& from, auto& to) { toPCL(from, to); });
}

// --- PointCloud2 ------------------------------------------------------------------------------------------------------------
inline void copyPCLPointCloud2MetaData(const pcl::PCLPointCloud2& pcl_pc2, sensor_msgs::PointCloud2& pc2) {
  fromPCL(pcl_pc2.header, pc2.header);
  pc2.height = pcl_pc2.height;
  pc2.width = pcl_pc2.width;
  fromPCL(pcl_pc2.fields, pc2.fields);
  pc2.is_bigendian = pcl_pc2.is_bigendian;
  pc2.point_step = pcl_pc2.point_step;
  pc2.row_step = pcl_pc2.row_step;
  pc2.is_dense = pcl_pc2.is_dense;
}
inline void copyPointCloud2MetaData(const sensor_msgs::PointCloud2& pc2, pcl::PCLPointCloud2& pcl_pc2) {
  toPCL(pc2.header, pcl_pc2.header);
  pcl_pc2.height = pc2.height;
  pcl_pc2.width = pc2.width;
  toPCL(pc2.fields, pcl_pc2.fields);
  pcl_pc2.is_bigendian = pc2.is_bigendian;
  pcl_pc2.point_step = pc2.point_step;
  pcl_pc2.row_step = pc2.row_step;
  pcl_pc2.is_dense = pc2.is_dense;
}
inline void fromPCL(const pcl::PCLPointCloud2& pcl_pc2, sensor_msgs::PointCloud2& pc2) {
  copyPCLPointCloud2MetaData(pcl_pc2, pc2);
  detail::copy(pcl_pc2.data, pc2.data);
}
inline void moveFromPCL(pcl::PCLPointCloud2& pcl_pc2, sensor_msgs::PointCloud2& pc2) {
  copyPCLPointCloud2MetaData(pcl_pc2, pc2);
  detail::move(pcl_pc2.data, pc2.data);
}
inline void toPCL(const sensor_msgs::PointCloud2& pc2, pcl::PCLPointCloud2& pcl_pc2) {
  copyPointCloud2MetaData(pc2, pcl_pc2);
  detail::copy(pc2.data, pcl_pc2.data);
}
inline void moveToPCL(sensor_msgs::PointCloud2& pc2, pcl::PCLPointCloud2& pcl_pc2) {
  copyPointCloud2MetaData(pc2, pcl_pc2);
  detail::move(pc2.data, pcl_pc2.data);
}

// --- PointIndices -----------------------------------------------------------------------------------------------------------
inline void fromPCL(const pcl::PointIndices& pcl_pi, pcl_msgs::PointIndices& pi) {
  fromPCL(pcl_pi.header, pi.header);
  detail::copy(pcl_pi.indices, pi.indices);
}
inline void moveFromPCL(pcl::PointIndices& pcl_pi, pcl_msgs::PointIndices& pi) {
  fromPCL(pcl_pi.header, pi.header);
  detail::move(pcl_pi.indices, pi.indices);
}
inline void toPCL(const pcl_msgs::PointIndices& pi, pcl::PointIndices& pcl_pi) {
  toPCL(pi.header, pcl_pi.header);
  detail::copy(pi.indices, pcl_pi.indices);
}
inline void moveToPCL(pcl_msgs::PointIndices& pi, pcl::PointIndices& pcl_pi) {
  toPCL(pi.header, pcl_pi.header);
  detail::move(pi.indices, pcl_pi.indices);
}

// --- ModelCoefficients --------------------------------------------------------------------------------------------------------
inline void fromPCL(const pcl::ModelCoefficients& pcl_mc, pcl_msgs::ModelCoefficients& mc) {
  fromPCL(pcl_mc.header, mc.header);
  detail::copy(pcl_mc.values, mc.values);
}
inline void moveFromPCL(pcl::ModelCoefficients& pcl_mc, pcl_msgs::ModelCoefficients& mc) {
  fromPCL(pcl_mc.header, mc.header);
  detail::move(pcl_mc.values, mc.values);
}
inline void toPCL(const pcl_msgs::ModelCoefficients& mc, pcl::ModelCoefficients& pcl_mc) {
  toPCL(mc.header, pcl_mc.header);
  detail::copy(mc.values, pcl_mc.values);
}
inline void moveToPCL(pcl_msgs::ModelCoefficients& mc, pcl::ModelCoefficients& pcl_mc) {
  toPCL(mc.header, pcl_mc.header);
  detail::move(mc.values, pcl_mc.values);
}

// --- Vertices ---------------------------------------------------------------------------------------------------------------
// PCL's are signed, the message's are not, and so they are copied and stay where they were, as those of pcl_conversions do.
inline void fromPCL(const pcl::Vertices& pcl_vert, pcl_msgs::Vertices& vert) {
  detail::copy(pcl_vert.vertices, vert.vertices);
}
inline void moveFromPCL(pcl::Vertices& pcl_vert, pcl_msgs::Vertices& vert) { fromPCL(pcl_vert, vert); }
inline void toPCL(const pcl_msgs::Vertices& vert, pcl::Vertices& pcl_vert) {
  detail::copy(vert.vertices, pcl_vert.vertices);
}
inline void moveToPCL(pcl_msgs::Vertices& vert, pcl::Vertices& pcl_vert) { toPCL(vert, pcl_vert); }

inline void fromPCL(const std::vector<pcl::Vertices>& pcl_verts, std::vector<pcl_msgs::Vertices>& verts) {
  detail::convert_each(pcl_verts, verts, [](const auto& from, auto& to) { fromPCL(from, to); });
}
inline void fromPCL(const std::vector<pcl::Vertices>& pcl_verts, pcl_msgs::PolygonMesh::_polygons_type& verts) {
  detail::convert_each(pcl_verts, verts, [](const auto& from, auto& to) { fromPCL(from, to); });
}
inline void toPCL(const std::vector<pcl_msgs::Vertices>& verts, std::vector<pcl::Vertices>& pcl_verts) {
  detail::convert_each(verts, pcl_verts, [](const auto& from, auto& to) { toPCL(from, to); });
}
inline void toPCL(const pcl_msgs::PolygonMesh::_polygons_type& verts, std::vector<pcl::Vertices>& pcl_verts) {
  detail::convert_each(verts, pcl_verts, [](const auto& from, auto& to) { toPCL(from, to); });
}
inline void moveToPCL(std::vector<pcl_msgs::Vertices>& verts, std::vector<pcl::Vertices>& pcl_verts) {
  toPCL(verts, pcl_verts);
}
inline void moveToPCL(pcl_msgs::PolygonMesh::_polygons_type& verts, std::vector<pcl::Vertices>& pcl_verts) {
  toPCL(verts, pcl_verts);
}

// --- PolygonMesh --------------------------------------------------------------------------------------------------------------
inline void fromPCL(const pcl::PolygonMesh& pcl_mesh, pcl_msgs::PolygonMesh& mesh) {
  fromPCL(pcl_mesh.header, mesh.header);
  fromPCL(pcl_mesh.cloud, mesh.cloud);
  fromPCL(pcl_mesh.polygons, mesh.polygons);
}
/// Leaves the polygons of `mesh` as they are, as pcl_conversions does.
inline void moveFromPCL(pcl::PolygonMesh& pcl_mesh, pcl_msgs::PolygonMesh& mesh) {
  fromPCL(pcl_mesh.header, mesh.header);
  moveFromPCL(pcl_mesh.cloud, mesh.cloud);
}
inline void toPCL(const pcl_msgs::PolygonMesh& mesh, pcl::PolygonMesh& pcl_mesh) {
  toPCL(mesh.header, pcl_mesh.header);
  toPCL(mesh.cloud, pcl_mesh.cloud);
  toPCL(mesh.polygons, pcl_mesh.polygons);
}
inline void moveToPCL(pcl_msgs::PolygonMesh& mesh, pcl::PolygonMesh& pcl_mesh) {
  toPCL(mesh.header, pcl_mesh.header);
  moveToPCL(mesh.cloud, pcl_mesh.cloud);
  moveToPCL(mesh.polygons, pcl_mesh.polygons);
}

}  // namespace pcl_conversions

namespace pcl {

/// -1 if there is none.
inline int getFieldIndex(const sensor_msgs::PointCloud2& cloud, const std::string& field_name) {
  for (std::size_t i = 0; i < cloud.fields.size(); ++i) {
    if (cloud.fields[i].name == field_name) return static_cast<int>(i);
  }
  return -1;
}

inline std::string getFieldsList(const sensor_msgs::PointCloud2& cloud) {
  std::string names;
  for (const sensor_msgs::PointField& field : cloud.fields) {
    if (&field != cloud.fields.data()) names += ' ';
    names.append(field.name.data(), field.name.size());
  }
  return names;
}

template <typename PointT>
void createMapping(const std::vector<sensor_msgs::PointField>& msg_fields, MsgFieldMap& field_map) {
  std::vector<pcl::PCLPointField> fields;
  pcl_conversions::toPCL(msg_fields, fields);
  createMapping<PointT>(fields, field_map);
}
template <typename PointT>
void createMapping(const sensor_msgs::PointCloud2::_fields_type& msg_fields, MsgFieldMap& field_map) {
  std::vector<pcl::PCLPointField> fields;
  pcl_conversions::toPCL(msg_fields, fields);
  createMapping<PointT>(fields, field_map);
}

// --- images of a cloud's colors -------------------------------------------------------------------------------------------------
/// Throws std::runtime_error for a cloud without rows or without colors.
inline void toROSMsg(const sensor_msgs::PointCloud2& cloud, sensor_msgs::Image& image) {
  pcl::PCLPointCloud2 pcl_cloud;
  pcl_conversions::toPCL(cloud, pcl_cloud);
  pcl::PCLImage pcl_image;
  pcl::toPCLPointCloud2(pcl_cloud, pcl_image);
  pcl_conversions::fromPCL(pcl_image, image);
}
inline void moveToROSMsg(sensor_msgs::PointCloud2& cloud, sensor_msgs::Image& image) {
  pcl::PCLPointCloud2 pcl_cloud;
  pcl_conversions::moveToPCL(cloud, pcl_cloud);
  pcl::PCLImage pcl_image;
  pcl::toPCLPointCloud2(pcl_cloud, pcl_image);
  pcl_conversions::fromPCL(pcl_image, image);
}
template <typename T>
void toROSMsg(const pcl::PointCloud<T>& cloud, sensor_msgs::Image& msg) {
  if (cloud.width == 0 && cloud.height == 0)
    throw std::runtime_error("pcl::toROSMsg: a cloud of 0x0 points has no image");
  if (cloud.size() != std::size_t{cloud.width} * cloud.height) {
    throw std::runtime_error("pcl::toROSMsg: the cloud of " + std::to_string(cloud.width) + "x" +
                             std::to_string(cloud.height) + " has " + std::to_string(cloud.size()) + " points");
  }
  msg.height = cloud.height;
  msg.width = cloud.width;
  msg.encoding = "bgr8";
  msg.step = msg.width * 3;
  msg.data.resize_for_overwrite(std::size_t{msg.step} * msg.height);
  std::uint8_t* pixel = msg.data.data();
  for (const T& point : cloud) {
    std::memcpy(pixel, &point.rgb, 3);
    pixel += 3;
  }
}

// --- clouds -------------------------------------------------------------------------------------------------------------------
template <typename T>
void toROSMsg(const pcl::PointCloud<T>& pcl_cloud, sensor_msgs::PointCloud2& cloud) {
  pcl::PCLPointCloud2 description;  // all but the points
  description.header = pcl_cloud.header;
  const bool has_rows = pcl_cloud.width != 0 || pcl_cloud.height != 0;
  description.width = has_rows ? pcl_cloud.width : static_cast<std::uint32_t>(pcl_cloud.size());
  description.height = has_rows ? pcl_cloud.height : 1;
  for_each_type<typename traits::fieldList<T>::type>(detail::FieldAdder<T>(description.fields));
  description.point_step = sizeof(T);
  description.row_step = static_cast<std::uint32_t>(sizeof(T) * description.width);
  description.is_dense = pcl_cloud.is_dense;
  pcl_conversions::copyPCLPointCloud2MetaData(description, cloud);
  cloud.data.resize_for_overwrite(sizeof(T) * pcl_cloud.size());
  if (!pcl_cloud.empty()) std::memcpy(cloud.data.data(), &pcl_cloud[0], cloud.data.size());
}

/// Throws std::runtime_error if the message has fewer bytes than its size and its fields say.
template <typename T>
void fromROSMsg(const sensor_msgs::PointCloud2& cloud, pcl::PointCloud<T>& pcl_cloud) {
  MsgFieldMap fields;
  createMapping<T>(cloud.fields, fields);
  const std::size_t width = cloud.width, height = cloud.height, point_step = cloud.point_step,
                    row_step = cloud.row_step;
  if (width != 0 && height != 0) {
    std::size_t reach = 0;  // of a point's fields
    for (const detail::FieldMapping& field : fields) {
      reach = std::max(reach, std::size_t{field.serialized_offset} + field.size);
    }
    const std::size_t bytes = (height - 1) * row_step + (width - 1) * point_step + reach;
    if (reach != 0 && bytes > cloud.data.size()) {
      throw std::runtime_error("pcl::fromROSMsg: the cloud of " + std::to_string(width) + "x" + std::to_string(height) +
                               " points of " + std::to_string(point_step) + " bytes, in rows of " +
                               std::to_string(row_step) + ", has " + std::to_string(cloud.data.size()) +
                               " bytes; its fields need " + std::to_string(bytes));
    }
  }
  pcl_conversions::toPCL(cloud.header, pcl_cloud.header);
  pcl_cloud.width = cloud.width;
  pcl_cloud.height = cloud.height;
  pcl_cloud.is_dense = cloud.is_dense == 1;
  pcl_cloud.resize(width * height);
  if (pcl_cloud.empty()) return;
  const std::uint8_t* row = cloud.data.data();
  std::uint8_t* to = reinterpret_cast<std::uint8_t*>(&pcl_cloud[0]);
  const bool is_alike = fields.size() == 1 && fields[0].serialized_offset == 0 && fields[0].struct_offset == 0 &&
                        fields[0].size == point_step && point_step == sizeof(T);
  for (std::size_t y = 0; y < height; ++y, row += row_step) {
    if (is_alike) {
      std::memcpy(to, row, width * sizeof(T));
      to += width * sizeof(T);
      continue;
    }
    const std::uint8_t* from = row;
    for (std::size_t x = 0; x < width; ++x, from += point_step, to += sizeof(T)) {
      for (const detail::FieldMapping& field : fields) {
        std::memcpy(to + field.struct_offset, from + field.serialized_offset, field.size);
      }
    }
  }
}

/// Leaves the message without points.
template <typename T>
void moveFromROSMsg(sensor_msgs::PointCloud2& cloud, pcl::PointCloud<T>& pcl_cloud) {
  fromROSMsg(cloud, pcl_cloud);
  cloud.data.clear();
}

// --- files --------------------------------------------------------------------------------------------------------------------
namespace io {

inline int savePCDFile(const std::string& file_name, const sensor_msgs::PointCloud2& cloud,
                       const Eigen::Vector4f& origin = Eigen::Vector4f::Zero(),
                       const Eigen::Quaternionf& orientation = Eigen::Quaternionf::Identity(),
                       const bool binary_mode = false) {
  pcl::PCLPointCloud2 pcl_cloud;
  pcl_conversions::toPCL(cloud, pcl_cloud);
  return pcl::io::savePCDFile(file_name, pcl_cloud, origin, orientation, binary_mode);
}
/// Leaves the message without points.
inline int destructiveSavePCDFile(const std::string& file_name, sensor_msgs::PointCloud2& cloud,
                                  const Eigen::Vector4f& origin = Eigen::Vector4f::Zero(),
                                  const Eigen::Quaternionf& orientation = Eigen::Quaternionf::Identity(),
                                  const bool binary_mode = false) {
  pcl::PCLPointCloud2 pcl_cloud;
  pcl_conversions::moveToPCL(cloud, pcl_cloud);
  return pcl::io::savePCDFile(file_name, pcl_cloud, origin, orientation, binary_mode);
}
inline int loadPCDFile(const std::string& file_name, sensor_msgs::PointCloud2& cloud) {
  pcl::PCLPointCloud2 pcl_cloud;
  const int result = pcl::io::loadPCDFile(file_name, pcl_cloud);
  pcl_conversions::fromPCL(pcl_cloud, cloud);
  return result;
}

}  // namespace io

// --- concatenation --------------------------------------------------------------------------------------------------------------
namespace baton_detail {

/// A field that is copied from a point of the second cloud to one of the result.
struct CopiedField {
  std::size_t from, to, size;
};

inline bool have_same_content(const sensor_msgs::PointField& a, const sensor_msgs::PointField& b) {
  return a.name == b.name || (a.name == "rgb" && b.name == "rgba") || (a.name == "rgba" && b.name == "rgb");
}

/// For clouds with padding (fields named "_"), as pcl_conversions finds them: a padding field of the first cloud uses up a field of the
/// second, and the offsets in the second cloud are counted with its padding fields.
inline std::vector<CopiedField> copied_fields(const sensor_msgs::PointCloud2& first,
                                              const sensor_msgs::PointCloud2& second) {
  std::vector<CopiedField> copied;
  std::size_t i = 0, j = 0;
  for (const sensor_msgs::PointField& field : second.fields) {
    if (field.name == "_") continue;
    if (i == first.fields.size()) break;
    const std::size_t size = std::size_t{field.count} * static_cast<std::size_t>(getFieldSize(field.datatype));
    if (first.fields[i].name == "_") {
      ++i;
    } else if (have_same_content(first.fields[i], field)) {
      copied.push_back({second.fields[j].offset, first.fields[i].offset, size});
      ++i;
    }
    ++j;
  }
  return copied;
}

}  // namespace baton_detail

/// False if the fields of the two differ, or if the second has fewer bytes than its fields say.
inline bool concatenatePointCloud(const sensor_msgs::PointCloud2& cloud1, const sensor_msgs::PointCloud2& cloud2,
                                  sensor_msgs::PointCloud2& cloud_out) {
  const std::uint32_t points1 = cloud1.width * cloud1.height, points2 = cloud2.width * cloud2.height;
  if ((points1 == 0) != (points2 == 0)) {
    cloud_out = points1 == 0 ? cloud2 : cloud1;
    return true;
  }
  const auto has_padding = [](const sensor_msgs::PointCloud2& cloud) { return getFieldIndex(cloud, "_") >= 0; };
  const bool strip = has_padding(cloud1) || has_padding(cloud2);
  if (!strip && cloud1.fields.size() != cloud2.fields.size()) {
    PCL_ERROR("[pcl::concatenatePointCloud] the first cloud has %zu fields, the second has %zu\n", cloud1.fields.size(),
              cloud2.fields.size());
    return false;
  }

  // What the caller's result is also one of the two clouds for: read before it is written.
  const std::size_t before = cloud1.data.size();
  cloud_out = cloud1;
  cloud_out.width = points1 + points2;
  cloud_out.height = 1;
  cloud_out.is_dense = cloud1.is_dense && cloud2.is_dense;
  if (!strip) {
    for (std::size_t i = 0; i < cloud1.fields.size(); ++i) {
      if (baton_detail::have_same_content(cloud1.fields[i], cloud2.fields[i])) continue;
      PCL_ERROR("[pcl::concatenatePointCloud] field %zu is '%s' in the first cloud and '%s' in the second\n", i,
                cloud1.fields[i].name.c_str(), cloud2.fields[i].name.c_str());
      return false;
    }
    const std::size_t added = cloud2.data.size();
    cloud_out.data.resize_for_overwrite(before + added);
    if (added != 0) std::memcpy(cloud_out.data.data() + before, cloud2.data.data(), added);
    return true;
  }

  const std::vector<baton_detail::CopiedField> copied = baton_detail::copied_fields(cloud1, cloud2);
  cloud_out.data.resize(before + std::size_t{points2} * cloud_out.point_step);
  for (std::size_t point = 0; point < points2; ++point) {
    for (const baton_detail::CopiedField& field : copied) {
      const std::size_t from = point * cloud2.point_step + field.from;
      const std::size_t to = before + point * cloud_out.point_step + field.to;
      if (from + field.size > cloud2.data.size() || to + field.size > cloud_out.data.size()) {
        PCL_ERROR("[pcl::concatenatePointCloud] point %zu of the second cloud is not in its %zu bytes\n", point,
                  cloud2.data.size());
        return false;
      }
      std::memcpy(cloud_out.data.data() + to, cloud2.data.data() + from, field.size);
    }
  }
  return true;
}

}  // namespace pcl

// --- pcl::PCLPointCloud2 as a message: topics of sensor_msgs/PointCloud2 ----------------------------------------------------------
namespace ros {

template <>
struct DefaultMessageCreator<pcl::PCLPointCloud2> {
  boost::shared_ptr<pcl::PCLPointCloud2> operator()() { return boost::make_shared<pcl::PCLPointCloud2>(); }
};

namespace message_traits {

template <>
struct MD5Sum<pcl::PCLPointCloud2> : MD5Sum<sensor_msgs::PointCloud2> {
  using MD5Sum<sensor_msgs::PointCloud2>::value;
  static const char* value(const pcl::PCLPointCloud2&) { return value(); }
};
template <>
struct DataType<pcl::PCLPointCloud2> : DataType<sensor_msgs::PointCloud2> {
  using DataType<sensor_msgs::PointCloud2>::value;
  static const char* value(const pcl::PCLPointCloud2&) { return value(); }
};
template <>
struct Definition<pcl::PCLPointCloud2> : Definition<sensor_msgs::PointCloud2> {
  using Definition<sensor_msgs::PointCloud2>::value;
  static const char* value(const pcl::PCLPointCloud2&) { return value(); }
};
template <>
struct HasHeader<pcl::PCLPointCloud2> : TrueType {};

}  // namespace message_traits

namespace serialization {

/// `Class::each(object, next)` calls `next` with each field, in the message's order.
template <class Class, class Object>
struct PclSerializer {
  template <typename Stream>
  static void write(Stream& stream, const Object& object) {
    Class::each(object, [&](const auto& field) { stream.next(field); });
  }
  template <typename Stream>
  static void read(Stream& stream, Object& object) {
    Class::each(object, [&](auto& field) { stream.next(field); });
  }
  static std::uint32_t serializedLength(const Object& object) {
    LStream stream;
    write(stream, object);
    return stream.getLength();
  }
};

template <>
struct Serializer<pcl::PCLHeader> {
  template <typename Stream>
  static void write(Stream& stream, const pcl::PCLHeader& header) {
    stream.next(header.seq);
    stream.next(pcl_conversions::fromPCL(header.stamp));
    stream.next(header.frame_id);
  }
  template <typename Stream>
  static void read(Stream& stream, pcl::PCLHeader& header) {
    stream.next(header.seq);
    ros::Time stamp;
    stream.next(stamp);
    header.stamp = pcl_conversions::toPCL(stamp);
    stream.next(header.frame_id);
  }
  static std::uint32_t serializedLength(const pcl::PCLHeader& header) {
    return 12 + serializationLength(header.frame_id);
  }
};
template <>
struct Serializer<pcl::PCLPointField> : PclSerializer<Serializer<pcl::PCLPointField>, pcl::PCLPointField> {
  template <class Object, class Next>
  static void each(Object& field, Next&& next) {
    next(field.name);
    next(field.offset);
    next(field.datatype);
    next(field.count);
  }
};
template <>
struct Serializer<pcl::PCLPointCloud2> : PclSerializer<Serializer<pcl::PCLPointCloud2>, pcl::PCLPointCloud2> {
  template <class Object, class Next>
  static void each(Object& cloud, Next&& next) {
    static_assert(sizeof cloud.height == 4, "PCL's indices have to be of 32 bits, as those of ROS's messages are");
    next(cloud.header);
    next(cloud.height);
    next(cloud.width);
    next(cloud.fields);
    next(cloud.is_bigendian);
    next(cloud.point_step);
    next(cloud.row_step);
    next(cloud.data);
    next(cloud.is_dense);
  }
};

}  // namespace serialization
}  // namespace ros
