import com.sun.jdi.ObjectReference;
import java.util.Objects;

/** Java's operators on numbers, texts and references. Values are boxes of ours, or mirrors. */
final class Arithmetic {
    private Arithmetic() {}

    static Object number(String text) throws Complaint {
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
            throw new Complaint(text + " is no number; one beyond int ends with L");
        }
    }

    private static int radix(String text) {
        return text.startsWith("0x") ? 16 : text.startsWith("0b") ? 2 : text.matches("0[0-7]+l?") ? 8 : 10;
    }

    private static String digits(String text) {
        return text.startsWith("0x") || text.startsWith("0b") ? text.substring(2) : text;
    }

    static boolean truth(World world, Object value) throws Complaint {
        Object bare = world.unboxed(value);
        if (bare instanceof Boolean truth) {
            return truth;
        }
        throw new Complaint("a condition is a boolean, and this is " + world.kind(value));
    }

    static int integer(World world, Object value) throws Complaint {
        Object bare = world.unboxed(value);
        if (bare instanceof Character letter) {
            return letter;
        }
        if (bare instanceof Number number && !(bare instanceof Double) && !(bare instanceof Float)) {
            return number.intValue();
        }
        throw new Complaint("an index is an int, and this is " + world.kind(value));
    }

    static Object unary(World world, String sign, Object value) throws Complaint {
        Object bare = world.unboxed(value);
        if (sign.equals("!")) {
            return !truth(world, bare);
        }
        if (sign.equals("~")) {
            return bare instanceof Long number ? (Object) ~number : (Object) ~integer(world, bare);
        }
        return binary(world, sign, 0, bare instanceof Character letter ? (int) letter : bare);
    }

    static Object binary(World world, String sign, Object one, Object other) throws Complaint {
        if (sign.equals("+") && (world.isText(one) || world.isText(other))) {
            return world.text(one) + world.text(other);
        }
        boolean compares = sign.equals("==") || sign.equals("!=");
        if (compares && (isReference(one) && isReference(other))) {
            return Objects.equals(world.same(one), world.same(other)) == sign.equals("==");
        }
        Object left = world.unboxed(one);
        Object right = world.unboxed(other);
        if (left instanceof Boolean a && right instanceof Boolean b) {
            return switch (sign) {
                case "==" -> a.equals(b);
                case "!=", "^" -> !a.equals(b);
                case "&" -> a && b;
                case "|" -> a || b;
                default -> throw new Complaint("booleans have no " + sign);
            };
        }
        left = left instanceof Character letter ? (Object) (int) letter : left;
        right = right instanceof Character letter ? (Object) (int) letter : right;
        if (!(left instanceof Number a) || !(right instanceof Number b)) {
            throw new Complaint(world.kind(one) + " " + sign + " " + world.kind(other) + " means nothing");
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

    private static Object floating(String sign, double a, double b) throws Complaint {
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
            default -> throw new Complaint("numbers with a fraction have no " + sign);
        };
    }

    private static Object whole(String sign, long a, long b) throws Complaint {
        if (b == 0 && (sign.equals("/") || sign.equals("%"))) {
            throw new Complaint("java.lang.ArithmeticException: / by zero");
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
            default -> throw new Complaint("numbers have no " + sign);
        };
    }

    /** Return a value as one of a primitive type. */
    static Object cast(World world, String type, Object value) throws Complaint {
        Object bare = world.unboxed(value);
        if (type.equals("boolean") && bare instanceof Boolean) {
            return bare;
        }
        Object plain = bare instanceof Character letter ? (Object) (int) letter : bare;
        if (!(plain instanceof Number number) || type.equals("boolean")) {
            throw new Complaint(world.kind(value) + " is no " + type);
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
