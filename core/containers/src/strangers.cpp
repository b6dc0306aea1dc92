// SPDX-License-Identifier: Apache-2.0
#include "strangers.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace baton::containers {
namespace {

struct Search {
  const char* const* names;
  const void* home;
  std::vector<std::string> found;
};

const void* object_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_one_of(const char* const* names, const char* name) {
  for (; *names != nullptr; ++names)
    if (std::strcmp(*names, name) == 0) return true;
  return false;
}

// The dynamic section of one object (elf(5)). On most machines the loader has made its addresses absolute.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * tables[2] = {nullptr, nullptr};  // of calls, of everything else
  std::size_t bytes[2] = {0, 0};

  Dynamic(std::uintptr_t base, const ElfW(Dyn) * entry) {
    const auto at = [base](std::uintptr_t address) { return address < base ? address + base : address; };
    bool rela = true;
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto value = static_cast<std::uintptr_t>(entry->d_un.d_ptr);
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols = reinterpret_cast<const ElfW(Sym)*>(at(value));
          break;
        case DT_STRTAB:
          strings = reinterpret_cast<const char*>(at(value));
          break;
        case DT_JMPREL:
          tables[0] = reinterpret_cast<const ElfW(Rela)*>(at(value));
          break;
        case DT_PLTRELSZ:
          bytes[0] = value;
          break;
        case DT_PLTREL:
          rela = value == DT_RELA;
          break;
        case DT_RELA:
          tables[1] = reinterpret_cast<const ElfW(Rela)*>(at(value));
          break;
        case DT_RELASZ:
          bytes[1] = value;
          break;
        default:
          break;
      }
    }
    if (!rela) tables[0] = nullptr;  // 32-bit machines use another form
  }
};

bool binds_elsewhere(const Search& search, std::uintptr_t base, const Dynamic& dynamic) {
  if (dynamic.symbols == nullptr || dynamic.strings == nullptr) return false;
  for (int i = 0; i < 2; ++i) {
    const ElfW(Rela)* const end = dynamic.tables[i] + dynamic.bytes[i] / sizeof(ElfW(Rela));
    for (const ElfW(Rela)* entry = dynamic.tables[i]; entry != nullptr && entry < end; ++entry) {
      const auto index = sizeof(void*) == 8 ? static_cast<std::size_t>(entry->r_info) >> 32
                                            : static_cast<std::size_t>(entry->r_info) >> 8;
      if (index == 0) continue;
      const ElfW(Sym)& symbol = dynamic.symbols[index];
      if (!is_one_of(search.names, dynamic.strings + symbol.st_name)) continue;
      void* bound = nullptr;
      std::memcpy(&bound, reinterpret_cast<const void*>(base + entry->r_offset), sizeof bound);
      const void* there = object_of(bound);
      if (there == search.home || there == nullptr) continue;
      const bool itself = there == object_of(reinterpret_cast<const void*>(base + entry->r_offset));
      const bool own =
          symbol.st_shndx != SHN_UNDEF && reinterpret_cast<std::uintptr_t>(bound) == base + symbol.st_value;
      if (itself && !own) continue;  // its own stub: not called yet
      return true;
    }
  }
  return false;
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    const Dynamic dynamic(info->dlpi_addr, reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + header.p_vaddr));
    if (object_of(reinterpret_cast<const void*>(info->dlpi_addr + header.p_vaddr)) == search.home)
      return 0;  // its calls reach the real functions
    if (binds_elsewhere(search, info->dlpi_addr, dynamic))
      search.found.emplace_back(info->dlpi_name != nullptr && *info->dlpi_name != '\0' ? info->dlpi_name
                                                                                       : "the program");
  }
  return 0;
}

}  // namespace

std::vector<std::string> objects_bound_elsewhere(const char* const* names, const void* home) {
  Search search{names, home, {}};
  ::dl_iterate_phdr(visit, &search);
  return search.found;
}

}  // namespace baton::containers
