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

/** The threads of a program that stands: what each waits for, who called whom. */
final class Threads {
    private static final int THREADS = 30;
    private static final int FRAMES = 60;
    /** Frames of a thread, of the program's own code, whose variables a snapshot shows. */
    private static final int TOLD = 4;
    private static final int VARIABLES = 12;
    private static final int SHORT = 200;

    private final Stage stage;
    private final Sources sources;

    Threads(Stage stage, Sources sources) {
        this.stage = stage;
        this.sources = sources;
    }

    /** Return the threads of the program, without those of the machine. */
    List<ThreadReference> own() {
        List<ThreadReference> found = new ArrayList<>();
        for (ThreadReference each : stage.vm.allThreads()) {
            try {
                String group = each.threadGroup() == null ? "" : each.threadGroup().name();
                boolean machine = group.equals("system") || group.equals("InnocuousThreadGroup");
                if (!machine || each.equals(stage.current)) {
                    found.add(each);
                }
            } catch (ObjectCollectedException gone) {
                // It has ended.
            }
        }
        return found;
    }

    List<Object> listed() {
        List<Object> told = new ArrayList<>();
        for (ThreadReference each : own()) {
            told.add(Json.of("id", each.uniqueID(), "name", each.name(), "state", state(each, "stopped")));
        }
        return told;
    }

    /** Return every thread with its frames and the variables of its own code; nothing is run for it. */
    List<Object> snapshot() {
        List<Object> told = new ArrayList<>();
        for (ThreadReference each : own()) {
            if (told.size() == THREADS) {
                break;
            }
            try {
                List<Object> frames = frames(each, 0, FRAMES);
                values(each, frames);
                told.add(Json.of("id", each.uniqueID(), "name", each.name(), "state", state(each, "running"), "frames", frames));
            } catch (IncompatibleThreadStateException | RuntimeException gone) {
                // It has ended.
            }
        }
        return told;
    }

    @SuppressWarnings("unchecked")
    private void values(ThreadReference thread, List<Object> frames) throws IncompatibleThreadStateException {
        Show show = new Show(stage, null);
        int left = TOLD;
        for (int i = 0; i < frames.size() && left > 0; i++) {
            Map<String, Object> told = (Map<String, Object>) frames.get(i);
            if (Boolean.TRUE.equals(told.get("library"))) {
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
            } catch (AbsentInformationException | Complaint | InvalidStackFrameException none) {
                // Compiled without -g.
            }
            told.put("values", values);
        }
    }

    List<Object> frames(ThreadReference thread, int start, int count) throws IncompatibleThreadStateException {
        List<Object> told = new ArrayList<>();
        int end = Math.min(thread.frameCount(), start + count);
        for (StackFrame frame : start < end ? thread.frames(start, end - start) : List.<StackFrame>of()) {
            Location location = frame.location();
            int line = location.lineNumber();
            String type = location.declaringType().name();
            told.add(Json.of("function", Show.function(location.method()), "path", path(location), "line", line > 0 ? line : null,
                "module", type.contains(".") ? type.substring(0, type.lastIndexOf('.')) : null,
                "library", Marks.isLibrary(type)));
        }
        return told;
    }

    private String path(Location location) {
        String found = sources.path(location);
        try {
            return found != null ? found : Sources.relative(location.declaringType());
        } catch (AbsentInformationException none) {
            return null;
        }
    }

    // --- what a thread waits for

    /** Return what a thread does, with what it waits for and who holds that; *otherwise*: it runs. */
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
        if (!(Show.field(thread, "parkBlocker") instanceof ObjectReference blocker)) {
            return "waiting";
        }
        ObjectReference owner = Show.field(blocker, "exclusiveOwnerThread") instanceof ObjectReference found ? found : null;
        return "waiting for " + name(blocker) + holder(owner);
    }

    private static ObjectReference contended(ThreadReference thread) throws IncompatibleThreadStateException {
        return thread.virtualMachine().canGetCurrentContendedMonitor() ? thread.currentContendedMonitor() : null;
    }

    private static String holder(ObjectReference owner) {
        return owner instanceof ThreadReference thread ? " held by thread " + thread.name() : "";
    }

    /** Return an object's class and number; a synchronizer's inner part is named by what it is part of. */
    private static String name(ObjectReference object) {
        String type = object.referenceType().name();
        String outer = type.startsWith("java.util.concurrent.") ? type.replaceAll("\\$.*", "") : type;
        String text = object instanceof StringReference string ? Json.quoted(string.value()) : Show.simple(outer);
        return text + "@" + object.uniqueID();
    }
}
