/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.SplittableRandom;

/** H2Load URL CLIENTS: clients of an H2 server; an operation is one lookup or, of ten, an update. */
final class H2Load {
    private static final int ROWS = 10_000;

    private static void fill(String url) throws SQLException {
        try (Connection c = DriverManager.getConnection(url, "sa", "");
             Statement s = c.createStatement()) {
            s.execute("drop table if exists account");
            s.execute("create table account(id int primary key, name varchar, balance bigint)");
            s.execute("insert into account select x, 'name ' || x, x from system_range(1, "
                + ROWS + ")");
        }
    }

    private static void client(String url, long seed) {
        Load.Worker w = new Load.Worker();
        SplittableRandom random = new SplittableRandom(seed);

        try (Connection c = DriverManager.getConnection(url, "sa", "");
             PreparedStatement get =
                 c.prepareStatement("select name, balance from account where id between ? and ?");
             PreparedStatement add =
                 c.prepareStatement("update account set balance = balance + 1 where id = ?")) {
            for (;;) {
                long began = System.nanoTime();
                int id = 1 + random.nextInt(ROWS - 20);

                if (random.nextInt(10) == 0) {
                    add.setInt(1, id);
                    add.executeUpdate();
                } else {
                    get.setInt(1, id);
                    get.setInt(2, id + 20);
                    try (ResultSet r = get.executeQuery()) {
                        while (r.next())
                            r.getLong(2);
                    }
                }
                w.done(began);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws SQLException, IOException {
        int clients = Integer.parseInt(args[1]);

        fill(args[0]);
        for (int i = 1; i <= clients; i++) {
            long seed = i;
            Thread t = new Thread(() -> client(args[0], seed), "client-" + i);

            t.setDaemon(true);
            t.start();
        }
        Load.serve();
    }
}
