/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pods, as a kubelet writes them and as nobody should; JSON that is cut, nested, or none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonread.h"
#include "push/pods.h"

static struct json_value value(const char *text)
{
	return (struct json_value){text, text + strlen(text)};
}

static void copied(const char *json, const char *want)
{
	char text[64];

	assert_int_equal(json_copy(value(json), text, sizeof(text)), want != NULL);
	assert_string_equal(text, want ? want : "");
}

static void test_strings(void **state)
{
	copied("\"\"", "");
	copied(" \"a b\" ,", "a b");
	copied("\"\\\"\\\\\\/\\u0041\\u00e9\\u20AC\"", "\"\\/A\xc3\xa9\xe2\x82\xac");
	copied("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
	copied("\"a\\nb\"", "a?b"); /* nobody's line ends within a line of ours */
	copied("\"\\ud83d\"", NULL);
	copied("\"\\u0000\"", NULL);
	copied("\"\\x\"", NULL);
	copied("\"cut", NULL);
	copied("\"cut\\", NULL);
	copied("12", NULL);
	copied("", NULL);
	copied("\"1234567890123456789012345678901234567890123456789012345678901234\"", NULL);
}

static void test_members(void **state)
{
	static const char text[] = "{\"a\": {\"b\": \"}]\\\"\", \"k\": 0}, \"l\":[1, [2], {\"k\": "
				   "3}], \"k\": \"x\", \"kk\":{}}";
	struct json_value v, rest, key;
	int n = 0;

	assert_true(json_member(value(text), "k", &v));
	assert_memory_equal(v.p, "\"x\"", 3);
	assert_false(json_member(value(text), "b", &v));
	assert_false(json_member(value("[\"k\"]"), "k", &v));
	assert_true(json_member(value(text), "l", &rest));
	while (json_next(&rest, NULL, &v))
		n++;
	assert_int_equal(n, 3);
	rest = value(text);
	while (json_next(&rest, &key, &v))
		n++;
	assert_int_equal(n, 7);
	for (size_t i = 0; i < strlen(text); i++) { /* what is cut there has no more than that */
		rest = (struct json_value){text, text + i};
		for (n = 0; json_next(&rest, &key, &v); n++)
			assert_true(v.end <= text + i);
		assert_true(n <= 4);
	}
	rest = value("[]");
	assert_false(json_next(&rest, NULL, &v));
}

static const char list[] =
	"{\"kind\":\"PodList\",\"items\":["
	"{\"metadata\":{\"name\":\"db-0\",\"namespace\":\"n\",\"uid\":\"u1\",\"labels\":{\"tier\":"
	"\"a\\nb=c\"},"
	"\"annotations\":{\"kubernetes.io/config.mirror\":\"hash\"},"
	"\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"db\"}]},"
	"\"status\":{\"containerStatuses\":[{\"name\":\"c1\",\"containerID\":\"cri-o://id1\"},"
	"{\"name\":\"c2\",\"containerID\":\"\"}]}},"
	"{\"metadata\":{\"name\":\"web\",\"namespace\":\"n\",\"uid\":\"u2\",\"labels\":{\"pod-"
	"template-hash\":\"x\"},"
	"\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"web-y\"}]}},"
	"{\"metadata\":{\"name\":\"evil\",\"uid\":\"u3 k8s_pod_name=z\"}},{\"metadata\":7},[],3]}";

static void said(const struct buffer *table, const char *key, const char *value, const char *name,
		 const char *want)
{
	struct labels l = {0};
	const char *got;

	assert_int_equal(labels_set(&l, key, value), 0);
	assert_int_equal(pods_label(table, &l), 0);
	got = labels_get(&l, name);
	assert_true(!got == !want);
	if (want)
		assert_string_equal(got, want);
	labels_free(&l);
}

static void test_table(void **state)
{
	static const char *const wanted[] = {"tier", "none"};
	struct buffer t = BUFFER_INIT;

	assert_int_equal(pods_read(&t, list, strlen(list), wanted, 2), 0);
	said(&t, "k8s_pod_uid", "u1", "k8s_pod_name", "db-0");
	said(&t, "k8s_pod_uid", "u1", "k8s_statefulset_name", "db");
	said(&t, "k8s_pod_uid", "u1", "k8s_container_name", NULL);
	said(&t, "k8s_pod_uid", "u1", "k8s_pod_label_tier", "a?b=c");
	said(&t, "k8s_pod_uid", "hash", "k8s_pod_name", "db-0");
	said(&t, "container_id", "id1", "k8s_container_name", "c1");
	said(&t, "container_id", "id1", "k8s_pod_uid", "u1");
	said(&t, "k8s_pod_uid", "u2", "k8s_pod_name", "web");
	said(&t, "k8s_pod_uid", "u2", "k8s_deployment_name", NULL); /* of a set of that name */
	said(&t, "k8s_pod_uid", "u2", "k8s_pod_label_tier", NULL);
	said(&t, "k8s_pod_uid", "u", "k8s_pod_name", NULL);
	said(&t, "k8s_pod_uid", "u3", "k8s_pod_name", NULL);
	said(&t, "service_name", "u1", "k8s_pod_name", NULL);
	buffer_free(&t);
}

/* What is no list; what leaves room for the labels of the options. */
static void test_limits(void **state)
{
	struct buffer t = BUFFER_INIT;
	struct labels l = {0};
	char name[16];

	assert_int_equal(pods_read(&t, "", 0, NULL, 0), -EBADMSG);
	assert_int_equal(pods_read(&t, "{\"kind\":\"Pod\",\"items\":[]}", 25, NULL, 0), -EBADMSG);
	assert_int_equal(pods_read(&t, "{\"items\":[]}", 12, NULL, 0), -EBADMSG);
	for (size_t i = 0; i < strlen(list); i++) {
		buffer_clear(&t);
		pods_read(&t, list, i, NULL, 0);
	}
	buffer_clear(&t);
	assert_int_equal(pods_read(&t, list, strlen(list), NULL, 0), 0);
	for (int i = 0; i < LABELS_MOST - 1; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(labels_set(&l, name, "v"), 0);
	}
	assert_int_equal(labels_set(&l, "k8s_pod_uid", "u1"), 0);
	assert_int_equal(pods_label(&t, &l), 0);
	assert_int_equal(l.n, LABELS_MOST);
	assert_null(labels_get(&l, "k8s_pod_name"));
	labels_free(&l);
	buffer_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
