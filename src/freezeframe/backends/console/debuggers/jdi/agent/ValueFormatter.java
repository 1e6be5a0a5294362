import com.sun.jdi.ArrayReference;
import com.sun.jdi.BooleanValue;
import com.sun.jdi.CharValue;
import com.sun.jdi.ClassObjectReference;
import com.sun.jdi.ClassType;
import com.sun.jdi.Field;
import com.sun.jdi.InterfaceType;
import com.sun.jdi.Method;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.PrimitiveValue;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StringReference;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import com.sun.jdi.VoidValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Formats values and their children. Runs no code of the program, only the library's. */
final class ValueFormatter {
    /** Maximum depth of a value's text. */
    private static final int DEPTH = 2;
    private static final int ITEMS = 10;
    private static final int FIELDS = 6;
    private static final int SHORT = 1_000;
    private static final Set<String> BOXES = Set.of("java.lang.Integer", "java.lang.Long", "java.lang.Short",
        "java.lang.Byte", "java.lang.Character", "java.lang.Boolean", "java.lang.Float", "java.lang.Double");
    /** Classes whose `toString` gives the whole value and runs no code of the program. */
    private static final Set<String> SELF_DESCRIBING = Set.of("java.math.BigDecimal", "java.math.BigInteger", "java.util.UUID",
        "java.net.URI", "java.net.URL", "java.io.File", "java.lang.StringBuilder", "java.lang.StringBuffer",
        "java.util.concurrent.atomic.AtomicInteger", "java.util.concurrent.atomic.AtomicLong",
        "java.util.concurrent.atomic.AtomicBoolean", "sun.nio.fs.UnixPath", "java.util.BitSet", "java.util.Date");

    private final TargetVm debuggee;
    private final ThreadReference thread;

    ValueFormatter(TargetVm debuggee, ThreadReference thread) {
        this.debuggee = debuggee;
        this.thread = thread;
    }

    // --- names

    static String simple(String type) {
        String bare = type.replaceAll("/0x[0-9a-f]+", "");
        String inner = bare.substring(bare.lastIndexOf('.') + 1);
        String last = inner.substring(inner.lastIndexOf('$') + 1);
        // An anonymous class has a number.
        return last.isEmpty() || Character.isDigit(last.charAt(0)) ? inner : last;
    }

    static String function(Method method) {
        String type = method.declaringType().name().replaceAll("\\$\\$Lambda.*", "");
        String owner = type.substring(type.lastIndexOf('.') + 1).replaceAll("\\$(?=[A-Za-z_])", ".");
        return owner + "." + method.name();
    }

    /** Return `type: message` of a throwable. */
    static String failure(ObjectReference error) {
        String message = message(error);
        return error.referenceType().name() + (message.isEmpty() ? "" : ": " + message);
    }

    static String message(ObjectReference error) {
        Value text = field(error, "detailMessage");
        return text instanceof StringReference string ? string.value() : "";
    }

    /** Return a throwable's message; for a class of the library from `getMessage`. */
    String messageOf(ObjectReference error) {
        String message = message(error);
        if (message.isEmpty() && error.referenceType().name().startsWith("java.")) {
            try {
                Value text = call(error, "getMessage", "()Ljava/lang/String;");
                return text instanceof StringReference string ? string.value() : "";
            } catch (AgentError cannot) {
                return "";
            }
        }
        return message;
    }

    static Value field(ObjectReference object, String name) {
        Field field = object.referenceType().fieldByName(name);
        return field == null ? null : object.getValue(field);
    }

    // --- one value

    Map<String, Object> value(String name, Value value, String declared, String expression) {
        return value(name, value, declared, expression, SHORT);
    }

    Map<String, Object> value(String name, Value value, String declared, String expression, int limit) {
        String type = value instanceof ObjectReference object ? object.referenceType().name()
            : value instanceof PrimitiveValue ? value.type().name() : declared;
        Integer count = null;
        String text;
        boolean failed = false;
        try {
            List<Value> items = items(value);
            count = items != null ? Integer.valueOf(items.size()) : value instanceof ArrayReference array ? array.length() : null;
            text = text(value, DEPTH, limit);
        } catch (AgentError error) {
            text = error.getMessage();
            failed = true;
        }
        Map<String, Object> described = JsonWriter.of("name", name, "text", text, "type", type == null ? null : shown(type),
            "count", count, "expression", expression);
        if (opens(value)) {
            described.put("ref", 1);
        }
        if (failed) {
            described.put("failed", true);
        }
        return described;
    }

    private static String shown(String type) {
        int arrays = type.indexOf('[');
        String bare = arrays < 0 ? type : type.substring(0, arrays);
        bare = bare.replaceAll("/0x[0-9a-f]+", "");
        return bare.substring(bare.lastIndexOf('.') + 1).replaceAll("\\$(?=\\D)", ".") + (arrays < 0 ? "" : type.substring(arrays));
    }

    private boolean opens(Value value) {
        if (!(value instanceof ObjectReference object) || value instanceof StringReference) {
            return false;
        }
        String type = object.referenceType().name();
        if (value instanceof ArrayReference array) {
            return array.length() > 0;
        }
        return !BOXES.contains(type) && !SELF_DESCRIBING.contains(type) && !isEnum(object) && !(value instanceof ClassObjectReference);
    }

    private static boolean isEnum(ObjectReference object) {
        return object.referenceType() instanceof ClassType type && type.isEnum()
            || object.referenceType() instanceof ClassType sub && sub.superclass() != null && sub.superclass().isEnum();
    }

    /** Return a value's text; a shorter one inside another value. */
    String text(Value value, int depth, int limit) throws AgentError {
        if (value == null) {
            return "null";
        }
        if (value instanceof VoidValue) {
            return "void";
        }
        if (value instanceof CharValue letter) {
            return character(letter.value());
        }
        if (value instanceof PrimitiveValue) {
            return value.toString();
        }
        if (value instanceof StringReference string) {
            String text = string.value();
            int most = depth == DEPTH ? limit : 60;
            return text.length() <= most ? JsonWriter.quoted(text) : JsonWriter.quoted(text.substring(0, most)) + "…";
        }
        ObjectReference object = (ObjectReference) value;
        String type = object.referenceType().name();
        if (BOXES.contains(type)) {
            return text(field(object, "value"), depth, limit);
        }
        if (isEnum(object)) {
            return field(object, "name") instanceof StringReference name ? name.value() : simple(type);
        }
        if (object instanceof ClassObjectReference mirror) {
            return "class " + mirror.reflectedType().name();
        }
        if (SELF_DESCRIBING.contains(type) || type.startsWith("java.time.")) {
            String described = describe(object);
            if (described != null) {
                return type.startsWith("java.lang.StringBu") ? JsonWriter.quoted(described) : described;
            }
        }
        if (is(object, "java.lang.Throwable")) {
            return failure(object);
        }
        if (depth == 0) {
            return simple(type);
        }
        if (object instanceof ArrayReference array) {
            int length = array.length();
            List<Value> first = length == 0 ? List.of() : array.getValues(0, Math.min(ITEMS, length));
            return simple(type).replaceFirst("\\[\\]", "[" + length + "]") + " " + listed("{", first, length, "}", depth - 1);
        }
        List<Value> items = items(object);
        if (items != null && is(object, "java.util.Map")) {
            return simple(type) + "(" + items.size() + ") " + pairs(items, depth - 1);
        }
        if (items != null) {
            return simple(type) + "(" + items.size() + ") " + listed("[", items, items.size(), "]", depth - 1);
        }
        return simple(type) + fields(object, depth - 1);
    }

    private static String character(char c) {
        String quoted = c == '\'' ? "\\'" : c == '"' ? "\"" : JsonWriter.quoted(String.valueOf(c));
        return "'" + (quoted.length() > 1 && quoted.startsWith("\"") ? quoted.substring(1, quoted.length() - 1) : quoted) + "'";
    }

    private String listed(String open, List<Value> items, int total, String close, int depth) throws AgentError {
        List<String> parts = new ArrayList<>();
        for (Value item : items.subList(0, Math.min(ITEMS, items.size()))) {
            parts.add(text(item, depth, 0));
        }
        return open + String.join(", ", parts) + (total > ITEMS ? ", …" : "") + close;
    }

    private String pairs(List<Value> entries, int depth) throws AgentError {
        List<String> parts = new ArrayList<>();
        for (Value each : entries.subList(0, Math.min(ITEMS, entries.size()))) {
            Value[] pair = pair(each);
            parts.add(text(pair[0], depth, 0) + "=" + text(pair[1], depth, 0));
        }
        return "{" + String.join(", ", parts) + (entries.size() > ITEMS ? ", …" : "") + "}";
    }

    private String fields(ObjectReference object, int depth) throws AgentError {
        List<Field> fields = fieldsOf(object.referenceType());
        List<String> parts = new ArrayList<>();
        for (Field field : fields.subList(0, Math.min(FIELDS, fields.size()))) {
            parts.add(label(object, field) + "=" + text(object.getValue(field), depth, 0));
        }
        return "{" + String.join(", ", parts) + (fields.size() > FIELDS ? ", …" : "") + "}";
    }

    /** Return a field's name, qualified by its class if a subclass hides it. */
    private static String label(ObjectReference object, Field field) {
        boolean hidden = !field.equals(object.referenceType().fieldByName(field.name()));
        return hidden ? simple(field.declaringType().name()) + "." + field.name() : field.name();
    }

    static List<Field> fieldsOf(ReferenceType type) {
        List<Field> fields = new ArrayList<>();
        for (Field field : type.allFields()) {
            if (!field.isStatic() && !field.name().startsWith("this$")) {
                fields.add(field);
            }
        }
        return fields;
    }

    // --- library classes

    static boolean is(ObjectReference object, String name) {
        return object.referenceType() instanceof ClassType type && inherits(type, name);
    }

    private static boolean inherits(ClassType type, String name) {
        for (ClassType each = type; each != null; each = each.superclass()) {
            if (each.name().equals(name)) {
                return true;
            }
        }
        for (InterfaceType each : type.allInterfaces()) {
            if (each.name().equals(name)) {
                return true;
            }
        }
        return false;
    }

    private String describe(ObjectReference object) {
        if (Library.isHeld(object, thread)) {
            return null;
        }
        try {
            Value text = call(object, "toString", "()Ljava/lang/String;");
            return text instanceof StringReference string ? string.value() : null;
        } catch (AgentError cannot) {
            return null;
        }
    }

    /** Return the elements of a library collection, a map's as entries; null for others. */
    List<Value> items(Value value) throws AgentError {
        if (!(value instanceof ObjectReference object) || value instanceof ArrayReference) {
            return null;
        }
        object = Library.unwrapped(object);
        boolean map = is(object, "java.util.Map");
        if (!(map || is(object, "java.util.Collection")) || !Library.isReadable(object, thread)) {
            return null;
        }
        try {
            Value from = map ? call(object, "entrySet", "()Ljava/util/Set;") : object;
            Value array = call((ObjectReference) from, "toArray", "()[Ljava/lang/Object;");
            return array instanceof ArrayReference found ? new PagedArray(found) : null;
        } catch (AgentError cannot) {
            return null;
        }
    }

    Value[] pair(Value entry) throws AgentError {
        ObjectReference object = (ObjectReference) entry;
        Value key = call(object, "getKey", "()Ljava/lang/Object;");
        return new Value[] {key, call(object, "getValue", "()Ljava/lang/Object;")};
    }

    private Value call(ObjectReference object, String name, String signature) throws AgentError {
        List<Method> found = object.referenceType().methodsByName(name, signature);
        for (Method method : found) {
            if (!method.isAbstract()) {
                return debuggee.invoke(thread, object, method, List.of());
            }
        }
        throw new AgentError("no " + name);
    }

    // --- children

    List<Map<String, Object>> children(Value value, String expression, int start, int count) throws AgentError {
        List<Map<String, Object>> children = new ArrayList<>();
        String base = expression.matches("[\\w.$\\[\\]()@\"]+") ? expression : "(" + expression + ")";
        if (value instanceof ArrayReference array) {
            int end = Math.min(array.length(), count < 0 ? array.length() : start + count);
            for (int i = start; i < end; i++) {
                children.add(value("[" + i + "]", array.getValue(i), null, base + "[" + i + "]"));
            }
            return children;
        }
        List<Value> items = items(value);
        if (items != null) {
            ObjectReference object = (ObjectReference) value;
            boolean map = is(object, "java.util.Map");
            int end = Math.min(items.size(), count < 0 ? items.size() : start + count);
            // Read before any call: code that runs in the program may collect the array.
            List<Value> part = start < end ? new ArrayList<>(items.subList(start, end)) : List.of();
            for (int i = start; i < end; i++) {
                if (map) {
                    Value[] pair = pair(part.get(i - start));
                    String key = text(pair[0], 1, 0);
                    boolean plain = pair[0] instanceof StringReference || key.matches("-?\\d+");
                    children.add(value("[" + key + "]", pair[1], null,
                        plain ? base + ".get(" + key + ")" : base + ".entrySet().toArray()[" + i + "].getValue()"));
                } else {
                    String at = is(object, "java.util.List") ? ".get(" + i + ")" : ".toArray()[" + i + "]";
                    children.add(value("[" + i + "]", part.get(i - start), null, base + at));
                }
            }
            return children;
        }
        if (value instanceof ObjectReference object) {
            List<Field> fields = fieldsOf(object.referenceType());
            int end = Math.min(fields.size(), count < 0 ? fields.size() : start + count);
            for (Field field : fields.subList(Math.min(start, end), end)) {
                String label = label(object, field);
                String owner = label.equals(field.name()) ? base : "((" + field.declaringType().name().replace('$', '.') + ") " + base + ")";
                children.add(value(label, object.getValue(field), field.typeName(), owner + "." + field.name()));
            }
        }
        return children;
    }
}
