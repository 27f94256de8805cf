/* SPDX-License-Identifier: Apache-2.0 */
package shop;

/** Writes JSON. */
final class Json {
    private final StringBuilder text = new StringBuilder();
    private boolean first = true;

    Json open(char bracket) {
        separate();
        text.append(bracket);
        first = true;
        return this;
    }

    Json close(char bracket) {
        text.append(bracket);
        first = false;
        return this;
    }

    Json field(String name, long value) {
        name(name);
        text.append(value);
        return this;
    }

    Json field(String name, String value) {
        name(name);
        quote(value);
        return this;
    }

    private void name(String name) {
        separate();
        quote(name);
        text.append(':');
    }

    private void separate() {
        if (!first)
            text.append(',');
        first = false;
    }

    private void quote(String s) {
        text.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);

            if (c == '"' || c == '\\')
                text.append('\\').append(c);
            else if (c < ' ')
                text.append(String.format("\\u%04x", (int) c));
            else
                text.append(c);
        }
        text.append('"');
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
