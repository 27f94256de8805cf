/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GNOMON_NAMING_CAUSEWORDS_H
#define GNOMON_NAMING_CAUSEWORDS_H

#include "kern/abi.h"

/* A cause in words, as gnomon-jfr(5) has them. */
struct cause_words {
	const char *kind, *operation;
	char cause[GN_CAUSE_PATH + 16];
	char detail[160]; /* "": none */
};

#endif
