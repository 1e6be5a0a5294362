import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.ArrayReference;
import com.sun.jdi.ArrayType;
import com.sun.jdi.ClassNotLoadedException;
import com.sun.jdi.ClassObjectReference;
import com.sun.jdi.ClassType;
import com.sun.jdi.Field;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.InvalidTypeException;
import com.sun.jdi.LocalVariable;
import com.sun.jdi.Method;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.PrimitiveValue;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.StringReference;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import com.sun.jdi.VirtualMachine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What an expression can name in one frame, and what becomes of it there. */
final class World {
    /** Neither a value nor a class: perhaps the beginning of a package's name. */
    static final Object NOTHING = new Object();
    private static final Map<String, String> BOXES = Map.of("int", "java.lang.Integer", "long", "java.lang.Long",
        "short", "java.lang.Short", "byte", "java.lang.Byte", "char", "java.lang.Character",
        "boolean", "java.lang.Boolean", "float", "java.lang.Float", "double", "java.lang.Double");
    private static final String[] PACKAGES = {"java.lang.", "java.util.", "java.util.function.", "java.io.", "java.math."};

    private final Stage stage;
    private final VirtualMachine vm;
    private final ThreadReference thread;
    private final int level;

    World(Stage stage, ThreadReference thread, int level) {
        this.stage = stage;
        this.vm = stage.vm;
        this.thread = thread;
        this.level = level;
    }

    /** Return the frame; a new one each time, since calls make old ones invalid. */
    StackFrame frame() throws Complaint {
        try {
            if (level >= thread.frameCount()) {
                throw new Complaint("this thread has no frame to look into");
            }
            return thread.frame(level);
        } catch (IncompatibleThreadStateException running) {
            throw new Complaint("this thread is running");
        }
    }

    // --- between mirrors and values of ours

    static Object ours(Value value) {
        if (!(value instanceof PrimitiveValue primitive)) {
            return value;
        }
        return switch (value.type().name()) {
            case "int" -> primitive.intValue();
            case "long" -> primitive.longValue();
            case "short" -> primitive.shortValue();
            case "byte" -> primitive.byteValue();
            case "char" -> primitive.charValue();
            case "boolean" -> primitive.booleanValue();
            case "float" -> primitive.floatValue();
            default -> primitive.doubleValue();
        };
    }

    Value mirror(Object value) {
        if (value == null || value instanceof Value) {
            return (Value) value;
        }
        if (value instanceof String text) {
            return vm.mirrorOf(text);
        }
        if (value instanceof Integer number) {
            return vm.mirrorOf(number);
        }
        if (value instanceof Long number) {
            return vm.mirrorOf(number);
        }
        if (value instanceof Short number) {
            return vm.mirrorOf(number);
        }
        if (value instanceof Byte number) {
            return vm.mirrorOf(number);
        }
        if (value instanceof Character letter) {
            return vm.mirrorOf(letter);
        }
        if (value instanceof Boolean truth) {
            return vm.mirrorOf(truth);
        }
        return value instanceof Float number ? vm.mirrorOf(number) : vm.mirrorOf((Double) value);
    }

    Object unboxed(Object value) {
        if (value instanceof ObjectReference object && BOXES.containsValue(object.referenceType().name())) {
            return ours(Show.field(object, "value"));
        }
        return value;
    }

    boolean isText(Object value) {
        return value instanceof String || value instanceof StringReference;
    }

    /** Return what two references are compared by. */
    Object same(Object value) {
        return value instanceof String text ? vm.mirrorOf(text) : value;
    }

    String kind(Object value) {
        Value mirror = value instanceof String ? null : mirror(value);
        return value instanceof String ? "a String" : mirror == null ? "null" : "of type " + mirror.type().name();
    }

    String text(Object value) throws Complaint {
        Object bare = unboxed(value);
        if (bare instanceof StringReference string) {
            return string.value();
        }
        if (bare instanceof ObjectReference object && !(object instanceof ArrayReference)) {
            return text(call(object, "toString", List.of(), ""));
        }
        return String.valueOf(bare instanceof ArrayReference array ? array.type().name() : bare);
    }

    // --- names

    Object self() throws Complaint {
        ObjectReference self = frame().thisObject();
        if (self == null) {
            throw new Complaint("there is no `this` in a static method");
        }
        return self;
    }

    Object name(String name) throws Complaint {
        StackFrame frame = frame();
        LocalVariable local = local(frame, name);
        if (local != null) {
            return ours(frame.getValue(local));
        }
        ReferenceType type = frame.location().declaringType();
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            Field captured = self.referenceType().fieldByName("val$" + name);
            Field field = captured != null ? captured : self.referenceType().fieldByName(name);
            if (field != null) {
                return ours(self.getValue(field));
            }
        }
        for (ReferenceType each = type; each != null; each = around(each)) {
            Field field = each.fieldByName(name);
            if (field != null && field.isStatic()) {
                return ours(each.getValue(field));
            }
        }
        return type(name);
    }

    private static LocalVariable local(StackFrame frame, String name) {
        try {
            return frame.visibleVariableByName(name);
        } catch (AbsentInformationException none) {
            return null;
        }
    }

    private static ObjectReference outer(ObjectReference inner) {
        for (Field field : inner.referenceType().fields()) {
            if (field.name().startsWith("this$")) {
                return (ObjectReference) inner.getValue(field);
            }
        }
        return null;
    }

    private ReferenceType around(ReferenceType type) {
        int dollar = type.name().lastIndexOf('$');
        return dollar < 0 ? null : loaded(type.name().substring(0, dollar));
    }

    void assign(String name, Object value) throws Complaint {
        StackFrame frame = frame();
        LocalVariable local = local(frame, name);
        try {
            if (local != null) {
                Value fitting = fitted(local.typeName(), value);
                frame().setValue(local(frame(), name), fitting);
                return;
            }
        } catch (InvalidTypeException | ClassNotLoadedException wrong) {
            throw new Complaint(name + " is of type " + local.typeName() + ", and this is " + kind(value));
        }
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            if (self.referenceType().fieldByName(name) != null) {
                setField(self, name, value);
                return;
            }
        }
        for (ReferenceType each = frame.location().declaringType(); each != null; each = around(each)) {
            if (each.fieldByName(name) != null) {
                setField(each, name, value);
                return;
            }
        }
        throw new Complaint("there is no variable " + name + " here");
    }

    // --- classes

    private ReferenceType loaded(String name) {
        List<ReferenceType> found = vm.classesByName(name);
        return found.isEmpty() ? null : found.get(0);
    }

    boolean isType(String name) throws Complaint {
        return name.endsWith("[]") || type(name) != NOTHING;
    }

    /** Return the class of a name, as it would be understood here; NOTHING where there is none. */
    Object type(String name) throws Complaint {
        String here = frame().location().declaringType().name();
        List<String> tries = new ArrayList<>();
        for (String around = here; ; around = around.substring(0, around.lastIndexOf('$'))) {
            tries.add(around + "$" + name.replace('.', '$'));
            if (!around.contains("$")) {
                break;
            }
        }
        if (here.contains(".")) {
            tries.add(here.substring(0, here.lastIndexOf('.') + 1) + name);
        }
        tries.add(name);
        for (String each : PACKAGES) {
            tries.add(each + name);
        }
        for (String each : List.copyOf(tries)) {
            ReferenceType found = loaded(each);
            if (found != null) {
                return found;
            }
        }
        if (Character.isUpperCase(name.charAt(name.lastIndexOf('.') + 1))) {
            for (String each : tries) {
                ReferenceType found = load(each);
                if (found != null) {
                    return found;
                }
            }
        }
        return NOTHING;
    }

    private ReferenceType load(String name) {
        try {
            ClassType type = (ClassType) loaded("java.lang.Class");
            Method method = type.concreteMethodByName("forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
            List<Value> words = new ArrayList<>();
            words.add(vm.mirrorOf(name));
            words.add(vm.mirrorOf(true));
            words.add(frame().location().declaringType().classLoader());
            Value found = stage.invoke(thread, type, method, words);
            return found instanceof ClassObjectReference mirror ? mirror.reflectedType() : null;
        } catch (Complaint none) {
            return null;
        }
    }

    private ReferenceType needType(String name) throws Complaint {
        Object found = type(name);
        if (found instanceof ReferenceType type) {
            return type;
        }
        throw new Complaint("there is no class " + name + " here");
    }

    boolean isInstance(Object value, String name) throws Complaint {
        Value mirror = mirror(value);
        if (!(mirror instanceof ObjectReference object)) {
            return false;
        }
        return name.endsWith("[]") ? object.referenceType().name().endsWith(name) : Show.is(object, needType(name).name());
    }

    Object cast(String name, Object value) throws Complaint {
        if (value != null && !(value instanceof ObjectReference) && !(value instanceof String)) {
            return box(value);
        }
        if (value != null && !name.endsWith("[]") && !isInstance(value, name)) {
            throw new Complaint("java.lang.ClassCastException: this is " + kind(value));
        }
        return value;
    }

    // --- parts

    Object field(Object on, String name, String words) throws Complaint {
        if (on == null) {
            throw new Complaint("java.lang.NullPointerException: " + words + " is null");
        }
        if (on instanceof ArrayReference array && name.equals("length")) {
            return array.length();
        }
        if (on instanceof ReferenceType type) {
            Field field = type.fieldByName(name);
            if (name.equals("class")) {
                return type.classObject();
            }
            if (field != null && field.isStatic()) {
                return ours(type.getValue(field));
            }
            ReferenceType inner = loaded(type.name() + "$" + name);
            return inner != null ? inner : NOTHING;
        }
        Value mirror = mirror(on);
        if (!(mirror instanceof ObjectReference object)) {
            throw new Complaint(words + " is " + kind(on) + " and has no fields");
        }
        Field field = object.referenceType().fieldByName(name);
        if (field == null) {
            throw new Complaint(Show.simple(object.referenceType().name()) + " has no field " + name);
        }
        return ours(object.getValue(field));
    }

    void setField(Object on, String name, Object value) throws Complaint {
        ReferenceType type = on instanceof ObjectReference object ? object.referenceType()
            : on instanceof ReferenceType named ? named : null;
        Field field = type == null ? null : type.fieldByName(name);
        if (field == null) {
            throw new Complaint("there is no field " + name + " to set");
        }
        if (field.isFinal()) {
            throw new Complaint(name + " is final and cannot be set");
        }
        try {
            Value fitting = fitted(field.typeName(), value);
            if (on instanceof ObjectReference object && !field.isStatic()) {
                object.setValue(field, fitting);
            } else {
                ((ClassType) field.declaringType()).setValue(field, fitting);
            }
        } catch (InvalidTypeException | ClassNotLoadedException | IllegalArgumentException | ClassCastException wrong) {
            throw new Complaint(name + " is of type " + field.typeName() + ", and cannot become " + kind(value));
        }
    }

    Object element(Object on, int index) throws Complaint {
        if (!(on instanceof ArrayReference array)) {
            throw new Complaint("only arrays have elements, and this is " + kind(on) + "; lists have get(INDEX)");
        }
        if (index < 0 || index >= array.length()) {
            throw new Complaint("java.lang.ArrayIndexOutOfBoundsException: index " + index + ", length " + array.length());
        }
        return ours(array.getValue(index));
    }

    void setElement(Object on, int index, Object value) throws Complaint {
        element(on, index);
        ArrayReference array = (ArrayReference) on;
        try {
            array.setValue(index, fitted(((ArrayType) array.type()).componentTypeName(), value));
        } catch (InvalidTypeException | ClassNotLoadedException wrong) {
            throw new Complaint("the elements of a " + array.type().name() + " cannot become " + kind(value));
        }
    }

    Object array(String type, int length) throws Complaint {
        ReferenceType found = loaded(BOXES.containsKey(type) ? type + "[]" : needType(type).name() + "[]");
        if (!(found instanceof ArrayType array)) {
            throw new Complaint("the program has no " + type + "[] yet");
        }
        return array.newInstance(length);
    }

    // --- methods

    Object callHere(String name, List<Object> arguments) throws Complaint {
        StackFrame frame = frame();
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            if (!self.referenceType().methodsByName(name).isEmpty()) {
                return call(self, name, arguments, "this");
            }
        }
        for (ReferenceType each = frame.location().declaringType(); each != null; each = around(each)) {
            if (!each.methodsByName(name).isEmpty()) {
                return call(each, name, arguments, each.name());
            }
        }
        throw new Complaint("there is no method " + name + " here");
    }

    Object call(Object on, String name, List<Object> arguments, String words) throws Complaint {
        if (on == null) {
            throw new Complaint("java.lang.NullPointerException: " + words + " is null");
        }
        Object target = on instanceof ReferenceType ? on : mirror(on);
        if (target instanceof PrimitiveValue) {
            throw new Complaint(words + " is " + kind(on) + " and has no methods");
        }
        ReferenceType type = target instanceof ObjectReference object ? object.referenceType() : (ReferenceType) target;
        if (type instanceof ArrayType) {
            throw new Complaint("arrays have no methods to call here");
        }
        boolean statics = target instanceof ReferenceType;
        Method method = chosen(type, name, arguments, statics);
        if (method.isStatic()) {
            target = method.declaringType();
        }
        return ours(stage.invoke(thread, target, method, fitted(method, arguments)));
    }

    Object create(String name, List<Object> arguments) throws Complaint {
        ReferenceType type = needType(name);
        if (!(type instanceof ClassType made) || made.isAbstract()) {
            throw new Complaint(name + " cannot be made: it is abstract");
        }
        Method method = chosen(type, "<init>", arguments, false);
        return stage.invoke(thread, made, method, fitted(method, arguments));
    }

    private List<Value> fitted(Method method, List<Object> arguments) throws Complaint {
        List<String> types = method.argumentTypeNames();
        List<Value> values = new ArrayList<>();
        for (int i = 0; i < arguments.size(); i++) {
            boolean rest = method.isVarArgs() && i >= types.size() - 1;
            String type = types.get(Math.min(i, types.size() - 1));
            boolean whole = mirror(arguments.get(i)) instanceof ArrayReference;
            values.add(fitted(rest && !whole ? type.replace("[]", "") : type, arguments.get(i)));
        }
        return values;
    }

    private Method chosen(ReferenceType type, String name, List<Object> arguments, boolean statics) throws Complaint {
        Method best = null;
        int most = -1;
        for (Method each : name.equals("<init>") ? type.methods() : type.methodsByName(name)) {
            if (!each.name().equals(name) || each.isAbstract() && !(type instanceof com.sun.jdi.InterfaceType)
                || (statics && !each.isStatic())) {
                continue;
            }
            int score = score(each, arguments);
            if (score > most) {
                most = score;
                best = each;
            }
        }
        if (best == null) {
            boolean there = !type.methodsByName(name).isEmpty();
            String called = name.equals("<init>") ? "constructor" : "method " + name;
            throw new Complaint(Show.simple(type.name()) + " has no " + called
                + (there || name.equals("<init>") ? " that takes these arguments" : ""));
        }
        return best;
    }

    /** Return how well arguments fit a method; less than 0 where they do not. */
    private int score(Method method, List<Object> arguments) {
        List<String> types = method.argumentTypeNames();
        boolean varied = method.isVarArgs() && arguments.size() >= types.size() - 1;
        if (types.size() != arguments.size()) {
            return varied ? 0 : -1;
        }
        int sum = 1;
        for (int i = 0; i < types.size(); i++) {
            int fit = fit(types.get(i), arguments.get(i));
            if (fit < 0) {
                return varied ? 0 : -1;
            }
            sum += fit;
        }
        return method.isBridge() ? sum - 1 : sum;
    }

    private int fit(String type, Object value) {
        boolean primitive = BOXES.containsKey(type);
        Object bare = unboxed(value);
        if (value == null) {
            return primitive ? -1 : 2;
        }
        if (primitive) {
            String mine = bare instanceof ObjectReference || bare instanceof String ? "" : mirror(bare).type().name();
            int to = "byte short char int long float double".indexOf(type);
            int from = mine.isEmpty() ? -1 : "byte short char int long float double".indexOf(mine);
            return type.equals(mine) ? 8 : from >= 0 && to > from ? 5 : -1;
        }
        if (type.equals("java.lang.Object")) {
            return 1;
        }
        if (value instanceof String || value instanceof StringReference) {
            return type.equals("java.lang.String") ? 8
                : type.equals("java.lang.CharSequence") || type.equals("java.lang.Comparable") ? 4 : -1;
        }
        if (value instanceof ObjectReference object) {
            return object.referenceType().name().equals(type) ? 8 : Show.is(object, type) ? 5 : -1;
        }
        return type.equals(BOXES.get(mirror(value).type().name())) ? 3 : -1;
    }

    /** Return a value as one of a declared type: widened, boxed or unboxed. */
    private Value fitted(String type, Object value) throws Complaint {
        if (BOXES.containsKey(type)) {
            return mirror(Arithmetic.cast(this, type, value));
        }
        boolean bare = value != null && !(value instanceof ObjectReference) && !(value instanceof String);
        return mirror(bare ? box(value) : value);
    }

    private Object box(Object value) throws Complaint {
        String primitive = mirror(value).type().name();
        ClassType type = (ClassType) needType(BOXES.get(primitive));
        for (Method method : type.methodsByName("valueOf")) {
            if (method.argumentTypeNames().equals(List.of(primitive))) {
                return stage.invoke(thread, type, method, List.of(mirror(value)));
            }
        }
        throw new Complaint("a " + primitive + " cannot be boxed");
    }
}
