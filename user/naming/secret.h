/* SPDX-License-Identifier: Apache-2.0 */
/* What had better not stand in a recording that is passed on. */
#ifndef GNOMON_NAMING_SECRET_H
#define GNOMON_NAMING_SECRET_H

#include <stdbool.h>

#define SECRET_MASK "***"

/*
 * Does it look like a secret: by its key (password, token, key ...), or by a value that has a
 * password in a URL ("://user:password@")? Better one too many than one too few; who hides a secret
 * under another name is not found out.
 */
bool secret_looks(const char *key, const char *value);

#endif
