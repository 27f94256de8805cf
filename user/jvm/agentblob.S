/* SPDX-License-Identifier: Apache-2.0 */
/* The agent library as data: gnomon is one file. Declared in jvm/agentblob.h. */
	.section .rodata
	.balign 16
	.global agent_blob
	.global agent_blob_end
	.type agent_blob, %object
	.type agent_blob_end, %object
agent_blob:
	.incbin AGENT_SO
agent_blob_end:
	.size agent_blob, agent_blob_end - agent_blob
	.section .note.GNU-stack, "", %progbits
