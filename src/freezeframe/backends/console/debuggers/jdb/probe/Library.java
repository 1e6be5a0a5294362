import com.sun.jdi.ArrayReference;
import com.sun.jdi.Field;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Which collections can be asked for their elements without running code of the program's. */
final class Library {
    private static final Set<String> CONCURRENT = Set.of("java.util.concurrent.ConcurrentHashMap",
        "java.util.concurrent.CopyOnWriteArrayList", "java.util.concurrent.ConcurrentLinkedQueue");
    /** Their methods wait for their monitor. */
    private static final Set<String> LOCKING = Set.of("java.util.Vector", "java.util.Stack", "java.util.Hashtable",
        "java.util.Properties", "java.lang.StringBuffer");
    private static final String WRAPPERS = "java\\.util\\.Collections\\$(Unmodifiable|Synchronized|Checked).*";
    private static final int DEEPEST = 8;
    private static final int MOST_SUPPRESSED = 10;

    private Library() {
    }

    /** Return what a wrapper of `Collections` stands before; any other object itself. */
    static ObjectReference unwrapped(ObjectReference object) {
        for (int i = 0; i < DEEPEST && object.referenceType().name().matches(WRAPPERS); i++) {
            Value inner = Show.field(object, "m");
            inner = inner == null ? Show.field(object, "c") : inner;
            if (!(inner instanceof ObjectReference found)) {
                break;
            }
            object = found;
        }
        return object;
    }

    /** Whether a collection is the library's, stands before none of the program's, and answers now. */
    static boolean tells(ObjectReference object, ThreadReference thread) {
        return isLibrary(object, new HashSet<>()) && !isHeld(object, thread);
    }

    private static boolean isLibrary(ObjectReference object, Set<ObjectReference> seen) {
        String type = object.referenceType().name();
        boolean plain = !type.startsWith("java.util.concurrent.") || CONCURRENT.contains(type.replaceAll("\\$.*", ""));
        if (!type.startsWith("java.util.") || !plain) {
            return false;
        }
        if (!seen.add(object)) {
            return true;
        }
        for (Field field : object.referenceType().allFields()) {
            // Views (key sets, sublists) ask what they are a part of.
            if (field.isStatic() || !field.typeName().startsWith("java.util.")) {
                continue;
            }
            Value held = object.getValue(field);
            if (held instanceof ObjectReference inner && !(held instanceof ArrayReference)
                && (Show.is(inner, "java.util.Map") || Show.is(inner, "java.util.Collection"))
                && !isLibrary(inner, seen)) {
                return false;
            }
        }
        return true;
    }

    /** Return `type: message` of what a throwable has suppressed: failures to close what it left. */
    static List<String> suppressed(ObjectReference error) {
        List<String> told = new ArrayList<>();
        if (Show.field(error, "suppressedExceptions") instanceof ObjectReference list
            && Show.field(list, "elementData") instanceof ArrayReference elements) {
            for (Value each : elements.getValues()) {
                if (each instanceof ObjectReference inner && told.size() < MOST_SUPPRESSED) {
                    told.add(Show.failure(inner));
                }
            }
        }
        return told;
    }

    /** Whether another thread, which stands still, has the monitor that an answer needs. */
    static boolean isHeld(ObjectReference object, ThreadReference thread) {
        if (!LOCKING.contains(object.referenceType().name()) || !object.virtualMachine().canGetMonitorInfo()) {
            return false;
        }
        try {
            ThreadReference owner = object.owningThread();
            return owner != null && !owner.equals(thread);
        } catch (IncompatibleThreadStateException running) {
            return true;
        }
    }
}
