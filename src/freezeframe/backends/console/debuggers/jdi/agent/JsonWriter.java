import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes answers as JSON, each on one line. */
final class JsonWriter {
    private JsonWriter() {}

    /** Return an object of alternating names and values; names with null are left out. */
    static Map<String, Object> of(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            if (pairs[i + 1] != null) {
                made.put((String) pairs[i], pairs[i + 1]);
            }
        }
        return made;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            List<String> parts = new ArrayList<>();
            map.forEach((key, each) -> parts.add(quoted((String) key) + ":" + write(each)));
            out.append('{').append(String.join(",", parts)).append('}');
        } else if (value instanceof Iterable<?> many) {
            List<String> parts = new ArrayList<>();
            many.forEach(each -> parts.add(write(each)));
            out.append('[').append(String.join(",", parts)).append(']');
        } else {
            out.append(quoted(value.toString()));
        }
    }

    /** Return a string literal; all but plain characters are escaped, so it is valid Java too. */
    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ' || c == 0x7f || Character.isSurrogate(c) || c == 0x2028) {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        return out.append('"').toString();
    }
}
