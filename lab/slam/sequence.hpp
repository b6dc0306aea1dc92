// SPDX-License-Identifier: Apache-2.0
// The list of a sequence's images in the layout of the TUM RGB-D benchmark (https://cvg.cit.tum.de/data/datasets/rgbd-dataset):
// rgb.txt has a line `timestamp file` for each image, with the file relative to the sequence's folder. Lines that begin with # are comments.
#pragma once

#include <string>
#include <vector>

namespace tum_slam {

struct ListedImage {
  double time;  // seconds
  std::string file;
};

/// The images of the sequence in `folder`, in the order of rgb.txt. Throws std::runtime_error, whose text names the file, if rgb.txt cannot be
/// read, has another line, has no image, or lists a file that is not there.
std::vector<ListedImage> read_list(const std::string& folder);

}  // namespace tum_slam
