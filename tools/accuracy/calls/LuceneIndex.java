/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.FSDirectory;

/** LuceneIndex DIRECTORY SECONDS: documents of made-up words are indexed by two threads and looked for by two. */
final class LuceneIndex {
    private static final AtomicLong indexed = new AtomicLong(), found = new AtomicLong();

    /** Few words are frequent, many are rare. */
    private static String word(Random r) {
        return "w" + (int) Math.exp(r.nextDouble() * 9);
    }

    private static Document document(Random r) {
        StringBuilder text = new StringBuilder();
        Document d = new Document();

        for (int i = 0; i < 80; i++)
            text.append(word(r)).append(i % 11 == 10 ? ". " : " ");
        d.add(new StringField("id", Long.toString(r.nextLong()), Field.Store.YES));
        d.add(new TextField("text", text.toString(), Field.Store.NO));
        d.add(new LongPoint("when", r.nextInt()));
        d.add(new NumericDocValuesField("rank", r.nextInt(1000)));
        return d;
    }

    private static void index(IndexWriter w, Random r) throws IOException {
        w.addDocument(document(r));
        if (indexed.incrementAndGet() % 5000 == 0)
            w.commit();
    }

    private static void search(IndexWriter w, Random r) throws IOException {
        try (DirectoryReader reader = DirectoryReader.open(w)) {
            IndexSearcher s = new IndexSearcher(reader);

            for (int i = 0; i < 200; i++) {
                BooleanQuery.Builder q = new BooleanQuery.Builder();

                q.add(new TermQuery(new Term("text", word(r))), BooleanClause.Occur.SHOULD);
                q.add(new PhraseQuery(2, "text", word(r), word(r)), BooleanClause.Occur.SHOULD);
                q.add(new PrefixQuery(new Term("text", "w" + r.nextInt(10))), BooleanClause.Occur.SHOULD);
                q.add(LongPoint.newRangeQuery("when", 0, r.nextInt(1 << 30)), BooleanClause.Occur.SHOULD);
                found.addAndGet(s.search(q.build(), 10).totalHits.value);
            }
        }
    }

    interface Step {
        void run(IndexWriter w, Random r) throws IOException;
    }

    private static Thread start(String name, IndexWriter w, long until, int seed, Step step) {
        Thread t = new Thread(() -> {
            Random r = new Random(seed);

            try {
                while (System.nanoTime() < until)
                    step.run(w, r);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }, name);

        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        long until = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;

        try (FSDirectory d = FSDirectory.open(Path.of(args[0]));
                IndexWriter w = new IndexWriter(d, new IndexWriterConfig(new StandardAnalyzer()))) {
            Thread[] all = {
                start("index-1", w, until, 1, LuceneIndex::index), start("index-2", w, until, 2, LuceneIndex::index),
                start("search-1", w, until, 3, LuceneIndex::search), start("search-2", w, until, 4, LuceneIndex::search),
            };

            for (Thread t : all)
                t.join();
        }
        System.out.println("indexed " + indexed + " found " + found);
    }
}
