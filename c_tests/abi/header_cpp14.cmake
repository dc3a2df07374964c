# Compiles lazyxla.hpp as C++14: the only error is that it needs C++17.
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/header_cpp14.cc" "#include \"lazyxla.hpp\"\n")
execute_process(COMMAND "${COMPILER}" -std=c++14 -fsyntax-only "-I${INCLUDE}" "${CMAKE_CURRENT_BINARY_DIR}/header_cpp14.cc"
                RESULT_VARIABLE result ERROR_VARIABLE text)
string(REGEX MATCHALL "error:" errors "${text}")
list(LENGTH errors count)
if(result EQUAL 0 OR NOT count EQUAL 1 OR NOT text MATCHES "lazyxla.hpp needs C\\+\\+17")
  message(FATAL_ERROR "want one error, that lazyxla.hpp needs C++17; result ${result}:\n${text}")
endif()
