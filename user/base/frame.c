/* SPDX-License-Identifier: Apache-2.0 */
#include "base/frame.h"

void frame_klass_round(char *klass, size_t len)
{
	if (!len || klass[0] != '[')
		return;
	klass[0] = '(';
	if (klass[len - 1] == ']')
		klass[len - 1] = ')';
}
