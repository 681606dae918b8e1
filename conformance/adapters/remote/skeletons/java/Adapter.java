import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Reads a call in each line of standard input, and writes an answer in each line of output. */
public class Adapter {
    static final Map<String, Object> UNSUPPORTED = Map.of("status", "unsupported");

    /** A function for each verb: it gets the call and returns the fields of the answer. */
    final Map<String, Function<Map<String, Object>, Map<String, Object>>> verbs = Map.ofEntries(
            Map.entry("hello", call -> Map.of("protocol", 1, "name", "my-log", "version", "0.1")),
            Map.entry("cluster_create", call -> UNSUPPORTED),
            Map.entry("node_start", call -> UNSUPPORTED),
            Map.entry("topic_create", call -> UNSUPPORTED),
            Map.entry("metadata", call -> UNSUPPORTED),
            Map.entry("observe", call -> UNSUPPORTED),
            Map.entry("produce", call -> UNSUPPORTED),
            Map.entry("fetch", call -> UNSUPPORTED),
            Map.entry("list_offsets", call -> UNSUPPORTED),
            Map.entry("node_kill", call -> UNSUPPORTED),
            Map.entry("node_stop", call -> UNSUPPORTED),
            Map.entry("cluster_destroy", call -> UNSUPPORTED),
            Map.entry("bye", call -> Map.of()));

    public static void main(String[] arguments) throws IOException {
        Adapter adapter = new Adapter();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> call = Json.object(line);
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("id", call.get("id"));
            answer.put("status", "ok");
            answer.putAll(adapter.verbs.getOrDefault(call.get("verb"), c -> UNSUPPORTED).apply(call));
            System.out.write((Json.text(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
            if ("bye".equals(call.get("verb"))) {
                return;
            }
        }
    }
}

/** JSON as maps, lists, strings, longs, doubles, booleans and null; any JSON library does as well. */
class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        return (Map<String, Object>) new Json(text).value();
    }

    static String text(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> quoted((String) entry.getKey()) + ":" + text(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Json::text).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String string ? quoted(string) : String.valueOf(value);
    }

    private static String quoted(String string) {
        StringBuilder found = new StringBuilder("\"");
        for (char c : string.toCharArray()) {
            if (c == '"' || c == '\\') {
                found.append('\\').append(c);
            } else if (c < ' ') {
                found.append(String.format("\\u%04x", (int) c));
            } else {
                found.append(c);
            }
        }
        return found.append('"').toString();
    }

    private Object value() {
        char first = peek();
        if (first == '{') {
            Map<String, Object> map = new LinkedHashMap<>();
            for (at++; peek() != '}'; skip(',')) {
                String name = string();
                skip(':');
                map.put(name, value());
            }
            at++;
            return map;
        }
        if (first == '[') {
            List<Object> list = new ArrayList<>();
            for (at++; peek() != ']'; skip(',')) {
                list.add(value());
            }
            at++;
            return list;
        }
        return first == '"' ? string() : word();
    }

    private String string() {
        peek();
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            found.append(text.charAt(at) == '\\' ? escaped() : text.charAt(at));
        }
        at++;
        return found.toString();
    }

    private char escaped() {
        char c = text.charAt(++at);
        if (c == 'u') {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
        }
        int known = "nrtbf".indexOf(c);
        return known < 0 ? c : "\n\r\t\b\f".charAt(known);
    }

    private Object word() {
        int start = at;
        while (at < text.length() && ",]} ".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(start, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        };
    }

    private char peek() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return text.charAt(at);
    }

    private void skip(char wanted) {
        if (peek() == wanted) {
            at++;
        }
    }
}
