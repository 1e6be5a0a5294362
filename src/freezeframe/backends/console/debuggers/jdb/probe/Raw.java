import com.sun.jdi.Field;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import java.util.ArrayList;
import java.util.List;

/** jdb's own words that look at the machine, for who types them. */
final class Raw {
    private final Stage stage;
    private final Sources sources;

    Raw(Stage stage, Sources sources) {
        this.stage = stage;
        this.sources = sources;
    }

    Object answer(String command, List<String> words) throws Complaint, IncompatibleThreadStateException {
        List<String> lines = new ArrayList<>();
        switch (command) {
            case "threads", "where" -> {
                for (ThreadReference thread : stage.vm.allThreads()) {
                    boolean wanted = command.equals("threads") || words.contains("all") || thread.equals(stage.current);
                    if (wanted) {
                        lines.add(thread.name() + ": " + Threads.state(thread, "stopped"));
                        stack(thread, command, lines);
                    }
                }
            }
            case "classes" -> {
                for (ReferenceType type : stage.vm.allClasses()) {
                    if (words.isEmpty() ? !Marks.isLibrary(type.name()) : type.name().contains(words.get(0))) {
                        lines.add(type.name());
                    }
                }
                lines.sort(null);
            }
            case "methods", "fields" -> {
                ReferenceType type = named(words);
                for (Method method : command.equals("methods") ? type.methods() : List.<Method>of()) {
                    lines.add(method.returnTypeName() + " " + method.name() + "(" + String.join(", ", method.argumentTypeNames()) + ")");
                }
                for (Field field : command.equals("fields") ? type.allFields() : List.<Field>of()) {
                    lines.add((field.isStatic() ? "static " : "") + field.typeName() + " " + field.name());
                }
            }
            case "version" -> lines.add(stage.vm.description() + "; " + stage.vm.name() + " " + stage.vm.version());
            default -> throw new Complaint("there is no command " + command
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

    private ReferenceType named(List<String> words) throws Complaint {
        for (ReferenceType type : stage.vm.allClasses()) {
            if (!words.isEmpty() && (type.name().equals(words.get(0)) || Show.simple(type.name()).equals(words.get(0)))) {
                return type;
            }
        }
        throw new Complaint("no such class is loaded; `classes PART` lists those that are");
    }
}
