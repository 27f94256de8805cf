/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page, as they are in these files. */
	.macro asset name, path
	.global asset_\name, asset_\name\()_end
asset_\name:
	.incbin "\path"
asset_\name\()_end:
	.byte 0
	.endm

	.section .rodata, "a"
	asset flame_html, "user/out/flame.html"
	asset flame_css, "user/out/flame.css"
	asset flame_js, "user/out/flame.js"

	.section .note.GNU-stack, "", %progbits
