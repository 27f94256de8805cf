/* SPDX-License-Identifier: Apache-2.0 */
/* The three ways JFR spells text, all turned into valid UTF-8. */
#ifndef GNOMON_JFR_READ_TEXT_H
#define GNOMON_JFR_READ_TEXT_H

#include "base/buffer.h"

void text_add_code(struct buffer *to, uint32_t code);
/* Broken sequences, lone surrogates and overlong forms become U+FFFD. */
void text_add_utf8(struct buffer *to, const uint8_t *p, size_t n);
void text_add_latin1(struct buffer *to, const uint8_t *p, size_t n);

#endif
