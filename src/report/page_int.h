/* page_int.h: the files of the report page, embedded in the binary (page_files.S). */
#ifndef HD_PAGE_INT_H
#define HD_PAGE_INT_H

extern const char hd__page_html[], hd__page_html_end[];
extern const char hd__page_css[], hd__page_css_end[];
extern const char hd__page_js[], hd__page_js_end[];

#endif
