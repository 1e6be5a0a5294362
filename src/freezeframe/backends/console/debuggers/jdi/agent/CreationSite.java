import com.sun.jdi.ArrayReference;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.IntegerValue;
import com.sun.jdi.Location;
import com.sun.jdi.Method;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.StackFrame;
import com.sun.jdi.StringReference;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import java.util.List;

/** Where a throwable was created, which its stack trace begins with: a `finally` or a handler may throw it elsewhere. */
final class CreationSite {
    private CreationSite() {
    }

    /** Return `FILE:LINE in CLASS.METHOD` of user code; null if the thread is stopped there, or it is unknown. */
    static String of(ObjectReference error, TargetVm debuggee, ThreadReference thread) {
        try {
            ThreadReference holder = error.owningThread();
            if (holder != null && !holder.equals(thread)) {
                return null; // the call would wait for its monitor
            }
            Method trace = error.virtualMachine().classesByName("java.lang.Throwable").get(0)
                .methodsByName("getStackTrace").get(0);
            // The library's own method, even where a class of the program overrides it.
            if (debuggee.invoke(thread, error, trace, List.of(), true) instanceof ArrayReference elements) {
                return first(elements, thread);
            }
        } catch (AgentError | IncompatibleThreadStateException | RuntimeException unknown) {
            // The answer does without it.
        }
        return null;
    }

    private static String first(ArrayReference elements, ThreadReference thread) throws IncompatibleThreadStateException {
        for (Value each : elements.getValues()) {
            ObjectReference element = (ObjectReference) each;
            String type = text(element, "declaringClass");
            if (!Breakpoints.isLibrary(type)) {
                int line = ValueFormatter.field(element, "lineNumber") instanceof IntegerValue number ? number.value() : 0;
                String method = text(element, "methodName");
                return line <= 0 || isStoppedAt(thread, type, line) ? null
                    : text(element, "fileName") + ":" + line + " in " + ValueFormatter.simple(type) + "." + method;
            }
        }
        return null;
    }

    /** Whether the innermost frame of user code is at that line. */
    private static boolean isStoppedAt(ThreadReference thread, String type, int line) throws IncompatibleThreadStateException {
        for (StackFrame frame : thread.frames()) {
            Location location = frame.location();
            if (!Breakpoints.isLibrary(location.declaringType().name())) {
                return location.declaringType().name().equals(type) && location.lineNumber() == line;
            }
        }
        return false;
    }

    private static String text(ObjectReference element, String field) {
        return ValueFormatter.field(element, field) instanceof StringReference string ? string.value() : "";
    }
}
