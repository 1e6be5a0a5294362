import com.sun.jdi.Field;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import java.util.ArrayList;
import java.util.List;

/** Commands of jdb that inspect the JVM, for `dbg raw`. */
final class RawCommands {
    private final TargetVm debuggee;
    private final SourcePath sources;

    RawCommands(TargetVm debuggee, SourcePath sources) {
        this.debuggee = debuggee;
        this.sources = sources;
    }

    Object answer(String command, List<String> args) throws AgentError, IncompatibleThreadStateException {
        List<String> lines = new ArrayList<>();
        switch (command) {
            case "threads", "where" -> {
                for (ThreadReference thread : debuggee.threads()) {
                    boolean selected = command.equals("threads") || args.contains("all") || thread.equals(debuggee.current);
                    if (selected) {
                        lines.add(thread.name() + ": " + Threads.state(thread, "stopped"));
                        stack(thread, command, lines);
                    }
                }
            }
            case "classes" -> {
                for (ReferenceType type : debuggee.vm.allClasses()) {
                    if (args.isEmpty() ? !Breakpoints.isLibrary(type.name()) : type.name().contains(args.get(0))) {
                        lines.add(type.name());
                    }
                }
                lines.sort(null);
            }
            case "methods", "fields" -> {
                ReferenceType type = named(args);
                for (Method method : command.equals("methods") ? type.methods() : List.<Method>of()) {
                    lines.add(method.returnTypeName() + " " + method.name() + "(" + String.join(", ", method.argumentTypeNames()) + ")");
                }
                for (Field field : command.equals("fields") ? type.allFields() : List.<Field>of()) {
                    lines.add((field.isStatic() ? "static " : "") + field.typeName() + " " + field.name());
                }
            }
            case "version" -> lines.add(debuggee.vm.description() + "; " + debuggee.vm.name() + " " + debuggee.vm.version());
            default -> throw new AgentError("there is no command " + command
                + "; there are where [all], threads, classes [PART], methods CLASS, fields CLASS, version");
        }
        return String.join("\n", lines);
    }

    private static void stack(ThreadReference thread, String command, List<String> lines) throws IncompatibleThreadStateException {
        if (command.equals("where")) {
            for (StackFrame frame : thread.frames()) {
                lines.add("  " + frame.location().method() + " " + frame.location());
            }
        }
    }

    private ReferenceType named(List<String> args) throws AgentError {
        for (ReferenceType type : debuggee.vm.allClasses()) {
            if (!args.isEmpty() && (type.name().equals(args.get(0)) || ValueFormatter.simple(type.name()).equals(args.get(0)))) {
                return type;
            }
        }
        throw new AgentError("no such class is loaded; `classes PART` lists those that are");
    }
}
