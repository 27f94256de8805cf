/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata event: the type table of jfr/types.h as every chunk carries it. */
#ifndef GNOMON_JFR_WRITE_META_H
#define GNOMON_JFR_WRITE_META_H

#include "base/buffer.h"
#include "jfr/form.h"

/*
 * Append the event. gmt_offset_ms: of the local time, which tools show times in; of the
 * form what it says of types. Its metadata id is a hash of the content: readers that see the id of
 * the chunk before keep the types of then.
 */
void metadata_write(struct buffer *b, uint32_t salt, int32_t gmt_offset_ms,
		    const struct jfrw_form *form);

#endif
