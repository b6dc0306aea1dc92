// SPDX-License-Identifier: Apache-2.0
#include "compression.hpp"

#include <memory>

#ifdef BATON_ZSTD
#include <zstd.h>
#endif
#ifdef BATON_LZ4
#include <lz4frame.h>
#endif

namespace baton::record {
namespace {

Error without(const std::string& library) {
  return {Errc::unsupported,
          "this recorder was built without " + library + "; `baton bag convert` compresses a bag later"};
}

#ifdef BATON_ZSTD
Result<std::vector<std::byte>> by_zstd(const message::Gathered& bytes) {
  // The fastest level but the negative ones: a recorder has to keep up with its topics.
  constexpr int kLevel = 1;
  const std::unique_ptr<ZSTD_CStream, decltype(&ZSTD_freeCStream)> stream(ZSTD_createCStream(), &ZSTD_freeCStream);
  if (!stream) return no_memory();
  ZSTD_CCtx_setParameter(stream.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setPledgedSrcSize(stream.get(), bytes.size());
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  std::size_t left = 0;
  const auto feed = [&](const std::byte* data, std::size_t size, ZSTD_EndDirective directive) {
    ZSTD_inBuffer from{data, size, 0};
    do {
      left = ZSTD_isError(left) != 0 ? left : ZSTD_compressStream2(stream.get(), &to, &from, directive);
    } while (ZSTD_isError(left) == 0 && (from.pos < from.size || (directive == ZSTD_e_end && left != 0)));
  };
  bytes.for_each([&](const std::byte* data, std::size_t size, bool) { feed(data, size, ZSTD_e_continue); });
  feed(nullptr, 0, ZSTD_e_end);
  if (ZSTD_isError(left) != 0) return Error{Errc::out_of_memory, std::string("zstd: ") + ZSTD_getErrorName(left)};
  out.resize(to.pos);
  return out;
}
#endif

#ifdef BATON_LZ4
Result<std::vector<std::byte>> by_lz4(const message::Gathered& bytes) {
  LZ4F_cctx* made = nullptr;
  if (LZ4F_isError(LZ4F_createCompressionContext(&made, LZ4F_VERSION)) != 0) return no_memory();
  const std::unique_ptr<LZ4F_cctx, decltype(&LZ4F_freeCompressionContext)> context(made, &LZ4F_freeCompressionContext);
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.contentSize = bytes.size();
  std::vector<std::byte> out(LZ4F_HEADER_SIZE_MAX);
  std::size_t used = LZ4F_compressBegin(made, out.data(), out.size(), &preferences);
  std::size_t failed = LZ4F_isError(used) != 0 ? used : 0;
  const auto add = [&](std::size_t room, const auto& call) {
    if (failed != 0) return;
    out.resize(used + room);
    const std::size_t more = call(out.data() + used, room);
    if (LZ4F_isError(more) != 0)
      failed = more;
    else
      used += more;
  };
  bytes.for_each([&](const std::byte* data, std::size_t size, bool) {
    add(LZ4F_compressBound(size, &preferences),
        [&](std::byte* to, std::size_t room) { return LZ4F_compressUpdate(made, to, room, data, size, nullptr); });
  });
  add(LZ4F_compressBound(0, &preferences),
      [&](std::byte* to, std::size_t room) { return LZ4F_compressEnd(made, to, room, nullptr); });
  if (failed != 0) return Error{Errc::out_of_memory, std::string("lz4: ") + LZ4F_getErrorName(failed)};
  out.resize(used);
  return out;
}
#endif

}  // namespace

const char* compression_name(Compression compression) noexcept {
  switch (compression) {
    case Compression::kNone:
      return "";
    case Compression::kZstd:
      return "zstd";
    case Compression::kLz4:
      return "lz4";
  }
  return "";
}

Result<Compression> compression_of(const std::string& name) {
  if (name == "none") return Compression::kNone;
#ifdef BATON_ZSTD
  if (name == "zstd") return Compression::kZstd;
#endif
#ifdef BATON_LZ4
  if (name == "lz4") return Compression::kLz4;
#endif
  if (name == "zstd" || name == "lz4") return without(name);
  return Error{Errc::invalid_argument, "a compression is none, zstd or lz4, not '" + name + "'"};
}

Result<std::vector<std::byte>> compressed(Compression compression, const message::Gathered& bytes) {
#ifdef BATON_ZSTD
  if (compression == Compression::kZstd) return by_zstd(bytes);
#endif
#ifdef BATON_LZ4
  if (compression == Compression::kLz4) return by_lz4(bytes);
#endif
  static_cast<void>(bytes);
  return without(compression_name(compression));
}

}  // namespace baton::record
