import com.sun.jdi.ObjectReference;
import java.util.Objects;

/** Java's operators on numbers, strings and references. Values are boxes of this JVM, or mirrors. */
final class Arithmetic {
    private Arithmetic() {}

    static Object number(String text) throws AgentError {
        String bare = text.toLowerCase();
        try {
            boolean hex = bare.startsWith("0x");
            if (bare.endsWith("l")) {
                return Long.parseUnsignedLong(digits(bare.substring(0, bare.length() - 1)), radix(bare));
            }
            if (!hex && bare.endsWith("f")) {
                return Float.parseFloat(bare);
            }
            if (!hex && (bare.endsWith("d") || bare.contains(".") || bare.contains("e"))) {
                return Double.parseDouble(bare);
            }
            return Integer.parseUnsignedInt(digits(bare), radix(bare));
        } catch (NumberFormatException wrong) {
            throw new AgentError(text + " is no number; one beyond int ends with L");
        }
    }

    private static int radix(String text) {
        return text.startsWith("0x") ? 16 : text.startsWith("0b") ? 2 : text.matches("0[0-7]+l?") ? 8 : 10;
    }

    private static String digits(String text) {
        return text.startsWith("0x") || text.startsWith("0b") ? text.substring(2) : text;
    }

    static boolean truth(EvaluationScope scope, Object value) throws AgentError {
        Object bare = scope.unboxed(value);
        if (bare instanceof Boolean truth) {
            return truth;
        }
        throw new AgentError("a condition is a boolean, and this is " + scope.kind(value));
    }

    static int integer(EvaluationScope scope, Object value) throws AgentError {
        Object bare = scope.unboxed(value);
        if (bare instanceof Character letter) {
            return letter;
        }
        if (bare instanceof Number number && !(bare instanceof Double) && !(bare instanceof Float)) {
            return number.intValue();
        }
        throw new AgentError("an index is an int, and this is " + scope.kind(value));
    }

    static Object unary(EvaluationScope scope, String sign, Object value) throws AgentError {
        Object bare = scope.unboxed(value);
        if (sign.equals("!")) {
            return !truth(scope, bare);
        }
        if (sign.equals("~")) {
            return bare instanceof Long number ? (Object) ~number : (Object) ~integer(scope, bare);
        }
        return binary(scope, sign, 0, bare instanceof Character letter ? (int) letter : bare);
    }

    static Object binary(EvaluationScope scope, String sign, Object one, Object other) throws AgentError {
        if (sign.equals("+") && (scope.isText(one) || scope.isText(other))) {
            return scope.mirror(scope.text(one) + scope.text(other));
        }
        boolean compares = sign.equals("==") || sign.equals("!=");
        if (compares && (isReference(one) && isReference(other))) {
            return Objects.equals(scope.same(one), scope.same(other)) == sign.equals("==");
        }
        Object left = scope.unboxed(one);
        Object right = scope.unboxed(other);
        if (left instanceof Boolean a && right instanceof Boolean b) {
            return switch (sign) {
                case "==" -> a.equals(b);
                case "!=", "^" -> !a.equals(b);
                case "&" -> a && b;
                case "|" -> a || b;
                default -> throw new AgentError("booleans have no " + sign);
            };
        }
        left = left instanceof Character letter ? (Object) (int) letter : left;
        right = right instanceof Character letter ? (Object) (int) letter : right;
        if (!(left instanceof Number a) || !(right instanceof Number b)) {
            throw new AgentError(scope.kind(one) + " " + sign + " " + scope.kind(other) + " means nothing");
        }
        if (sign.equals("<<") || sign.equals(">>") || sign.equals(">>>")) {
            return shifted(sign, a, b.longValue());
        }
        if (a instanceof Double || b instanceof Double || a instanceof Float || b instanceof Float) {
            boolean single = !(a instanceof Double) && !(b instanceof Double);
            Object made = single ? floating(sign, a.floatValue(), b.floatValue()) : floating(sign, a.doubleValue(), b.doubleValue());
            return single && made instanceof Double number ? (Object) number.floatValue() : made;
        }
        Object made = whole(sign, a.longValue(), b.longValue());
        boolean wide = a instanceof Long || b instanceof Long;
        return made instanceof Long number && !wide ? (Object) number.intValue() : made;
    }

    private static boolean isReference(Object value) {
        return value == null || value instanceof ObjectReference || value instanceof String;
    }

    private static Object shifted(String sign, Number a, long by) {
        if (a instanceof Long number) {
            return sign.equals("<<") ? number << by : sign.equals(">>") ? number >> by : number >>> by;
        }
        int number = a.intValue();
        return sign.equals("<<") ? number << by : sign.equals(">>") ? number >> by : number >>> by;
    }

    private static Object floating(String sign, double a, double b) throws AgentError {
        return switch (sign) {
            case "+" -> a + b;
            case "-" -> a - b;
            case "*" -> a * b;
            case "/" -> a / b;
            case "%" -> a % b;
            case "==" -> a == b;
            case "!=" -> a != b;
            case "<" -> a < b;
            case ">" -> a > b;
            case "<=" -> a <= b;
            case ">=" -> a >= b;
            default -> throw new AgentError("numbers with a fraction have no " + sign);
        };
    }

    private static Object whole(String sign, long a, long b) throws AgentError {
        if (b == 0 && (sign.equals("/") || sign.equals("%"))) {
            throw new AgentError("java.lang.ArithmeticException: / by zero");
        }
        return switch (sign) {
            case "+" -> a + b;
            case "-" -> a - b;
            case "*" -> a * b;
            case "/" -> a / b;
            case "%" -> a % b;
            case "&" -> a & b;
            case "|" -> a | b;
            case "^" -> a ^ b;
            case "==" -> a == b;
            case "!=" -> a != b;
            case "<" -> a < b;
            case ">" -> a > b;
            case "<=" -> a <= b;
            case ">=" -> a >= b;
            default -> throw new AgentError("numbers have no " + sign);
        };
    }

    /** Convert a value to a primitive type. */
    static Object cast(EvaluationScope scope, String type, Object value) throws AgentError {
        Object bare = scope.unboxed(value);
        if (type.equals("boolean") && bare instanceof Boolean) {
            return bare;
        }
        Object plain = bare instanceof Character letter ? (Object) (int) letter : bare;
        if (!(plain instanceof Number number) || type.equals("boolean")) {
            throw new AgentError(scope.kind(value) + " is no " + type);
        }
        return switch (type) {
            case "int" -> plain instanceof Double || plain instanceof Float ? (Object) (int) number.doubleValue() : number.intValue();
            case "long" -> plain instanceof Double || plain instanceof Float ? (Object) (long) number.doubleValue() : number.longValue();
            case "short" -> number.shortValue();
            case "byte" -> number.byteValue();
            case "char" -> (char) number.intValue();
            case "float" -> number.floatValue();
            default -> number.doubleValue();
        };
    }
}
