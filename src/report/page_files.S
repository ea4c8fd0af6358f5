/* page_files.S: embeds the files of src/report/page in the binary. Runs in the supervisor. */
  .section .rodata
  .balign 16

.macro part name
  .globl hd__page_\name
  .globl hd__page_\name\()_end
  .type hd__page_\name, @object
  .type hd__page_\name\()_end, @object
hd__page_\name:
.endm
.macro endpart name
hd__page_\name\()_end:
  .byte 0
  .size hd__page_\name, hd__page_\name\()_end - hd__page_\name
.endm

  part html
  .incbin "report/page/page.html"
  endpart html

  part css
  .incbin "report/page/page.css"
  endpart css

  part js
  .incbin "report/page/model.js"
  .incbin "report/page/overview.js"
  .incbin "report/page/coverage.js"
  .incbin "report/page/lanes.js"
  .incbin "report/page/panels.js"
  .incbin "report/page/finding.js"
  .incbin "report/page/main.js"
  endpart js

  .section .note.GNU-stack, "", @progbits
