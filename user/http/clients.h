/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections there are, each with the time that it has: one that has not asked its question
 * by then, or not taken its answer, is cut off, however busily it trickles.
 */
#ifndef GNOMON_HTTP_CLIENTS_H
#define GNOMON_HTTP_CLIENTS_H

#define CLIENTS_MAX 64

#define CLIENTS_ASK_S	 10  /* for the question */
#define CLIENTS_ANSWER_S 600 /* for the answer, from then on */

struct clients;
struct client;

struct clients *clients_new(void); /* NULL: no memory, or no thread */
/* When there is no connection any more. */
void clients_free(struct clients *all);

/* A connection, before anything came by it; NULL: there are too many. */
struct client *clients_add(struct clients *all, int fd);
/* Its question is there. */
void clients_asked(struct clients *all, struct client *c);
/* It is about to be closed. NULL is fine. */
void clients_remove(struct clients *all, struct client *c);

#endif
