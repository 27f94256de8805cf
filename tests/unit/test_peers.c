/* SPDX-License-Identifier: Apache-2.0 */
/* Of which connections the other end is asked for, and as what. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "capture/peers.h"

static struct gn_cause connection(int family, const char *local, const char *peer)
{
	struct gn_cause c = {
		.kind = GN_CAUSE_INET,
		.family = (uint16_t)family,
		.protocol = IPPROTO_TCP,
		.local_port = 40000,
		.peer_port = 5432,
		.ino = 4026531840,
	};

	assert_int_equal(inet_pton(family, local, c.local), 1);
	assert_int_equal(inet_pton(family, peer, c.peer), 1);
	return c;
}

static void address_is(const uint32_t at[4], const char *text)
{
	char buf[INET6_ADDRSTRLEN];

	assert_string_equal(inet_ntop(AF_INET6, at, buf, sizeof(buf)), text);
}

static void turned(void **state)
{
	struct gn_cause c = connection(AF_INET, "127.0.0.1", "127.0.0.2");
	struct gn_peer_key k, same;

	assert_true(peers_key(&c, &k));
	address_is(k.local, "::ffff:127.0.0.2");
	address_is(k.peer, "::ffff:127.0.0.1");
	assert_int_equal(k.local_port, 5432);
	assert_int_equal(k.peer_port, 40000);
	assert_int_equal(k.net, 4026531840u);
	/* Java has sockets of IPv6 for all, whatever the other end has */
	c = connection(AF_INET6, "::ffff:127.0.0.1", "::ffff:127.0.0.2");
	assert_true(peers_key(&c, &same));
	assert_memory_equal(&k, &same, sizeof(k));
	c = connection(AF_INET6, "::1", "fe80::2");
	assert_true(peers_key(&c, &k));
	address_is(k.local, "fe80::2");
	address_is(k.peer, "::1");
}

static void not_asked(void **state)
{
	struct gn_cause c = connection(AF_INET, "127.0.0.1", "127.0.0.1");
	struct gn_peer_key k;

	c.ino = 0; /* of another machine */
	assert_false(peers_key(&c, &k));
	c = connection(AF_INET, "127.0.0.1", "127.0.0.1");
	c.protocol = IPPROTO_UDP;
	assert_false(peers_key(&c, &k));
	c = connection(AF_INET, "127.0.0.1", "127.0.0.1");
	c.peer_port = 0; /* it listens */
	assert_false(peers_key(&c, &k));
	c = connection(AF_INET, "127.0.0.1", "127.0.0.1");
	c.kind = GN_CAUSE_UNIX;
	assert_false(peers_key(&c, &k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turned),
		cmocka_unit_test(not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
