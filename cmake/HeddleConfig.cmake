# find_package(Heddle): the program heddle, and functions that build instrumented tests and register them.
#
#   HEDDLE_EXECUTABLE     heddle
#   Heddle::heddle        the same, as an imported program
#   Heddle::headers       the folder of heddle.h
#
#   heddle_instrument(TARGET...)
#     Compiles and links these targets with `heddle cc` and `heddle c++`, which drive the project's own compilers.
#     A library needs it too, so that Heddle sees its memory accesses.
#
#   heddle_add_test(NAME name SOURCES file... [STRATEGY name] [TIME 90s] [ARGS arg...] [OPTIONS option...]
#                   [LIBRARIES target...])
#     Builds the program `name`, instrumented, and registers a test that searches its schedules. ARGS are the
#     program's arguments, OPTIONS those of `heddle check`. The test fails when there is a finding, and counts as skipped
#     when a budget ended the search before it was complete. Findings are kept in heddle/<name> of the build folder.
#
#   heddle_add_suite(NAME name SOURCES file... [ARGS arg...] [OPTIONS option...] [LIBRARIES target...])
#     Builds the program `name`, instrumented, and registers it as a test: for programs that call hd_check or
#     heddle::check themselves (GoogleTest, Catch2, Check, cmocka, ...). OPTIONS are those of `heddle check`, for every
#     call, and override those of the call. Findings are kept in heddle/<name> of the build folder.
#
# Needs CMake 3.21 or later, and Ninja or Make.

if(CMAKE_VERSION VERSION_LESS 3.21)
  set(Heddle_FOUND FALSE)
  set(Heddle_NOT_FOUND_MESSAGE "Heddle's functions need CMake 3.21 or later")
  return()
endif()

get_filename_component(_heddle_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# In a build folder heddle is not in bin.
find_program(HEDDLE_EXECUTABLE heddle PATHS "${_heddle_root}/bin" "${_heddle_root}" NO_DEFAULT_PATH NO_CACHE)
if(NOT HEDDLE_EXECUTABLE)
  set(Heddle_FOUND FALSE)
  set(Heddle_NOT_FOUND_MESSAGE "there is no heddle in ${_heddle_root} or its bin folder; install Heddle again")
  return()
endif()

include(CMakeFindDependencyMacro)
find_dependency(Threads)

if(NOT TARGET Heddle::heddle)
  add_executable(Heddle::heddle IMPORTED)
  set_target_properties(Heddle::heddle PROPERTIES IMPORTED_LOCATION "${HEDDLE_EXECUTABLE}")
  add_library(Heddle::headers INTERFACE IMPORTED)
  set_target_properties(Heddle::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_heddle_root}/lib/heddle/include")
endif()
unset(_heddle_root)

function(heddle_instrument)
  set(verb_C cc)
  set(verb_CXX c++)
  foreach(target IN LISTS ARGN)
    foreach(language C CXX)
      # CMake puts the real compiler after these words. A project whose compiler is already Heddle needs nothing.
      if(NOT CMAKE_${language}_COMPILER MATCHES "(^|/)heddle-c[^/]*$")
        set_target_properties(${target} PROPERTIES
          ${language}_COMPILER_LAUNCHER "${HEDDLE_EXECUTABLE};${verb_${language}};--heddle-compiler"
          ${language}_LINKER_LAUNCHER "${HEDDLE_EXECUTABLE};${verb_${language}};--heddle-compiler")
      endif()
    endforeach()
    target_compile_options(${target} PRIVATE -g)
  endforeach()
endfunction()

# Builds the program of a test from the variables t_* set by cmake_parse_arguments.
macro(_heddle_program command known)
  if(t_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${command}: what is ${t_UNPARSED_ARGUMENTS}? Known are ${known}")
  endif()
  if(NOT t_NAME OR NOT t_SOURCES)
    message(FATAL_ERROR "${command}: give at least NAME and SOURCES")
  endif()
  if(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    message(FATAL_ERROR "${command}: ${CMAKE_GENERATOR} cannot put heddle before the compiler; take Ninja or "
      "Unix Makefiles")
  endif()
  add_executable(${t_NAME} ${t_SOURCES})
  heddle_instrument(${t_NAME})
  target_link_libraries(${t_NAME} PRIVATE ${t_LIBRARIES} Heddle::headers Threads::Threads)
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/heddle")
endmacro()

function(heddle_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 t "" "NAME;STRATEGY;TIME" "SOURCES;ARGS;OPTIONS;LIBRARIES")
  _heddle_program(heddle_add_test "NAME, SOURCES, STRATEGY, TIME, ARGS, OPTIONS and LIBRARIES")
  set(options --out "${CMAKE_CURRENT_BINARY_DIR}/heddle/${t_NAME}")
  if(t_STRATEGY)
    list(APPEND options --strategy ${t_STRATEGY})
  endif()
  if(t_TIME)
    list(APPEND options --time ${t_TIME})
  endif()
  add_test(NAME ${t_NAME} COMMAND "${HEDDLE_EXECUTABLE}" check ${options} ${t_OPTIONS} -- $<TARGET_FILE:${t_NAME}>
    ${t_ARGS})
  set_tests_properties(${t_NAME} PROPERTIES SKIP_RETURN_CODE 5)
endfunction()

function(heddle_add_suite)
  cmake_parse_arguments(PARSE_ARGV 0 t "" "NAME" "SOURCES;ARGS;OPTIONS;LIBRARIES")
  _heddle_program(heddle_add_suite "NAME, SOURCES, ARGS, OPTIONS and LIBRARIES")
  add_test(NAME ${t_NAME} COMMAND ${t_NAME} ${t_ARGS})
  list(PREPEND t_OPTIONS "--out='${CMAKE_CURRENT_BINARY_DIR}/heddle/${t_NAME}'")
  list(JOIN t_OPTIONS " " options)
  # The caller's value of that variable comes after these, and overrides them.
  if(CMAKE_VERSION VERSION_LESS 3.22)
    set_tests_properties(${t_NAME} PROPERTIES ENVIRONMENT "HEDDLE_CHECK_OPTIONS=${options}")
  else()
    set_tests_properties(${t_NAME} PROPERTIES
      ENVIRONMENT_MODIFICATION "HEDDLE_CHECK_OPTIONS=string_prepend:${options} ")
  endif()
endfunction()
