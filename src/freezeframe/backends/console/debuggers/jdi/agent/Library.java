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

/** Decides which collections can be read without running code of the program. */
final class Library {
    private static final Set<String> CONCURRENT = Set.of("java.util.concurrent.ConcurrentHashMap",
        "java.util.concurrent.CopyOnWriteArrayList", "java.util.concurrent.ConcurrentLinkedQueue");
    /** Classes whose methods wait for their monitor. */
    private static final Set<String> LOCKING = Set.of("java.util.Vector", "java.util.Stack", "java.util.Hashtable",
        "java.util.Properties", "java.lang.StringBuffer");
    private static final String WRAPPERS = "java\\.util\\.Collections\\$(Unmodifiable|Synchronized|Checked).*";
    private static final int DEEPEST = 8;
    private static final int MOST_SUPPRESSED = 10;

    private Library() {
    }

    /** Return the collection inside a wrapper of `Collections`; any other object itself. */
    static ObjectReference unwrapped(ObjectReference object) {
        for (int i = 0; i < DEEPEST && object.referenceType().name().matches(WRAPPERS); i++) {
            Value inner = ValueFormatter.field(object, "m");
            inner = inner == null ? ValueFormatter.field(object, "c") : inner;
            if (!(inner instanceof ObjectReference found)) {
                break;
            }
            object = found;
        }
        return object;
    }

    /** Whether a collection is the library's, wraps none of the program's, and is not locked. */
    static boolean isReadable(ObjectReference object, ThreadReference thread) {
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
            // Views (key sets, sublists) read the collection they are part of.
            if (field.isStatic() || !field.typeName().startsWith("java.util.")) {
                continue;
            }
            Value held = object.getValue(field);
            if (held instanceof ObjectReference inner && !(held instanceof ArrayReference)
                && (ValueFormatter.is(inner, "java.util.Map") || ValueFormatter.is(inner, "java.util.Collection"))
                && !isLibrary(inner, seen)) {
                return false;
            }
        }
        return true;
    }

    /** Return `type: message` of the exceptions that a throwable suppressed. */
    static List<String> suppressed(ObjectReference error) {
        List<String> messages = new ArrayList<>();
        if (ValueFormatter.field(error, "suppressedExceptions") instanceof ObjectReference list
            && ValueFormatter.field(list, "elementData") instanceof ArrayReference elements) {
            for (Value each : new PagedArray(elements)) {
                if (messages.size() == MOST_SUPPRESSED) {
                    break;
                }
                if (each instanceof ObjectReference inner) {
                    messages.add(ValueFormatter.failure(inner));
                }
            }
        }
        return messages;
    }

    /** Whether another thread, which is stopped, holds the monitor that is needed to read an object. */
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
