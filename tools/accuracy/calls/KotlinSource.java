/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** KotlinSource DIRECTORY FILES: a Kotlin program of so many files, for a compiler to be busy with. */
final class KotlinSource {
    private static final String FILE = """
        package generated

        sealed interface Shape@ { val area: Double }
        data class Circle@(val r: Double) : Shape@ { override val area get() = Math.PI * r * r }
        data class Box@(val w: Double, val h: Double) : Shape@ { override val area get() = w * h }
        class Group@<T : Shape@>(private val all: List<T>) : Shape@ {
            override val area: Double by lazy { all.sumOf { it.area } }
            inline fun <reified S : Shape@> only(from: List<Shape@>) = from.filterIsInstance<S>()
            operator fun get(i: Int): T = all[i]
        }

        enum class Kind@(val weight: Int) {
            SMALL(1) { override fun next() = LARGE }, LARGE(@ + 2) { override fun next() = SMALL };
            abstract fun next(): Kind@
        }

        fun kind@(s: Shape@): Kind@ = when {
            s is Circle@ && s.r > 3 -> Kind@.LARGE
            s is Box@ && s.w in 1.0..4.0 -> Kind@.SMALL
            else -> Kind@.valueOf("LARGE").next()
        }

        suspend fun later@(n: Int, then: suspend (Int) -> String): String = if (n == 0) then(@) else later@(n - 1, then)

        fun words@(text: String): Map<Char, List<Pair<String, Int>>> = text.split(' ', '-')
            .filter(String::isNotBlank)
            .mapIndexed { i, w -> w.lowercase() to i }
            .groupBy { (w, _) -> w.first() }
            .mapValues { (_, v) -> v.sortedWith(compareBy({ it.second }, { it.first })) }
            .filterKeys { it.isLetter() }

        fun shapes@(n: Int): List<Shape@> = generateSequence(1) { it + 1 }.take(n)
            .map { if (it % 2 == 0) Circle@(it.toDouble()) else Box@(it * 1.5, it / 2.0) }.toList()

        fun sum@(): Double = shapes@(@).fold(0.0) { a, s -> a + s.area * kind@(s).weight } + @PREVIOUS
        """;

    public static void main(String[] args) throws IOException {
        Path to = Path.of(args[0]);

        for (int i = 0; i < Integer.parseInt(args[1]); i++)
            Files.writeString(to.resolve("Part" + i + ".kt"),
                FILE.replace("@PREVIOUS", i == 0 ? "0.0" : "sum" + (i - 1) + "()").replace("@", String.valueOf(i)));
    }
}
