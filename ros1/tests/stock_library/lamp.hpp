// SPDX-License-Identifier: Apache-2.0
// The header of a library that was compiled with ROS's own messages. A program that is recompiled and uses it links, unless
// a function's type names a message; and then it would read one layout as the other.
#pragma once

#include <sensor_msgs/Image.h>

#include <string>

namespace lamp {

/// No message is inside.
class Bulb {
 public:
  explicit Bulb(const std::string& name);
  int watts() const;

 private:
  std::string name_;
};

/// A message is a member.
class Lamp {
 public:
  Lamp();
  unsigned width() const;

 private:
  sensor_msgs::Image image_;
};

/// A message is a parameter of a virtual function.
class Viewer {
 public:
  virtual ~Viewer();
  virtual void view(const sensor_msgs::ImageConstPtr& image) = 0;
};

/// A class with a message inside is a parameter, the result, and the type of a variable.
class Lit : public Lamp {};
unsigned width_of(const Lit& lit);
Lit lit();
extern Lit first;

/// A function with a message in its result or its parameters: neither links.
sensor_msgs::ImagePtr picture();
void show(const sensor_msgs::Image& image);

}  // namespace lamp
