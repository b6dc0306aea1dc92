// SPDX-License-Identifier: Apache-2.0
#include "video.hpp"

#include <cstring>
#include <stdexcept>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

namespace baton::demo {
namespace {

struct FormatDeleter {
  void operator()(AVFormatContext* p) const { avformat_close_input(&p); }
};
struct CodecDeleter {
  void operator()(AVCodecContext* p) const { avcodec_free_context(&p); }
};
struct FrameDeleter {
  void operator()(AVFrame* p) const { av_frame_free(&p); }
};
struct PacketDeleter {
  void operator()(AVPacket* p) const { av_packet_free(&p); }
};
struct ScalerDeleter {
  void operator()(SwsContext* p) const { sws_freeContext(p); }
};

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error("video '" + path + "': " + what);
}

}  // namespace

struct Video::State {
  std::string path;
  int width, height, scaling;
  std::unique_ptr<AVFormatContext, FormatDeleter> format;
  std::unique_ptr<AVCodecContext, CodecDeleter> codec;
  std::unique_ptr<AVFrame, FrameDeleter> frame;
  std::unique_ptr<AVPacket, PacketDeleter> packet;
  std::unique_ptr<SwsContext, ScalerDeleter> scaler;
  int stream = -1;

  bool decode();
};

Video::Video(const std::string& path, int width, int height, Scaling scaling) : state_(std::make_unique<State>()) {
  av_log_set_level(AV_LOG_ERROR);
  State& s = *state_;
  s.path = path;
  s.width = width;
  s.height = height;
  s.scaling = scaling == Scaling::kFast ? SWS_POINT : SWS_AREA;
  AVFormatContext* format = nullptr;
  if (avformat_open_input(&format, path.c_str(), nullptr, nullptr) < 0) fail(path, "cannot be opened as a video");
  s.format.reset(format);
  if (avformat_find_stream_info(format, nullptr) < 0) fail(path, "has no readable streams");
  const AVCodec* decoder = nullptr;
  s.stream = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (s.stream < 0) fail(path, "has no video stream this machine can decode");
  s.codec.reset(avcodec_alloc_context3(decoder));
  avcodec_parameters_to_context(s.codec.get(), format->streams[s.stream]->codecpar);
  s.codec->thread_count = 1;  // the demo shows CPU per message: no hidden helper threads
  if (avcodec_open2(s.codec.get(), decoder, nullptr) < 0) fail(path, "the decoder does not start");
  s.frame.reset(av_frame_alloc());
  s.packet.reset(av_packet_alloc());
}

Video::~Video() = default;

std::size_t Video::frame_bytes() const noexcept {
  return std::size_t{3} * static_cast<std::size_t>(state_->width) * static_cast<std::size_t>(state_->height);
}

// False at the end of the file.
bool Video::State::decode() {
  for (;;) {
    const int got = avcodec_receive_frame(codec.get(), frame.get());
    if (got == 0) return true;
    if (got != AVERROR(EAGAIN)) return false;
    do {
      av_packet_unref(packet.get());
      if (av_read_frame(format.get(), packet.get()) < 0) {
        avcodec_send_packet(codec.get(), nullptr);  // drain what the decoder still holds
        break;
      }
    } while (packet->stream_index != stream);
    if (packet->size > 0 && avcodec_send_packet(codec.get(), packet.get()) < 0)
      fail(path, "a packet cannot be decoded");
  }
}

void Video::next(std::uint8_t* rgb) {
  State& s = *state_;
  if (!s.decode()) {
    av_seek_frame(s.format.get(), s.stream, 0, AVSEEK_FLAG_BACKWARD);
    avcodec_flush_buffers(s.codec.get());
    if (!s.decode()) fail(s.path, "holds no frame");
  }
  if (!s.scaler)
    s.scaler.reset(sws_getContext(s.frame->width, s.frame->height, static_cast<AVPixelFormat>(s.frame->format), s.width,
                                  s.height, AV_PIX_FMT_RGB24, s.scaling, nullptr, nullptr, nullptr));
  if (!s.scaler) fail(s.path, "its pixel format cannot be converted to RGB");
  std::uint8_t* planes[4] = {rgb, nullptr, nullptr, nullptr};
  const int strides[4] = {3 * s.width, 0, 0, 0};
  sws_scale(s.scaler.get(), s.frame->data, s.frame->linesize, 0, s.frame->height, planes, strides);
}

}  // namespace baton::demo
