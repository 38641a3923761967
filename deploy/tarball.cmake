# A tarball that runs on any Linux of this architecture, whatever its distribution: the program, the
# libraries it was built with, and the C library with its loader.
#
#   cmake -DPROGRAM=build/interference_exporter -DOUT=. -P deploy/tarball.cmake
#
# Makes OUT/interference_exporter-VERSION-linux-ARCHITECTURE.tar.gz. On Debian the copyright notices of
# the libraries come along.
cmake_minimum_required(VERSION 3.25)

function(run out)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

get_filename_component(PROGRAM ${PROGRAM} REALPATH)
get_filename_component(OUT ${OUT} REALPATH)
run(version ${PROGRAM} --version)
run(architecture uname -m)
string(REGEX MATCH "^[^ ]+ [^ ]+" version "${version}") # what follows is the build's
string(REPLACE " " "-" name "${version}-linux-${architecture}")
set(folder ${OUT}/${name})
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder}/lib)

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM}
     RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()
foreach(library ${libraries})
  get_filename_component(soname ${library} NAME)
  file(REAL_PATH ${library} real)
  configure_file(${real} ${folder}/lib/${soname} COPYONLY)
  if(soname MATCHES "^ld-linux")
    set(loader ${soname})
  endif()
endforeach()
if(NOT loader)
  message(FATAL_ERROR "no loader of the GNU C library among: ${libraries}")
endif()
configure_file(${PROGRAM} ${folder}/lib/interference_exporter COPYONLY)
find_program(STRIP NAMES strip REQUIRED)
run(ignored ${STRIP} ${folder}/lib/interference_exporter)

# By its own loader, so that nothing of the system's is taken.
configure_file(${CMAKE_CURRENT_LIST_DIR}/tarball.sh ${folder}/interference_exporter @ONLY)
file(CHMOD ${folder}/interference_exporter PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
     GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

find_program(DPKG_QUERY NAMES dpkg-query)
if(DPKG_QUERY)
  foreach(library ${libraries})
    file(REAL_PATH ${library} real)
    # Where /lib is a link to /usr/lib, the package may have called it by either name.
    string(REGEX REPLACE "^/usr" "" short ${real})
    execute_process(COMMAND ${DPKG_QUERY} --search ${real} ${short} OUTPUT_VARIABLE owner
                    ERROR_QUIET)
    string(REGEX MATCH "^[^:, ]+" package "${owner}")
    if(package AND EXISTS /usr/share/doc/${package}/copyright)
      file(REAL_PATH /usr/share/doc/${package}/copyright real)
      configure_file(${real} ${folder}/copyright/${package} COPYONLY)
    endif()
  endforeach()
endif()

run(ignored ${CMAKE_COMMAND} -E chdir ${OUT} ${CMAKE_COMMAND} -E tar czf ${name}.tar.gz ${name})
file(REMOVE_RECURSE ${folder})
message(STATUS "${OUT}/${name}.tar.gz")
