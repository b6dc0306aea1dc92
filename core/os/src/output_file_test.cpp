// SPDX-License-Identifier: Apache-2.0
#include "baton/os/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temporary_directory.hpp"

namespace {

using baton::os::FilePiece;
using baton::os::OutputFile;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(OutputFile, writes_more_pieces_than_one_call_takes_in_their_order) {
  const baton::test::TemporaryDirectory directory;
  baton::Result<OutputFile> file = OutputFile::create(directory.path() + "/file");
  ASSERT_TRUE(file.ok()) << file.error().message;
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back(std::to_string(i) + (i % 7 == 0 ? "" : std::string(i % 50, 'x')));
  std::vector<FilePiece> pieces{{"", 0}};
  for (const std::string& text : texts) {
    pieces.push_back({text.data(), text.size()});
    expected += text;
  }
  ASSERT_TRUE(file->append(pieces).ok());
  ASSERT_TRUE(file->append({{"end", 3}}).ok());
  EXPECT_EQ(text_of(file->path()), expected + "end");
  EXPECT_EQ(file->size(), expected.size() + 3);
  ASSERT_TRUE(file->cut(2).ok());
  ASSERT_TRUE(file->append({{"?", 1}}).ok());
  EXPECT_EQ(text_of(file->path()), expected.substr(0, 2) + "?");
}

/// Whether the file system of the test's directories has direct I/O.
bool has_direct(const std::string& directory) {
  const baton::Result<OutputFile> file = OutputFile::create(directory + "/probe", true);
  return file.ok();
}

TEST(OutputFile, whole_pages_of_a_large_piece_that_lies_in_its_page_as_in_memory_are_written_directly) {
  const baton::test::TemporaryDirectory directory;
  if (!has_direct(directory.path())) GTEST_SKIP() << "no direct I/O in " << directory.path();
  constexpr std::size_t kPage = OutputFile::kPageBytes, kLarge = OutputFile::kLeastDirectBytes;
  auto* const memory =
      static_cast<char*>(::mmap(nullptr, 2 * kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t i = 0; i < 2 * kLarge; ++i) memory[i] = static_cast<char>(i * 31 + i / kPage);
  const struct {
    std::size_t before;  // bytes in the file
    std::size_t from;    // offset of the piece in its page
    std::size_t bytes, direct;
  } kCases[] = {
      {0, 0, kLarge, kLarge},                  // all of it
      {100, 100, kLarge + 5000, kLarge},       // 3,996 bytes, whole pages, 1,104 bytes
      {kPage + 7, 7, kLarge + kPage, kLarge},  // the same in another page
      {100, 101, kLarge + 5000, 0},            // another place in its page
      {100, 100, kLarge - 1, 0},               // too small
  };
  int number = 0;
  for (const auto& each : kCases) {
    SCOPED_TRACE(number);
    baton::Result<OutputFile> file = OutputFile::create(directory.path() + "/" + std::to_string(number++), true);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const std::string before(each.before, '<');
    ASSERT_TRUE(file->append({{before.data(), before.size()}, {memory + each.from, each.bytes}, {"end", 3}}).ok());
    EXPECT_EQ(file->direct_bytes(), each.direct);
    EXPECT_EQ(file->size(), each.before + each.bytes + 3);
    EXPECT_TRUE(text_of(file->path()) == before + std::string(memory + each.from, each.bytes) + "end");
  }
  ::munmap(memory, 2 * kLarge);
}

TEST(OutputFile, an_existing_file_stays_as_it_is) {
  const baton::test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  std::ofstream(path) << "old";
  const baton::Result<OutputFile> file = OutputFile::create(path);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, baton::Errc::already_exists);
  EXPECT_EQ(text_of(path), "old");
}

TEST(OutputFile, what_does_not_fit_leaves_the_file_as_it_was) {
  const baton::test::TemporaryDirectory directory;
  baton::Result<OutputFile> file = OutputFile::create(directory.path() + "/file");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->append({{"kept", 4}}).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string large(5000, 'x');
  const baton::Result<void> appended = file->append({{"a", 1}, {large.data(), large.size()}});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, baton::Errc::limit_reached);
  EXPECT_EQ(text_of(file->path()), "kept");
  ASSERT_TRUE(file->append({{"!", 1}}).ok());
  EXPECT_EQ(text_of(file->path()), "kept!");
}

/// The descriptor of this process that has the file open; -1 if none has.
int descriptor_of(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST(OutputFile, a_direct_write_that_does_not_fit_leaves_the_file_as_it_was) {
  const baton::test::TemporaryDirectory directory;
  if (!has_direct(directory.path())) GTEST_SKIP() << "no direct I/O in " << directory.path();
  baton::Result<OutputFile> file = OutputFile::create(directory.path() + "/file", true);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->append({{"kept", 4}}).ok());
  constexpr std::size_t kBytes = 2 * OutputFile::kLeastDirectBytes;
  auto* const memory =
      static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{OutputFile::kLeastDirectBytes, before.rlim_max};  // in the middle of the direct write
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const baton::Result<void> appended = file->append({{memory + 4, kBytes - 4}});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, baton::Errc::limit_reached);
  EXPECT_EQ(text_of(file->path()), "kept");
  EXPECT_EQ(file->direct_bytes(), 0U);
  ASSERT_TRUE(file->append({{memory + 4, kBytes - 4}}).ok());
  EXPECT_EQ(file->size(), kBytes);
  EXPECT_GT(file->direct_bytes(), 0U);
  ::munmap(memory, kBytes);
}

TEST(OutputFile, what_cannot_be_taken_back_is_said_and_not_built_upon) {
  const baton::test::TemporaryDirectory directory;
  baton::Result<OutputFile> file = OutputFile::create(directory.path() + "/file");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->append({{"kept", 4}}).ok());
  // The same descriptor, of a file that takes one page and refuses to be cut.
  const int memory = ::memfd_create("full", MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memory, 4096), 0);
  ASSERT_EQ(::fcntl(memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
  ASSERT_GE(::dup2(memory, descriptor_of(file->path())), 0);
  const std::string large(5000, 'x');
  const baton::Result<void> appended = file->append({{"a", 1}, {large.data(), large.size()}});
  ASSERT_FALSE(appended.ok());
  EXPECT_NE(appended.error().message.find("write of '" + file->path() + "'"), std::string::npos);
  EXPECT_NE(appended.error().message.find("cut of '" + file->path() + "'"), std::string::npos);
  EXPECT_FALSE(file->append({{"b", 1}}).ok());  // there would be room
  EXPECT_EQ(file->size(), 4U);
  ::close(memory);
}

TEST(OutputFile, a_removed_file_is_said_also_if_its_name_exists_again) {
  const baton::test::TemporaryDirectory directory;
  baton::Result<OutputFile> first = OutputFile::create(directory.path() + "/file");
  ASSERT_TRUE(first.ok() && first->append({{"kept", 4}}).ok());
  ASSERT_EQ(::unlink(first->path().c_str()), 0);
  for (int i = 0; i < 2; ++i) {
    const baton::Result<void> appended = first->append({{"a", 1}});
    ASSERT_FALSE(appended.ok());
    EXPECT_NE(appended.error().message.find("was removed"), std::string::npos);
    if (i == 0) {
      ASSERT_TRUE(OutputFile::create(directory.path() + "/file").ok());
    }
  }
}

TEST(OutputFile, a_close_that_fails_is_an_error) {
  const baton::test::TemporaryDirectory directory;
  baton::Result<OutputFile> file = OutputFile::create(directory.path() + "/file");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->append({{"kept", 4}}).ok());
  ASSERT_TRUE(file->close().ok());
  baton::Result<OutputFile> other = OutputFile::create(directory.path() + "/other");
  ASSERT_TRUE(other.ok()) << other.error().message;
  ::close(descriptor_of(
      other->path()));  // a file system that refuses is not at hand: the error is another one, on the same way
  const baton::Result<void> closed = other->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().message.find("close of '" + other->path() + "'"), std::string::npos);
}

TEST(OutputFile, says_how_much_is_free) {
  const baton::test::TemporaryDirectory directory;
  EXPECT_TRUE(baton::os::free_bytes_at(directory.path()).ok());
  EXPECT_FALSE(baton::os::free_bytes_at(directory.path() + "/none").ok());
}

}  // namespace
