# SPDX-License-Identifier: Apache-2.0
# The installed package: find_package(baton) gives baton::<room> for every installed room, baton::baton for all of
# them together, and baton_generate_messages() if the generator is part of the build. baton.pc is for builds without CMake.
include(CMakePackageConfigHelpers)

# After a build of some targets, such as `make demo`, the installation leaves the rest out and says so. The wheel's build needs all of its own.
get_property(unbuilt GLOBAL PROPERTY BATON_MAY_BE_UNBUILT)
if(unbuilt)
  install(CODE "
    set(files \"${unbuilt}\")
    set(unbuilt)
    foreach(file IN LISTS files)
      if(NOT EXISTS \"\${file}\")
        list(APPEND unbuilt \"\${file}\")
      endif()
    endforeach()
    if(unbuilt)
      list(JOIN unbuilt \"\\n  \" unbuilt)
      message(WARNING \"Not installed, because not built (cmake --build '${PROJECT_BINARY_DIR}' builds all):\\n  \${unbuilt}\")
    endif()" ALL_COMPONENTS)
endif()

get_property(installed_rooms GLOBAL PROPERTY BATON_INSTALLED_ROOMS)
if(NOT installed_rooms)
  return()
endif()

add_library(baton_all INTERFACE)
add_library(baton::baton ALIAS baton_all)
set_target_properties(baton_all PROPERTIES EXPORT_NAME baton)
foreach(room IN LISTS installed_rooms)
  target_link_libraries(baton_all INTERFACE baton_${room})
endforeach()
install(TARGETS baton_all baton_library EXPORT batonTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(BATON_PYTHON_OF_INSTALLATION "${BATON_PYTHON}" CACHE STRING
  "The Python that an installation tries last for the generator; Debian's packages name the system's")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/baton")
install(EXPORT batonTargets NAMESPACE baton:: DESTINATION ${package_dir})
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/batonConfig.cmake.in" "${PROJECT_BINARY_DIR}/cmake/batonConfig.cmake"
  INSTALL_DESTINATION ${package_dir} PATH_VARS BATON_PYTHON_INSTALL_DIR)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/cmake/batonConfigVersion.cmake"
  # Before 1.0 every minor version may change the protocol and the API.
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/cmake/batonConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/batonConfigVersion.cmake"
  DESTINATION ${package_dir})
file(RELATIVE_PATH BATON_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
# What programs link that link libbaton as a static library.
get_target_property(libraries baton_library LINK_LIBRARIES)
set(BATON_PC_LIBS_PRIVATE " -ldl")
if("yaml" IN_LIST libraries)
  string(APPEND BATON_PC_LIBS_PRIVATE " -lyaml")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/baton.pc.in" "${PROJECT_BINARY_DIR}/cmake/baton.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/cmake/baton.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/packaging/gdb/baton_printers.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/baton/gdb")
if(BATON_GENERATOR AND EXISTS "${PROJECT_SOURCE_DIR}/generator/cmake/BatonGenerate.cmake")
  install(FILES "${PROJECT_SOURCE_DIR}/generator/cmake/BatonGenerate.cmake" DESTINATION ${package_dir})
endif()
