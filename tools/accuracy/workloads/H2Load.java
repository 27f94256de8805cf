/* SPDX-License-Identifier: Apache-2.0 */
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** H2Load URL THREADS SECONDS: short transactions from each thread over a connection of its own. */
final class H2Load {
    private static final int ROWS = 10_000;
    private static final AtomicInteger CONNECTED = new AtomicInteger();

    private static void fill(String url) throws SQLException {
        try (Connection c = DriverManager.getConnection(url, "sa", "");
             Statement s = c.createStatement()) {
            s.execute("create table if not exists item(id int primary key, price int, name varchar)");
            s.execute("merge into item select x, x * 7, 'item ' || x from system_range(1, " + ROWS
                + ")");
        }
    }

    private static void work(String url, long until) {
        try (Connection c = DriverManager.getConnection(url, "sa", "");
             PreparedStatement get = c.prepareStatement(
                 "select sum(price), max(name) from item where id between ? and ?");
             PreparedStatement put = c.prepareStatement(
                 "update item set price = price + 1 where id = ?")) {
            System.out.println("connected " + CONNECTED.incrementAndGet());
            while (System.nanoTime() < until) {
                int id = ThreadLocalRandom.current().nextInt(ROWS);
                get.setInt(1, id);
                get.setInt(2, id + 20);
                get.executeQuery().close();
                put.setInt(1, id);
                put.executeUpdate();
            }
        } catch (SQLException e) {
            System.err.println(e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + Long.parseLong(args[2]) * 1_000_000_000L;
        Thread[] threads = new Thread[Integer.parseInt(args[1])];

        fill(args[0]);
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(args[0], until), "client-" + i);
            threads[i].start();
        }
        for (Thread t : threads)
            t.join();
    }
}
