/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GNOMON_OUT_XML_H
#define GNOMON_OUT_XML_H

#include <stddef.h>
#include <stdio.h>

/*
 * n bytes as text or the value of an attribute. What is not UTF-8, and what XML 1.0 has no
 * character for, becomes '?': escaped or not, parsers refuse it.
 */
void xml_text(const char *s, size_t n, FILE *f);

#endif
