/* SPDX-License-Identifier: Apache-2.0 */
package shop;

import java.util.concurrent.Semaphore;

/** Stands in for a database: a pool with few connections, and answers that take their time. */
final class Database {
    private final Semaphore connections;

    Database(int n) {
        connections = new Semaphore(n);
    }

    void insert() {
        borrowConnection();
        try {
            awaitCommit();
        } finally {
            connections.release();
        }
    }

    private void borrowConnection() {
        connections.acquireUninterruptibly();
    }

    private static void awaitCommit() {
        pause(8);
    }

    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
