import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.InvalidStackFrameException;
import com.sun.jdi.LocalVariable;
import com.sun.jdi.Location;
import com.sun.jdi.ObjectCollectedException;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.StackFrame;
import com.sun.jdi.StringReference;
import com.sun.jdi.ThreadReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The threads of a stopped program: their states, locks and frames. */
final class Threads {
    private static final int THREADS = 30;
    private static final int FRAMES = 60;
    /** Frames of user code in a thread whose variables a snapshot shows. */
    private static final int FRAMES_WITH_VALUES = 4;
    private static final int VARIABLES = 12;
    private static final int SHORT = 200;

    private final TargetVm debuggee;
    private final SourcePath sources;

    Threads(TargetVm debuggee, SourcePath sources) {
        this.debuggee = debuggee;
        this.sources = sources;
    }

    /** Return the threads of the program, without those of the JVM. */
    List<ThreadReference> own() {
        List<ThreadReference> found = new ArrayList<>();
        for (ThreadReference each : debuggee.threads()) {
            try {
                String group = each.threadGroup() == null ? "" : each.threadGroup().name();
                boolean machine = group.equals("system") || group.equals("InnocuousThreadGroup");
                if (!machine || each.equals(debuggee.current)) {
                    found.add(each);
                }
            } catch (ObjectCollectedException gone) {
                // The thread has ended.
            }
        }
        return found;
    }

    /** Return the name of a thread; most virtual threads have none. */
    private static String name(ThreadReference thread) {
        return thread.name().isEmpty() ? "virtual" : thread.name();
    }

    List<Object> listed() {
        List<Object> result = new ArrayList<>();
        for (ThreadReference each : own()) {
            result.add(JsonWriter.of("id", each.uniqueID(), "name", name(each), "state", state(each, "stopped")));
        }
        return result;
    }

    /** Return every thread with its frames and the variables of user code; runs no code. */
    List<Object> snapshot() {
        List<Object> result = new ArrayList<>();
        for (ThreadReference each : own()) {
            if (result.size() == THREADS) {
                break;
            }
            try {
                List<Object> frames = frames(each, 0, FRAMES);
                values(each, frames);
                result.add(JsonWriter.of("id", each.uniqueID(), "name", name(each), "state", state(each, "running"), "frames", frames));
            } catch (IncompatibleThreadStateException | RuntimeException gone) {
                // The thread has ended.
            }
        }
        return result;
    }

    @SuppressWarnings("unchecked")
    private void values(ThreadReference thread, List<Object> frames) throws IncompatibleThreadStateException {
        ValueFormatter show = new ValueFormatter(debuggee, null);
        int left = FRAMES_WITH_VALUES;
        for (int i = 0; i < frames.size() && left > 0; i++) {
            Map<String, Object> entry = (Map<String, Object>) frames.get(i);
            if (Boolean.TRUE.equals(entry.get("library"))) {
                continue;
            }
            left--;
            StackFrame frame = thread.frame(i);
            List<Object> values = new ArrayList<>();
            try {
                for (LocalVariable variable : frame.visibleVariables()) {
                    if (values.size() < VARIABLES) {
                        values.add(List.of(variable.name(), show.text(frame.getValue(variable), 1, SHORT)));
                    }
                }
            } catch (AbsentInformationException | AgentError | InvalidStackFrameException none) {
                // Compiled without -g.
            }
            entry.put("values", values);
        }
    }

    List<Object> frames(ThreadReference thread, int start, int count) throws IncompatibleThreadStateException {
        List<Object> result = new ArrayList<>();
        int end = Math.min(thread.frameCount(), start + count);
        for (StackFrame frame : start < end ? thread.frames(start, end - start) : List.<StackFrame>of()) {
            Location location = frame.location();
            int line = location.lineNumber();
            String type = location.declaringType().name();
            result.add(JsonWriter.of("function", ValueFormatter.function(location.method()), "path", path(location), "line", line > 0 ? line : null,
                "module", type.contains(".") ? type.substring(0, type.lastIndexOf('.')) : null,
                "library", Breakpoints.isLibrary(type)));
        }
        return result;
    }

    private String path(Location location) {
        String found = sources.path(location);
        try {
            return found != null ? found : SourcePath.relative(location.declaringType());
        } catch (AbsentInformationException none) {
            return null;
        }
    }

    // --- thread states

    /** Return a thread's state, with the lock it waits for and its holder; *otherwise* if it runs. */
    static String state(ThreadReference thread, String otherwise) {
        try {
            return switch (thread.status()) {
                case ThreadReference.THREAD_STATUS_SLEEPING -> "sleeping";
                case ThreadReference.THREAD_STATUS_MONITOR -> blocked(thread);
                case ThreadReference.THREAD_STATUS_WAIT -> waiting(thread);
                default -> otherwise;
            };
        } catch (IncompatibleThreadStateException | RuntimeException unknown) {
            return otherwise;
        }
    }

    private static String blocked(ThreadReference thread) throws IncompatibleThreadStateException {
        ObjectReference monitor = contended(thread);
        if (monitor == null) {
            return "blocked on a monitor";
        }
        return "blocked on the monitor of " + name(monitor) + holder(monitor.owningThread());
    }

    private static String waiting(ThreadReference thread) throws IncompatibleThreadStateException {
        ObjectReference monitor = contended(thread);
        if (monitor != null) {
            return "waiting to be notified on " + name(monitor);
        }
        if (!(ValueFormatter.field(thread, "parkBlocker") instanceof ObjectReference blocker)) {
            return "waiting";
        }
        ObjectReference owner = ValueFormatter.field(blocker, "exclusiveOwnerThread") instanceof ObjectReference found ? found : null;
        return "waiting for " + name(blocker) + holder(owner);
    }

    private static ObjectReference contended(ThreadReference thread) throws IncompatibleThreadStateException {
        return thread.virtualMachine().canGetCurrentContendedMonitor() ? thread.currentContendedMonitor() : null;
    }

    private static String holder(ObjectReference owner) {
        return owner instanceof ThreadReference thread ? " held by thread " + thread.name() : "";
    }

    /** Return an object's class and id; an inner part of a synchronizer is named by its owner. */
    private static String name(ObjectReference object) {
        String type = object.referenceType().name();
        String outer = type.startsWith("java.util.concurrent.") ? type.replaceAll("\\$.*", "") : type;
        String text = object instanceof StringReference string ? JsonWriter.quoted(string.value()) : ValueFormatter.simple(outer);
        return text + "@" + object.uniqueID();
    }
}
