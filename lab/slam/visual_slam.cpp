// SPDX-License-Identifier: Apache-2.0
#include "visual_slam.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <opencv2/calib3d.hpp>

namespace tum_slam {

namespace {

constexpr int kLeastPoints = 20;        // of a pose
constexpr int kFirstPoints = 100;       // of the first two keyframes
constexpr double kFirstShift = 0.05;    // of the image's width, by which features move between them
constexpr double kPixelError = 2.5;     // of a map point that is where the pose says
constexpr double kFirstParallax = 0.1;  // radians between the two rays to a map point: 6 degrees
constexpr double kParallax = 0.017;     // 1 degree
constexpr std::size_t kKeyframes = 3;
constexpr std::size_t kBitsApart = 60;  // of 256, between a map point and its feature
constexpr int kCell = 32;               // pixels

using Pairs = std::vector<cv::DMatch>;

int cell_of(float at, int pixels) { return std::clamp(static_cast<int>(at), 0, pixels - 1) / kCell; }
int cells_of(int pixels) { return cell_of(static_cast<float>(pixels), pixels) + 1; }
std::size_t cell_number(cv::Size size, int row, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(cells_of(size.width)) +
         static_cast<std::size_t>(column);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double angle_between(const cv::Vec3d& a, const cv::Vec3d& b) { return std::atan2(cv::norm(a.cross(b)), a.dot(b)); }

}  // namespace

VisualSlam::VisualSlam(const Camera& camera, int features)
    : camera_(camera),
      inverse_(camera.matrix.inv()),
      orb_(cv::ORB::create(features, 1.2F, 8, 31, 0, 2, cv::ORB::HARRIS_SCORE, 31, 12)) {}

VisualSlam::Frame VisualSlam::detect(const cv::Mat& image) const {
  Frame frame;
  frame.size = image.size();
  orb_->detectAndCompute(image, cv::noArray(), frame.features, frame.descriptors);
  const std::size_t count = frame.features.size();
  if (count > 0) {
    cv::KeyPoint::convert(frame.features, frame.pixels);
    if (cv::norm(camera_.distortion) > 0)
      cv::undistortPoints(frame.pixels, frame.pixels, camera_.matrix, camera_.distortion, cv::noArray(),
                          camera_.matrix);
  }
  frame.points.assign(count, -1);
  frame.bits.resize(count);
  static_assert(sizeof(Descriptor) == 32, "a descriptor of ORB has 32 bytes");
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<void*>(&frame.bits[i]), frame.descriptors.ptr(static_cast<int>(i)), sizeof(Descriptor));
  frame.cells.resize(cell_number(frame.size, cells_of(frame.size.height), 0));
  for (std::size_t i = 0; i < count; ++i) {
    const cv::Point2f at = frame.pixels[i];
    frame.cells[cell_number(frame.size, cell_of(at.y, frame.size.height), cell_of(at.x, frame.size.width))].push_back(
        i);
  }
  return frame;
}

VisualSlam::Nearest VisualSlam::nearest(const Frame& frame, cv::Point2f place, float radius,
                                        const Descriptor& descriptor) {
  Nearest found;
  const auto last_row = cell_of(place.y + radius, frame.size.height);
  const auto last_column = cell_of(place.x + radius, frame.size.width);
  for (int row = cell_of(place.y - radius, frame.size.height); row <= last_row; ++row) {
    for (int column = cell_of(place.x - radius, frame.size.width); column <= last_column; ++column) {
      for (const std::size_t i : frame.cells[cell_number(frame.size, row, column)]) {
        const cv::Point2f apart = frame.pixels[i] - place;
        if (apart.dot(apart) > radius * radius) continue;
        const std::size_t bits = (frame.bits[i] ^ descriptor).count();
        if (bits < found.bits) {
          found = {i, bits, found.bits};
        } else {
          found.next_bits = std::min(found.next_bits, bits);
        }
      }
    }
  }
  return found;
}

/// Pairs of features without map points that are much more alike than each is to any other, at most a quarter of the image's width apart.
std::vector<cv::DMatch> VisualSlam::pairs(const Frame& first, const Frame& second) {
  const auto radius = static_cast<float>(first.size.width) / 4;
  Pairs of_feature(second.bits.size());
  for (std::size_t i = 0; i < first.bits.size(); ++i) {
    if (first.points[i] >= 0) continue;
    const Nearest found = nearest(second, first.pixels[i], radius, first.bits[i]);
    if (found.bits > kBitsApart || 4 * found.bits >= 3 * found.next_bits || second.points[found.feature] >= 0) continue;
    cv::DMatch& pair = of_feature[found.feature];
    const auto distance = static_cast<float>(found.bits);
    if (distance < pair.distance) pair = {static_cast<int>(i), static_cast<int>(found.feature), distance};
  }
  of_feature.erase(
      std::remove_if(of_feature.begin(), of_feature.end(), [](const cv::DMatch& pair) { return pair.queryIdx < 0; }),
      of_feature.end());
  return of_feature;
}

Tracked VisualSlam::track(const cv::Mat& image) {
  Frame frame = detect(image);
  Tracked tracked;
  tracked.features = frame.features;
  tracked.found = initialized_ ? localize(frame) : initialize(frame);
  if (!tracked.found) return tracked;
  const Motion camera = frame.pose.inverse();
  tracked.rotation = camera.rotation;
  tracked.position = camera.translation;
  for (std::size_t i = 0; i < frame.points.size(); ++i) {
    if (frame.points[i] < 0) continue;
    tracked.pixels.push_back(frame.features[i].pt);
    tracked.points.emplace_back(map_[static_cast<std::size_t>(frame.points[i])].position);
  }
  return tracked;
}

/// The first image is the first keyframe. The second keyframe is the first image from which enough of the scene is seen at a large angle.
bool VisualSlam::initialize(Frame& frame) {
  const auto begin_with = [this](Frame& first) {
    keyframes_.clear();
    keyframes_.push_back(std::move(first));
    return false;
  };
  if (keyframes_.empty()) return begin_with(frame);
  Frame& first = keyframes_.front();
  const Pairs alike = pairs(first, frame);
  if (alike.size() < kFirstPoints) return begin_with(frame);
  std::vector<cv::Point2f> from, to;
  std::vector<double> shifts;
  for (const cv::DMatch& pair : alike) {
    from.push_back(first.pixels[static_cast<std::size_t>(pair.queryIdx)]);
    to.push_back(frame.pixels[static_cast<std::size_t>(pair.trainIdx)]);
    shifts.push_back(cv::norm(to.back() - from.back()));
  }
  if (median(shifts) < kFirstShift * frame.size.width) return false;
  cv::Mat inliers, rotation, translation;
  const cv::Mat essential = cv::findEssentialMat(from, to, camera_.matrix, cv::RANSAC, 0.999, 1.0, inliers);
  if (essential.rows != 3) return false;
  cv::recoverPose(essential, from, to, camera_.matrix, rotation, translation, inliers);
  Pairs good;
  for (std::size_t i = 0; i < alike.size(); ++i)
    if (inliers.at<unsigned char>(static_cast<int>(i)) != 0) good.push_back(alike[i]);
  frame.pose = {cv::Matx33d(rotation.ptr<double>()), cv::Vec3d(translation.ptr<double>())};
  const int least = std::max(kFirstPoints, static_cast<int>(good.size()) / 3);
  if (triangulate(first, frame, good, kFirstParallax) < least) {
    map_.clear();
    std::fill(first.points.begin(), first.points.end(), -1);
    std::fill(frame.points.begin(), frame.points.end(), -1);
    return false;
  }
  std::vector<double> depths;
  for (const MapPoint& point : map_) depths.push_back(point.position[2]);
  const double unit = median(depths);
  for (MapPoint& point : map_) {
    point.position /= unit;
    point.first.eye /= unit;
  }
  frame.pose.translation /= unit;
  pose_ = frame.pose;
  initialized_ = true;
  keyframes_.push_back(frame);
  return true;
}

bool VisualSlam::localize(Frame& frame) {
  bool solved = false;
  if (!lost_) {
    frame.pose = velocity_ * pose_;
    assign(frame, 24, false);
    solved = solve(frame, true);
  }
  if (!solved) {  // anywhere in the map
    frame.pose = pose_;
    assign_by_descriptors(frame);
    solved = solve(frame, true);
  }
  if (solved) {
    assign(frame, 8, true);
    solved = solve(frame, false) && drop_outliers(frame) >= kLeastPoints;
  }
  velocity_ = solved && !lost_ ? frame.pose * pose_.inverse() : Motion();
  lost_ = !solved;
  if (!solved) return false;
  pose_ = frame.pose;
  refine(frame);
  ++since_keyframe_;
  const auto points = [](const Frame& f) {
    return std::count_if(f.points.begin(), f.points.end(), [](int point) { return point >= 0; });
  };
  if (since_keyframe_ >= 5 && 10 * points(frame) < 8 * points(keyframes_.back())) extend(frame);
  return true;
}

cv::Point2d VisualSlam::project(const cv::Vec3d& in_camera) const {
  const cv::Vec3d pixel = camera_.matrix * in_camera;
  return {pixel[0] / pixel[2], pixel[1] / pixel[2]};
}

/// Looks for each map point within `radius` pixels of the place where the frame's pose has it.
void VisualSlam::assign(Frame& frame, float radius, bool count) {
  std::fill(frame.points.begin(), frame.points.end(), -1);
  std::vector<std::size_t> apart(frame.points.size(), kBitsApart);
  for (std::size_t number = 0; number < map_.size(); ++number) {
    MapPoint& point = map_[number];
    if (!point.reliable()) continue;
    const cv::Vec3d in_camera = frame.pose(point.position);
    if (in_camera[2] <= 0) continue;
    const cv::Point2f at = project(in_camera);
    if (!cv::Rect2f({0, 0}, cv::Size2f(frame.size)).contains(at)) continue;
    if (count) ++point.expected;
    const Nearest found = nearest(frame, at, radius, point.descriptor);
    if (found.bits > kBitsApart || 10 * found.bits >= 9 * found.next_bits || found.bits >= apart[found.feature])
      continue;
    apart[found.feature] = found.bits;
    frame.points[found.feature] = static_cast<int>(number);
  }
}

void VisualSlam::assign_by_descriptors(Frame& frame) {
  std::vector<int> numbers;
  cv::Mat descriptors;
  std::fill(frame.points.begin(), frame.points.end(), -1);
  for (std::size_t number = 0; number < map_.size(); ++number) {
    if (!map_[number].reliable()) continue;
    numbers.push_back(static_cast<int>(number));
    descriptors.push_back(cv::Mat(1, static_cast<int>(sizeof(Descriptor)), CV_8U, &map_[number].descriptor));
  }
  if (frame.bits.empty() || numbers.empty()) return;
  std::vector<Pairs> nearest_two;
  cv::BFMatcher(cv::NORM_HAMMING).knnMatch(frame.descriptors, descriptors, nearest_two, 2);
  for (const Pairs& two : nearest_two) {
    if (two.size() < 2 || two[0].distance >= 0.75F * two[1].distance) continue;
    frame.points[static_cast<std::size_t>(two[0].queryIdx)] = numbers[static_cast<std::size_t>(two[0].trainIdx)];
  }
}

/// The pose from the assigned map points. `robust` finds it among wrong assignments; otherwise the pose is refined by those that it explains.
bool VisualSlam::solve(Frame& frame, bool robust) const {
  if (!robust && drop_outliers(frame) < kLeastPoints) return false;
  std::vector<cv::Point3d> points;
  std::vector<cv::Point2d> pixels;
  for (std::size_t i = 0; i < frame.points.size(); ++i) {
    if (frame.points[i] < 0) continue;
    points.emplace_back(map_[static_cast<std::size_t>(frame.points[i])].position);
    pixels.emplace_back(frame.pixels[i]);
  }
  if (points.size() < kLeastPoints) return false;
  cv::Vec3d turn, translation = frame.pose.translation;
  cv::Rodrigues(frame.pose.rotation, turn);
  if (robust) {
    std::vector<int> inliers;
    if (!cv::solvePnPRansac(points, pixels, camera_.matrix, cv::noArray(), turn, translation, true, 100, 4, 0.99,
                            inliers) ||
        inliers.size() < kLeastPoints)
      return false;
  } else {
    cv::solvePnPRefineLM(points, pixels, camera_.matrix, cv::noArray(), turn, translation);
  }
  cv::Rodrigues(turn, frame.pose.rotation);
  frame.pose.translation = translation;
  return true;
}

/// Takes away map points that are not where the frame's pose has them; returns how many remain.
int VisualSlam::drop_outliers(Frame& frame) const {
  int remain = 0;
  for (std::size_t i = 0; i < frame.points.size(); ++i) {
    int& point = frame.points[i];
    if (point < 0) continue;
    const cv::Vec3d in_camera = frame.pose(map_[static_cast<std::size_t>(point)].position);
    const cv::Point2d pixel = frame.pixels[i];
    if (in_camera[2] <= 0 || cv::norm(project(in_camera) - pixel) > kPixelError)
      point = -1;
    else
      ++remain;
  }
  return remain;
}

/// New map points from pairs of features without map points; returns how many.
int VisualSlam::triangulate(Frame& first, Frame& second, const Pairs& alike, double least_parallax) {
  if (alike.empty()) return 0;
  std::vector<cv::Point2d> from, to;
  for (const cv::DMatch& pair : alike) {
    from.emplace_back(first.pixels[static_cast<std::size_t>(pair.queryIdx)]);
    to.emplace_back(second.pixels[static_cast<std::size_t>(pair.trainIdx)]);
  }
  const auto projection = [this](const Motion& pose) {
    cv::Matx34d rigid;
    cv::hconcat(pose.rotation, pose.translation, rigid);
    return camera_.matrix * rigid;
  };
  cv::Mat found;
  cv::triangulatePoints(projection(first.pose), projection(second.pose), from, to, found);
  const cv::Vec3d eye = first.pose.inverse().translation, other_eye = second.pose.inverse().translation;
  int made = 0;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    const cv::Vec4d at(found.col(static_cast<int>(i)));
    if (at[3] == 0) continue;
    const cv::Vec3d position(at[0] / at[3], at[1] / at[3], at[2] / at[3]);
    const cv::Vec3d in_first = first.pose(position), in_second = second.pose(position);
    const double parallax = angle_between(position - eye, position - other_eye);
    if (in_first[2] <= 0 || in_second[2] <= 0 || parallax < least_parallax ||
        cv::norm(project(in_first) - from[i]) > kPixelError || cv::norm(project(in_second) - to[i]) > kPixelError)
      continue;
    const auto query = static_cast<std::size_t>(alike[i].queryIdx), train = static_cast<std::size_t>(alike[i].trainIdx);
    first.points[query] = second.points[train] = static_cast<int>(map_.size());
    map_.push_back({position, second.bits[train], sight(first, query), parallax});
    ++made;
  }
  return made;
}

VisualSlam::Sight VisualSlam::sight(const Frame& frame, std::size_t feature) const {
  const cv::Vec3d in_camera = inverse_ * cv::Vec3d(frame.pixels[feature].x, frame.pixels[feature].y, 1);
  return {frame.pose.inverse().translation, cv::normalize(frame.pose.rotation.t() * in_camera)};
}

/// The larger the angle between two sights of a map point, the better is its position: the middle between the two rays.
void VisualSlam::refine(const Frame& frame) {
  for (std::size_t i = 0; i < frame.points.size(); ++i) {
    if (frame.points[i] < 0) continue;
    MapPoint& point = map_[static_cast<std::size_t>(frame.points[i])];
    ++point.found;
    const Sight now = sight(frame, i);
    const double cosine = point.first.ray.dot(now.ray), parallax = std::acos(std::clamp(cosine, -1.0, 1.0));
    if (parallax < 1.3 * point.parallax) continue;
    const cv::Vec3d apart = now.eye - point.first.eye;
    const double sine2 = 1 - cosine * cosine;
    const double on_first = (apart.dot(point.first.ray) - cosine * apart.dot(now.ray)) / sine2;
    const double on_now = (cosine * apart.dot(point.first.ray) - apart.dot(now.ray)) / sine2;
    if (on_first <= 0 || on_now <= 0) continue;
    point.position = 0.5 * (point.first.eye + on_first * point.first.ray + now.eye + on_now * now.ray);
    point.parallax = parallax;
  }
}

/// Makes the frame a keyframe: points that it and an older keyframe see, and that the map does not have, become map points.
void VisualSlam::extend(Frame& frame) {
  since_keyframe_ = 0;
  for (Frame& keyframe : keyframes_) triangulate(keyframe, frame, pairs(keyframe, frame), kParallax);
  keyframes_.push_back(frame);
  if (keyframes_.size() > kKeyframes) keyframes_.pop_front();
}

}  // namespace tum_slam
