/* SPDX-License-Identifier: Apache-2.0 */
package shop;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;

/** An order: stock, payment signature, database. */
final class Checkout {
    private final Catalog catalog;
    private final Database database;

    Checkout(Catalog catalog, Database database) {
        this.catalog = catalog;
        this.database = database;
    }

    String order(String query) {
        Catalog.Article article = catalog.article(query.hashCode());
        String receipt = signPayment(article.name + article.cents);

        catalog.take(article, 1);
        database.insert();
        return new Json().open('{').field("receipt", receipt).close('}').toString();
    }

    private static String signPayment(String text) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            byte[] digest = sha.digest(text.getBytes(StandardCharsets.UTF_8));

            for (int i = 0; i < 2000; i++)
                digest = sha.digest(digest);
            return Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
