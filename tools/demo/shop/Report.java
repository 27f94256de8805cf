/* SPDX-License-Identifier: Apache-2.0 */
package shop;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What sold best, computed afresh each time. */
final class Report {
    private final Catalog catalog;

    Report(Catalog catalog) {
        this.catalog = catalog;
    }

    String bestSellers(int n) {
        Json json = new Json().open('[');

        for (Map.Entry<String, Long> e : sorted(revenueByName()).subList(0, n))
            json.open('{').field("name", e.getKey()).field("cents", e.getValue()).close('}');
        return json.close(']').toString();
    }

    private Map<String, Long> revenueByName() {
        Map<String, Long> revenue = new HashMap<>();

        for (Catalog.Article a : catalog.articles())
            revenue.merge(a.name, a.cents * catalog.sold(a), Long::sum);
        return revenue;
    }

    private static List<Map.Entry<String, Long>> sorted(Map<String, Long> revenue) {
        List<Map.Entry<String, Long>> all = new ArrayList<>(revenue.entrySet());

        all.sort(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
            .thenComparing(Map.Entry.comparingByKey()));
        return all;
    }
}
