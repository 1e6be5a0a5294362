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

/** Names of an expression in one frame, and operations on their values. */
final class EvaluationScope {
    /** Neither a value nor a class: possibly the beginning of a package name. */
    static final Object NOTHING = new Object();
    static final Map<String, String> BOXES = Map.of("int", "java.lang.Integer", "long", "java.lang.Long",
        "short", "java.lang.Short", "byte", "java.lang.Byte", "char", "java.lang.Character",
        "boolean", "java.lang.Boolean", "float", "java.lang.Float", "double", "java.lang.Double");
    private static final String[] PACKAGES = {"java.lang.", "java.util.", "java.util.function.", "java.io.", "java.math."};

    private final TargetVm debuggee;
    private final VirtualMachine vm;
    private final ThreadReference thread;
    private final int level;

    EvaluationScope(TargetVm debuggee, ThreadReference thread, int level) {
        this.debuggee = debuggee;
        this.vm = debuggee.vm;
        this.thread = thread;
        this.level = level;
    }

    /** Return the frame; a new one each time, since calls invalidate old ones. */
    StackFrame frame() throws AgentError {
        try {
            if (level >= thread.frameCount()) {
                throw new AgentError("this thread has no frame to look into");
            }
            return thread.frame(level);
        } catch (IncompatibleThreadStateException running) {
            throw new AgentError("this thread is running");
        }
    }

    // --- conversion between mirrors and values of this JVM

    static Object unmirror(Value value) {
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
            return unmirror(ValueFormatter.field(object, "value"));
        }
        return value;
    }

    boolean isText(Object value) {
        return value instanceof String || value instanceof StringReference;
    }

    /** Return the key by which two references are compared: a literal is the one that Java has interned. */
    Object same(Object value) throws AgentError {
        return value instanceof String text
            ? call(new Receiver(vm.mirrorOf(text), null, "", false), "intern", List.of(), List.of()).value() : value;
    }

    String kind(Object value) {
        Value mirror = value instanceof String ? null : mirror(value);
        return value instanceof String ? "a String" : mirror == null ? "null" : "of type " + mirror.type().name();
    }

    String text(Object value) throws AgentError {
        Object bare = unboxed(value);
        if (bare instanceof StringReference string) {
            return string.value();
        }
        if (bare instanceof ObjectReference object && !(object instanceof ArrayReference)) {
            return text(call(new Receiver(object, null, "", false), "toString", List.of(), List.of()).value());
        }
        return String.valueOf(bare instanceof ArrayReference array ? array.type().name() : bare);
    }

    // --- names

    Object self() throws AgentError {
        ObjectReference self = frame().thisObject();
        if (self == null) {
            throw new AgentError("there is no `this` in a static method");
        }
        return self;
    }

    /** Return the instance of a class around this frame's code: `Outer.this`. */
    Object enclosing(Object type, String text) throws AgentError {
        String declared = here();
        for (ObjectReference self = frame().thisObject(); self != null; self = outer(self)) {
            if (type instanceof ReferenceType named && named.name().equals(declared)) {
                return self;
            }
            declared = outerType(self);
        }
        throw new AgentError("there is no " + text + ".this here");
    }

    Object name(String name) throws AgentError {
        StackFrame frame = frame();
        LocalVariable local = local(frame, name);
        if (local != null) {
            return unmirror(frame.getValue(local));
        }
        ReferenceType type = frame.location().declaringType();
        String declared = type.name();
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            Field captured = self.referenceType().fieldByName("val$" + name);
            Field field = captured != null ? captured : fieldOf(self, name, declared);
            if (field != null) {
                return unmirror(self.getValue(field));
            }
            declared = outerType(self);
        }
        for (ReferenceType each = type; each != null; each = around(each)) {
            Field field = each.fieldByName(name);
            if (field != null && field.isStatic()) {
                return unmirror(each.getValue(field));
            }
        }
        return type(name);
    }

    boolean isLocal(String name) throws AgentError {
        return local(frame(), name) != null;
    }

    private static LocalVariable local(StackFrame frame, String name) {
        try {
            return frame.visibleVariableByName(name);
        } catch (AbsentInformationException none) {
            return null;
        }
    }

    private static ObjectReference outer(ObjectReference inner) {
        Field field = outerField(inner);
        return field == null ? null : (ObjectReference) inner.getValue(field);
    }

    private static String outerType(ObjectReference inner) {
        Field field = outerField(inner);
        return field == null ? null : field.typeName();
    }

    private static Field outerField(ObjectReference inner) {
        for (Field field : inner.referenceType().fields()) {
            if (field.name().startsWith("this$")) {
                return field;
            }
        }
        return null;
    }

    // --- declared types: Java selects fields and overloads by them, not by the type of the object

    /** Return the full name of the class that declares this frame's method. */
    String here() throws AgentError {
        return frame().location().declaringType().name();
    }

    String above() throws AgentError {
        return frame().location().declaringType() instanceof ClassType type && type.superclass() != null
            ? type.superclass().name() : null;
    }

    /** Return the full name of a type as an expression names it; null if it is not a loaded class. */
    String declared(String name) throws AgentError {
        return !name.endsWith("[]") && type(name) instanceof ReferenceType type ? type.name() : null;
    }

    /** Return the declared type of a variable or field that is named alone. */
    String declaredName(String name) throws AgentError {
        StackFrame frame = frame();
        LocalVariable local = local(frame, name);
        if (local != null) {
            return local.typeName();
        }
        String declared = frame.location().declaringType().name();
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            Field captured = self.referenceType().fieldByName("val$" + name);
            Field field = captured != null ? captured : fieldOf(self, name, declared);
            if (field != null) {
                return field.typeName();
            }
            declared = outerType(self);
        }
        return null;
    }

    String declaredField(Object on, String name, String declared) {
        Field field = on instanceof ReferenceType type ? type.fieldByName(name)
            : on instanceof ObjectReference object ? fieldOf(object, name, declared) : null;
        String generic = field == null ? null : field.genericSignature();
        // A type variable stands for a type that only the compiler knew.
        return field == null || generic != null && generic.startsWith("T") ? null : field.typeName();
    }

    /** Return an object's class as one of its supertypes; its own class if it has no supertype of that name. */
    static ReferenceType as(ObjectReference object, String declared) {
        ReferenceType own = object.referenceType();
        if (declared != null && own instanceof ClassType type) {
            for (ClassType each = type; each != null; each = each.superclass()) {
                if (each.name().equals(declared)) {
                    return each;
                }
            }
            for (com.sun.jdi.InterfaceType each : type.allInterfaces()) {
                if (each.name().equals(declared)) {
                    return each;
                }
            }
        }
        return own;
    }

    private static Field fieldOf(ObjectReference object, String name, String declared) {
        Field field = as(object, declared).fieldByName(name);
        return field != null ? field : object.referenceType().fieldByName(name);
    }

    private ReferenceType around(ReferenceType type) {
        int dollar = type.name().lastIndexOf('$');
        return dollar < 0 ? null : loaded(type.name().substring(0, dollar));
    }

    void assign(String name, Object value) throws AgentError {
        StackFrame frame = frame();
        LocalVariable local = local(frame, name);
        try {
            if (local != null) {
                Value fitting = fitted(local.typeName(), value);
                frame().setValue(local(frame(), name), fitting);
                return;
            }
        } catch (InvalidTypeException | ClassNotLoadedException wrong) {
            throw new AgentError(name + " is of type " + local.typeName() + ", and this is " + kind(value));
        }
        String declared = frame.location().declaringType().name();
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            if (fieldOf(self, name, declared) != null) {
                setField(self, name, value, declared);
                return;
            }
            declared = outerType(self);
        }
        for (ReferenceType each = frame.location().declaringType(); each != null; each = around(each)) {
            if (each.fieldByName(name) != null) {
                setField(each, name, value, null);
                return;
            }
        }
        throw new AgentError("there is no variable " + name + " here");
    }

    // --- classes

    private ReferenceType loaded(String name) {
        List<ReferenceType> found = vm.classesByName(name);
        return found.isEmpty() ? null : found.get(0);
    }

    boolean isType(String name) throws AgentError {
        return name.endsWith("[]") || type(name) != NOTHING;
    }

    /** Return the class of a name as resolved here; NOTHING if there is none. */
    Object type(String name) throws AgentError {
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
            List<Value> arguments = new ArrayList<>();
            arguments.add(vm.mirrorOf(name));
            arguments.add(vm.mirrorOf(true));
            arguments.add(frame().location().declaringType().classLoader());
            Value found = debuggee.invoke(thread, type, method, arguments);
            return found instanceof ClassObjectReference mirror ? mirror.reflectedType() : null;
        } catch (AgentError none) {
            return null;
        }
    }

    private ReferenceType needType(String name) throws AgentError {
        Object found = type(name);
        if (found instanceof ReferenceType type) {
            return type;
        }
        throw new AgentError("there is no class " + name + " here");
    }

    boolean isInstance(Object value, String name) throws AgentError {
        Value mirror = mirror(value);
        if (!(mirror instanceof ObjectReference object)) {
            return false;
        }
        return name.endsWith("[]") ? object.referenceType().name().endsWith(name) : ValueFormatter.is(object, needType(name).name());
    }

    Object cast(String name, Object value) throws AgentError {
        if (value != null && !(value instanceof ObjectReference) && !(value instanceof String)) {
            return box(value);
        }
        if (value != null && !name.endsWith("[]") && !isInstance(value, name)) {
            throw new AgentError("java.lang.ClassCastException: this is " + kind(value));
        }
        return value;
    }

    // --- fields and elements

    Object field(Object on, String name, String text, String declared) throws AgentError {
        if (on == null) {
            throw new AgentError("java.lang.NullPointerException: " + text + " is null");
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
                return unmirror(type.getValue(field));
            }
            ReferenceType inner = loaded(type.name() + "$" + name);
            return inner != null ? inner : NOTHING;
        }
        Value mirror = mirror(on);
        if (!(mirror instanceof ObjectReference object)) {
            throw new AgentError(text + " is " + kind(on) + " and has no fields");
        }
        boolean above = text.equals("super");
        Field field = above ? as(object, declared).fieldByName(name) : fieldOf(object, name, declared);
        if (field == null) {
            throw new AgentError(ValueFormatter.simple(above ? declared : object.referenceType().name()) + " has no field " + name);
        }
        return unmirror(object.getValue(field));
    }

    void setField(Object on, String name, Object value, String declared) throws AgentError {
        Field field = on instanceof ObjectReference object ? fieldOf(object, name, declared)
            : on instanceof ReferenceType type ? type.fieldByName(name) : null;
        if (field == null) {
            throw new AgentError("there is no field " + name + " to set");
        }
        if (field.isFinal()) {
            throw new AgentError(name + " is final and cannot be set");
        }
        try {
            Value fitting = fitted(field.typeName(), value);
            if (on instanceof ObjectReference object && !field.isStatic()) {
                object.setValue(field, fitting);
            } else {
                ((ClassType) field.declaringType()).setValue(field, fitting);
            }
        } catch (InvalidTypeException | ClassNotLoadedException | IllegalArgumentException | ClassCastException wrong) {
            throw new AgentError(name + " is of type " + field.typeName() + ", and cannot become " + kind(value));
        }
    }

    Object element(Object on, int index) throws AgentError {
        if (!(on instanceof ArrayReference array)) {
            throw new AgentError("only arrays have elements, and this is " + kind(on) + "; lists have get(INDEX)");
        }
        if (index < 0 || index >= array.length()) {
            throw new AgentError("java.lang.ArrayIndexOutOfBoundsException: index " + index + ", length " + array.length());
        }
        return unmirror(array.getValue(index));
    }

    void setElement(Object on, int index, Object value) throws AgentError {
        element(on, index);
        ArrayReference array = (ArrayReference) on;
        try {
            array.setValue(index, fitted(((ArrayType) array.type()).componentTypeName(), value));
        } catch (InvalidTypeException | ClassNotLoadedException wrong) {
            throw new AgentError("the elements of a " + array.type().name() + " cannot become " + kind(value));
        }
    }

    Object array(String type, int length) throws AgentError {
        ReferenceType found = loaded(BOXES.containsKey(type) ? type + "[]" : needType(type).name() + "[]");
        if (!(found instanceof ArrayType array)) {
            throw new AgentError("the program has no " + type + "[] yet");
        }
        return array.newInstance(length);
    }

    // --- methods

    /** The receiver of a call: an object or a class, its declared type, its source text. */
    record Receiver(Object on, String type, String text, boolean above) {}

    /** The result of a call, and the return type that its method declares. */
    record Result(Object value, String type) {}

    Result callHere(String name, List<Object> arguments, List<String> types) throws AgentError {
        StackFrame frame = frame();
        String declared = frame.location().declaringType().name();
        for (ObjectReference self = frame.thisObject(); self != null; self = outer(self)) {
            if (!self.referenceType().methodsByName(name).isEmpty()) {
                return call(new Receiver(self, declared, "this", false), name, arguments, types);
            }
            declared = outerType(self);
        }
        for (ReferenceType each = frame.location().declaringType(); each != null; each = around(each)) {
            if (!each.methodsByName(name).isEmpty()) {
                return call(new Receiver(each, null, each.name(), false), name, arguments, types);
            }
        }
        throw new AgentError("there is no method " + name + " here");
    }

    Result call(Receiver receiver, String name, List<Object> arguments, List<String> types) throws AgentError {
        Object on = receiver.on();
        if (on == null) {
            throw new AgentError("java.lang.NullPointerException: " + receiver.text() + " is null");
        }
        Object target = on instanceof ReferenceType ? on : mirror(on);
        if (target instanceof PrimitiveValue) {
            throw new AgentError(receiver.text() + " is " + kind(on) + " and has no methods");
        }
        boolean statics = target instanceof ReferenceType;
        ReferenceType own = statics ? (ReferenceType) target : ((ObjectReference) target).referenceType();
        if (own instanceof ArrayType) {
            throw new AgentError("arrays have no methods to call here");
        }
        ReferenceType type = statics ? own : as((ObjectReference) target, receiver.type());
        Method method = Overloads.best(this, type, name, arguments, types, statics);
        if (method == null) {
            method = chosen(receiver.above() ? type : own, name, arguments, types, statics);
        }
        if (method.isStatic()) {
            target = method.declaringType();
        }
        Value value = debuggee.invoke(thread, target, method, fitted(method, arguments), receiver.above());
        String generic = method.genericSignature();
        boolean variable = generic != null && generic.charAt(generic.indexOf(')') + 1) == 'T';
        return new Result(unmirror(value), variable ? null : method.returnTypeName());
    }

    Object create(String name, List<Object> arguments, List<String> types) throws AgentError {
        ReferenceType type = needType(name);
        if (!(type instanceof ClassType made) || made.isAbstract()) {
            throw new AgentError(name + " cannot be made: it is abstract");
        }
        Method method = chosen(type, "<init>", arguments, types, false);
        return debuggee.invoke(thread, made, method, fitted(method, arguments));
    }

    private List<Value> fitted(Method method, List<Object> arguments) throws AgentError {
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

    private Method chosen(ReferenceType type, String name, List<Object> arguments, List<String> types, boolean statics)
        throws AgentError {
        Method best = Overloads.best(this, type, name, arguments, types, statics);
        if (best == null) {
            boolean there = !type.methodsByName(name).isEmpty();
            String called = name.equals("<init>") ? "constructor" : "method " + name;
            throw new AgentError(ValueFormatter.simple(type.name()) + " has no " + called
                + (there || name.equals("<init>") ? " that takes these arguments" : ""));
        }
        return best;
    }

    /** Convert a value to a declared type: widened, boxed or unboxed. */
    Value fitted(String type, Object value) throws AgentError {
        if (BOXES.containsKey(type)) {
            return mirror(Arithmetic.cast(this, type, value));
        }
        boolean bare = value != null && !(value instanceof ObjectReference) && !(value instanceof String);
        return mirror(bare ? box(value) : value);
    }

    private Object box(Object value) throws AgentError {
        String primitive = mirror(value).type().name();
        ClassType type = (ClassType) needType(BOXES.get(primitive));
        for (Method method : type.methodsByName("valueOf")) {
            if (method.argumentTypeNames().equals(List.of(primitive))) {
                return debuggee.invoke(thread, type, method, List.of(mirror(value)));
            }
        }
        throw new AgentError("a " + primitive + " cannot be boxed");
    }
}
