/* Files that the pages refer to, as CMakeLists.txt puts them into the program. */
#ifndef IE_PAGES_ASSETS_H
#define IE_PAGES_ASSETS_H

#include <stddef.h>

extern const char asset_live_js[], asset_live_css[];
extern const size_t asset_live_js_len, asset_live_css_len;

#endif
