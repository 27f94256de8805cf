/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page, as they are in these files: its scripts are one, in this order. And the script of SVG. */
	.macro begin name
	.global asset_\name
asset_\name:
	.endm

	.macro end name
	.global asset_\name\()_end
asset_\name\()_end:
	.byte 0
	.endm

	.section .rodata, "a"
	begin page_html
	.incbin "user/out/page/page.html"
	end page_html
	begin page_css
	.incbin "user/out/page/page.css"
	end page_css
	begin page_js
	.incbin "user/out/page/data.js"
	.incbin "user/out/page/tree.js"
	.incbin "user/out/page/view.js"
	.incbin "user/out/page/colours.js"
	.incbin "user/out/page/flame.js"
	.incbin "user/out/page/spans.js"
	.incbin "user/out/page/lanes.js"
	.incbin "user/out/page/timeline.js"
	.incbin "user/out/page/methods.js"
	.incbin "user/out/page/causes.js"
	.incbin "user/out/page/requests.js"
	.incbin "user/out/page/link.js"
	.incbin "user/out/page/controls.js"
	.incbin "user/out/page/main.js"
	end page_js
	begin svg_js
	.incbin "user/out/svg.js"
	end svg_js

	.section .note.GNU-stack, "", %progbits
