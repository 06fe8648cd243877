# Lets prism_msgs build against ROS 2 installed from Python wheels.
#
# The wheels' imported targets name the Python and NumPy header folders of the machine that built the
# wheels. CMake refuses a target with an include folder that does not exist; the real ones are found by
# find_package(Python3) anyway. So once the project is configured, every imported target loses the
# include folders that are not there. Where all of them exist, as with ROS 2 from apt, nothing changes.
#
# Included through CMAKE_PROJECT_prism_msgs_INCLUDE, see colcon.meta.

function(drop_missing_include_dirs)
  get_property(targets DIRECTORY "${CMAKE_SOURCE_DIR}" PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT folders)
      continue()
    endif()
    set(kept "")
    foreach(folder IN LISTS folders)
      # Generator expressions are left alone: they are not known before generation.
      if(folder MATCHES "\\$<" OR EXISTS "${folder}")
        list(APPEND kept "${folder}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
  endforeach()
endfunction()

if(NOT CMAKE_VERSION VERSION_LESS 3.19)
  cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL drop_missing_include_dirs)
endif()
