/* SPDX-License-Identifier: Apache-2.0 */
package shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Load PORT CUSTOMERS: customers of the shop, each with a pause between clicks. */
public final class Load {
    private static final String[] WORDS = {"clock", "sundial", "solar", "brass", "calendar"};

    private static final AtomicLong served = new AtomicLong();

    private static String click(SplittableRandom random) {
        int r = random.nextInt(100);

        if (r < 45)
            return "/search?" + WORDS[random.nextInt(WORDS.length)];
        return r < 90 ? "/checkout?customer" + random.nextInt(10_000) : "/report";
    }

    private static void customer(int number, String base, HttpClient client) {
        SplittableRandom random = new SplittableRandom(number);

        try {
            for (;;) {
                URI uri = URI.create(base + click(random));
                int status = client.send(HttpRequest.newBuilder(uri).build(),
                    BodyHandlers.discarding()).statusCode();
                if (status != 200)
                    throw new IOException(uri + " answered " + status);
                served.incrementAndGet();
                Thread.sleep(random.nextInt(10, 60));
            }
        } catch (IOException | InterruptedException e) {
            System.err.println("customer " + number + " left: " + e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        String base = "http://127.0.0.1:" + Integer.parseInt(args[0]);
        HttpClient client = HttpClient.newHttpClient();

        for (int i = 1; i <= Integer.parseInt(args[1]); i++) {
            int number = i;
            new Thread(() -> customer(number, base, client), "customer-" + i).start();
        }
        for (;;) {
            long before = served.get();
            Thread.sleep(1000);
            System.out.println("SERVED " + (served.get() - before));
        }
    }
}
