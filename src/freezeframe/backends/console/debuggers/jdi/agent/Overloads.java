import com.sun.jdi.ClassType;
import com.sun.jdi.InterfaceType;
import com.sun.jdi.Method;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StringReference;
import java.util.ArrayList;
import java.util.List;

/** Selects among methods of one name by the declared types of the arguments, as Java's compiler does. */
final class Overloads {
    private Overloads() {}

    /** Return the method that fits best; null if none does. */
    static Method best(EvaluationScope scope, ReferenceType type, String name, List<Object> arguments, List<String> types, boolean statics) {
        Method best = null;
        int most = -1;
        for (Method each : name.equals("<init>") ? type.methods() : type.methodsByName(name)) {
            if (!each.name().equals(name) || (statics && !each.isStatic())) {
                continue;
            }
            int score = score(scope, each, arguments, types);
            if (score > most) {
                most = score;
                best = each;
            }
        }
        return best;
    }

    /** Return how well arguments fit a method; less than 0 if they do not. */
    private static int score(EvaluationScope scope, Method method, List<Object> arguments, List<String> declared) {
        List<String> types = method.argumentTypeNames();
        boolean varied = method.isVarArgs() && arguments.size() >= types.size() - 1;
        if (types.size() != arguments.size()) {
            return varied ? 0 : -1;
        }
        int sum = 1;
        for (int i = 0; i < types.size(); i++) {
            int fit = fit(scope, types.get(i), arguments.get(i), declared.get(i));
            if (fit < 0) {
                return varied ? 0 : -1;
            }
            sum += fit;
        }
        return method.isBridge() ? sum - 1 : sum;
    }

    private static int fit(EvaluationScope scope, String type, Object value, String declared) {
        boolean primitive = EvaluationScope.BOXES.containsKey(type);
        Object bare = scope.unboxed(value);
        if (value == null) {
            return primitive ? -1 : 2;
        }
        boolean boxed = value instanceof ObjectReference;
        if (primitive && boxed && declared != null && !EvaluationScope.BOXES.containsValue(declared)) {
            return -1;
        }
        if (primitive) {
            String mine = bare instanceof ObjectReference || bare instanceof String ? "" : scope.mirror(bare).type().name();
            int to = "byte short char int long float double".indexOf(type);
            int from = mine.isEmpty() ? -1 : "byte short char int long float double".indexOf(mine);
            // Unboxing ranks after every conversion without it.
            return type.equals(mine) ? boxed ? 1 : 8 : from >= 0 && to > from ? boxed ? 0 : 5 : -1;
        }
        if (type.equals("java.lang.Object")) {
            return type.equals(declared) ? 8 : 2;
        }
        if (value instanceof String || value instanceof StringReference && declared == null) {
            return type.equals("java.lang.String") ? 8
                : type.equals("java.lang.CharSequence") || type.equals("java.lang.Comparable") ? 4 : -1;
        }
        if (value instanceof ObjectReference object) {
            ReferenceType own = EvaluationScope.as(object, declared);
            // Only the object's own class fits: the compiler knew more than is known here (generics).
            return distance(own, type) >= 0 ? 8 - Math.min(distance(own, type), 6) : ValueFormatter.is(object, type) ? 0 : -1;
        }
        return type.equals(EvaluationScope.BOXES.get(scope.mirror(value).type().name())) ? 3 : -1;
    }

    /** Return the distance to a supertype; less than 0 if it is not one. */
    private static int distance(ReferenceType type, String name) {
        if (type.name().equals(name)) {
            return 0;
        }
        List<ReferenceType> above = new ArrayList<>();
        if (type instanceof ClassType own) {
            above.addAll(own.interfaces());
            if (own.superclass() != null) {
                above.add(own.superclass());
            }
        } else if (type instanceof InterfaceType own) {
            above.addAll(own.superinterfaces());
        }
        int least = -1;
        for (ReferenceType each : above) {
            int further = distance(each, name);
            if (further >= 0 && (least < 0 || further + 1 < least)) {
                least = further + 1;
            }
        }
        return least;
    }
}
