// SPDX-License-Identifier: Apache-2.0
#include "lamp.hpp"

#include <boost/make_shared.hpp>

namespace lamp {

Bulb::Bulb(const std::string& name) : name_(name) {}
int Bulb::watts() const { return static_cast<int>(name_.size()); }
Lamp::Lamp() { image_.width = 7; }
unsigned Lamp::width() const { return image_.width; }
Viewer::~Viewer() = default;
unsigned width_of(const Lit& lit) { return lit.width(); }
Lit lit() { return {}; }
Lit first;
sensor_msgs::ImagePtr picture() { return boost::make_shared<sensor_msgs::Image>(); }
void show(const sensor_msgs::Image&) {}

}  // namespace lamp
