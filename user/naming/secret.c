/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/secret.h"

#include <ctype.h>
#include <string.h>

/* `word` is in lower case without separators; those of `key` count for nothing. */
static bool begins(const char *key, const char *word)
{
	for (; *word; key++) {
		if (*key && strchr("._- ", *key))
			continue;
		if (tolower((unsigned char)*key) != *word)
			return false;
		word++;
	}
	return true;
}

static bool contains(const char *key, const char *word)
{
	for (; *key; key++)
		if (begins(key, word))
			return true;
	return false;
}

static bool key_looks(const char *key)
{
	static const char *const words[] = {"passw",	  "passphrase", "secret",    "token",
					    "credential", "apikey",	"accesskey", "privatekey",
					    "authkey",	  "pwd"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (contains(key, words[i]))
			return true;
	return false;
}

/* "jdbc:postgresql://user:password@host/" */
static bool value_looks(const char *value)
{
	const char *at = strstr(value, "://"), *colon;

	if (!at)
		return false;
	at += 3;
	colon = at + strcspn(at, ":/@");
	if (*colon != ':')
		return false;
	return colon[1 + strcspn(colon + 1, "/@")] == '@';
}

bool secret_looks(const char *key, const char *value)
{
	if (!strcmp(key, "PWD") || !strcmp(key, "OLDPWD")) /* a shell's directories */
		return false;
	return key_looks(key) || value_looks(value);
}
