/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables that nobody wants, for a library of which they are a part: ROWS (rows.bin: a row for each
 * byte of 4.3 MB of code), RULES (3,000 rules), or GARBAGE (whose lengths and pointers lead nowhere).
 */
	.text
code:
	.skip 4300000, 0x90
	.section .note.GNU-stack, "", @progbits

	.section .eh_frame, "a", @progbits
#ifdef GARBAGE
	.long 0x7ffffff0
	.long 0x12345678
	.fill 4096, 1, 0xff
#else
cie:
	.long cie_end - . - 4
	.long 0
	.byte 1			/* version */
	.asciz "zR"
	.uleb128 1		/* code alignment */
	.sleb128 -8
	.byte 16		/* return address */
	.uleb128 1
	.byte 0x1b		/* pcrel, sdata4 */
	.byte 0x0c, 7, 8	/* CFA = rsp + 8 */
	.byte 0x90, 1		/* RA at CFA - 8 */
	.balign 8, 0
cie_end:
fde:
	.long fde_end - . - 4
	.long . - cie
	.long code - .
	.long 4300000
	.uleb128 0
#ifdef ROWS
	.incbin "rows.bin"
#else
	.set at, 16
	.rept 3000
	.byte 0x41, 0x0e	/* advance 1, CFA offset */
	.uleb128 at
	.set at, at + 8
	.endr
#endif
	.balign 8, 0
fde_end:
	.long 0
#endif
