/* SPDX-License-Identifier: Apache-2.0 */
package shop;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;

/** The articles, searched with a regular expression as such code is. */
final class Catalog {
    private static final String[] ADJECTIVES = {"brass", "golden", "oaken", "tiny", "antique",
        "silent", "solar", "lunar"};
    private static final String[] NOUNS = {"clock", "sundial", "hourglass", "compass", "astrolabe",
        "metronome", "calendar", "pendulum"};

    static final class Article {
        final int id;
        final String name;
        final long cents;
        private int stock = 1_000_000;
        private long sold;

        Article(int id, String name, long cents) {
            this.id = id;
            this.name = name;
            this.cents = cents;
        }
    }

    private final List<Article> articles = new ArrayList<>();
    private final Object stockLock = new Object();

    Catalog(int n) {
        SplittableRandom random = new SplittableRandom(7);

        for (int i = 0; i < n; i++)
            articles.add(new Article(i, ADJECTIVES[random.nextInt(ADJECTIVES.length)] + " "
                + NOUNS[random.nextInt(NOUNS.length)] + " no. " + i, random.nextInt(100, 90_000)));
    }

    List<Article> articles() {
        return articles;
    }

    Article article(int id) {
        return articles.get(Math.floorMod(id, articles.size()));
    }

    String search(String words) {
        Pattern pattern = Pattern.compile(".*\\b" + Pattern.quote(words) + "\\b.*");
        Json json = new Json();

        json.open('[');
        for (Article a : match(pattern))
            json.open('{').field("id", a.id).field("name", a.name).field("cents", a.cents)
                .close('}');
        return json.close(']').toString();
    }

    private List<Article> match(Pattern pattern) {
        List<Article> found = new ArrayList<>();

        for (Article a : articles)
            if (pattern.matcher(a.name).matches())
                found.add(a);
        return found;
    }

    /** One lock for the whole stock, held while the books are updated: the shop's bottleneck. */
    void take(Article a, int count) {
        synchronized (stockLock) {
            a.stock -= count;
            a.sold += count;
            Database.pause(2);
        }
    }

    long sold(Article a) {
        synchronized (stockLock) {
            return a.sold;
        }
    }
}
