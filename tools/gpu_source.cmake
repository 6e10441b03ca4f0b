# Writes the kernels of src/gpu as one C string, without comments and includes, for compilers that
# run where the program does.  Usage: cmake -DROOT=FOLDER -DOUTPUT=FILE -P gpu_source.cmake
file(READ ${ROOT}/include/planezip/planezip.h header)
string(REGEX MATCHALL "X\\(PZ_[A-Z_]+" statuses "${header}")
string(REPLACE "X(" "" statuses "${statuses}")
string(REPLACE ";" "," statuses "${statuses}")
set(text "enum { ${statuses} };\n")
# In the order in which they include one another.
foreach(name IN ITEMS gpu/dialect.h codec/plane.h codec/planecode.h gpu/words.h gpu/place.h
        gpu/place_kernels.h ibp/levels.h gpu/ibp.h gpu/ibp_unpack.h gpu/ibp_pack.h
        gpu/ibp_learn.h codec/width.h gpu/warp.tmpl.h gpu/look.tmpl.h gpu/encode_classes.tmpl.h
        gpu/encode_numbers.tmpl.h gpu/encode_blocks.tmpl.h gpu/decode_classes.tmpl.h
        gpu/decode_numbers.tmpl.h gpu/decode_blocks.tmpl.h gpu/chunk.tmpl.h gpu/kernels.tmpl.h)
    if(name STREQUAL ibp/levels.h)
        string(APPEND text "#ifdef PZ_ONLY_IBP\n")
    elseif(name STREQUAL codec/width.h)
        string(APPEND text "#elif !defined(PZ_ONLY_PLACES)\n")
    endif()
    file(READ ${ROOT}/src/${name} part)
    string(APPEND text "${part}")
endforeach()
string(APPEND text "#endif\n")
string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "" text "${text}")
string(REGEX REPLACE "#include[^\n]*\n" "" text "${text}")
string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
file(WRITE ${OUTPUT} "const char pzi_gpu_source[] =\n\"${text}\";\n")
