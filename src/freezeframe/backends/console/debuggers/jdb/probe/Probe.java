import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.Bootstrap;
import com.sun.jdi.ClassNotLoadedException;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.InvalidTypeException;
import com.sun.jdi.LocalVariable;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.Value;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.IllegalConnectorArgumentsException;
import com.sun.jdi.connect.spi.Connection;
import com.sun.jdi.request.StepRequest;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.SocketTimeoutException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A prompt in front of the Java Debug Interface, which jdb stands on too, for a program to use.
 *
 * <p>Words of a command are percent-encoded. An answer is one line of JSON, or `***` and a complaint. A stop is a
 * line that begins with `@stop`, whenever it comes.
 */
final class Probe {
    private static final int SHOWN = 60_000;
    private static final int CONNECT_MS = 500;

    private final PrintStream out;
    private final Sources sources = new Sources();
    private final Marks marks = new Marks(sources);
    private Map<String, List<String>> filters = Map.of();
    private volatile Stage stage;

    private Probe(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] words) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        Probe probe = new Probe(out);
        sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> probe.interrupt());
        probe.serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        System.exit(0);
    }

    private void interrupt() {
        Stage running = stage;
        if (running != null) {
            running.interrupt();
        }
    }

    private void serve(BufferedReader in) throws IOException {
        say("@hello " + System.getProperty("java.version") + "\n(jdb) ");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                List<String> words = new ArrayList<>();
                String[] parts = line.strip().split("\t");
                for (String word : parts[0].split(" ")) {
                    words.add(URLDecoder.decode(word, StandardCharsets.UTF_8));
                }
                words.addAll(Arrays.asList(parts).subList(1, parts.length));
                Object told = answer(words.get(0), words.subList(1, words.size()));
                answer = told instanceof String text ? text : Json.write(told);
            } catch (Complaint complaint) {
                answer = "*** " + complaint.getMessage();
            } catch (VMDisconnectedException gone) {
                answer = "*** the program has ended";
            } catch (IncompatibleThreadStateException | IOException | RuntimeException error) {
                answer = "*** " + words(error);
            }
            say((answer.isEmpty() ? "" : answer.replaceAll("\\s+\\z", "") + "\n") + "(jdb) ");
        }
    }

    private void say(String text) {
        synchronized (out) {
            out.print(text);
            out.flush();
        }
    }

    static String words(Throwable error) {
        String text = error.getMessage();
        return text == null || text.isBlank() ? error.getClass().getSimpleName() : text.replaceAll("\\s+", " ");
    }

    private Object answer(String command, List<String> words) throws Complaint, IOException, IncompatibleThreadStateException {
        switch (command) {
            case "ff_mark":
                return words.get(0);
            case "ff_look":
                sources.add(List.of(words.get(1).split("\n")));
                marks.look(new ClassFiles(List.of(words.get(0).split("\n"))));
                return "";
            case "ff_run":
                return run(words);
            case "ff_attach":
                return attach(words.get(0), words.get(1));
            case "ff_break":
                return breakAt(words, null);
            case "ff_break_if":
                return breakAt(words.subList(1, words.size()), words.get(0));
            case "ff_unbreak":
                marks.remove(Integer.parseInt(words.get(0)));
                return "";
            case "ff_filters":
                filters = new LinkedHashMap<>();
                for (String word : words) {
                    String[] parts = word.split("=", 2);
                    filters.put(parts[0], parts[1].isEmpty() ? List.of() : List.of(parts[1].split(", ?")));
                }
                if (stage != null) {
                    stage.stopAt(filters);
                }
                return "";
            default:
        }
        if (stage == null) {
            throw new Complaint("there is no program yet");
        }
        switch (command) {
            case "ff_continue":
                stage.resume();
                return "";
            case "ff_step":
                stage.step(thread(words.get(1)), switch (words.get(0)) {
                    case "into" -> StepRequest.STEP_INTO;
                    case "out" -> StepRequest.STEP_OUT;
                    default -> StepRequest.STEP_OVER;
                });
                return "";
            case "ff_pause":
                return "@stop " + Json.write(stage.pause());
            case "ff_snapshot":
                return stage.snapshot(new Threads(stage, sources));
            case "ff_detach":
                stage.detach();
                return "";
            default:
        }
        if (!stage.isStanding()) {
            throw new Complaint("the program is running");
        }
        return switch (command) {
            case "ff_threads" -> new Threads(stage, sources).listed();
            case "ff_frames" -> new Threads(stage, sources).frames(thread(words.get(0)), Integer.parseInt(words.get(1)), Integer.parseInt(words.get(2)));
            case "ff_scope" -> scope(thread(words.get(0)), Integer.parseInt(words.get(1)));
            case "ff_children" -> children(words);
            case "ff_eval" -> evaluated(words);
            case "ff_exception" -> exception();
            case "ff_return" -> forceReturn(thread(words.get(0)), words.size() > 1 ? words.get(1) : null);
            case "ff_pop" -> popFrames(thread(words.get(0)), Integer.parseInt(words.get(1)));
            default -> new Raw(stage, sources).answer(command, words);
        };
    }

    private Object breakAt(List<String> words, String condition) throws Complaint {
        return words.size() > 1 ? marks.add(words.get(0), Integer.parseInt(words.get(1)), null, condition)
            : marks.add(null, 0, words.get(0), condition);
    }

    // --- how a program comes to be

    private VirtualMachine machine;

    /** Run a program: its variables up to `--`, its command with `{agent}` in it, its streams' files. */
    private Object run(List<String> words) throws Complaint, IOException {
        try (JdwpListener listener = new JdwpListener()) {
            int end = words.indexOf("--");
            int files = words.size() - 3;
            List<String> command = new ArrayList<>();
            for (String word : words.subList(end + 1, files)) {
                command.add(word.replace("{agent}", "-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:" + listener.port()));
            }
            ProcessBuilder builder = new ProcessBuilder(command);
            for (String variable : words.subList(0, end)) {
                String[] parts = variable.split("=", 2);
                builder.environment().put(parts[0], parts[1]);
            }
            builder.redirectInput(new File(words.get(files)));
            builder.redirectOutput(new File(words.get(files + 1)));
            builder.redirectError(new File(words.get(files + 2)));
            Process process = builder.start();
            while (machine == null) {
                try {
                    Connection connection = listener.accept(CONNECT_MS);
                    machine = Bootstrap.virtualMachineManager().createVirtualMachine(connection);
                } catch (SocketTimeoutException notYet) {
                    if (!process.isAlive()) {
                        Map<String, Object> told = Json.of("pid", process.pid());
                        told.put("exit", process.exitValue());
                        return "@stop " + Json.write(told);
                    }
                }
            }
            machine.eventQueue().remove();
            begin(process);
            return "@stop " + Json.write(Json.of("pid", process.pid(), "thread", main().uniqueID()));
        } catch (InterruptedException wrong) {
            throw new Complaint(words(wrong));
        }
    }

    private Object attach(String host, String port) throws Complaint, IOException {
        AttachingConnector connector = Bootstrap.virtualMachineManager().attachingConnectors().stream()
            .filter(each -> each.name().equals("com.sun.jdi.SocketAttach")).findFirst().orElseThrow();
        Map<String, Connector.Argument> options = connector.defaultArguments();
        options.get("hostname").setValue(host);
        options.get("port").setValue(port);
        options.get("timeout").setValue("5000");
        try {
            machine = connector.attach(options);
        } catch (IllegalConnectorArgumentsException wrong) {
            throw new Complaint(words(wrong));
        } catch (IOException refused) {
            throw new Complaint("nothing at " + host + ":" + port + " speaks JDWP: " + words(refused));
        }
        machine.suspend();
        begin(null);
        return "@stop " + Json.write(Json.of("thread", main().uniqueID()));
    }

    private void begin(Process process) {
        stage = new Stage(machine, process, marks, sources, told -> say("@stop " + Json.write(told) + "\n"));
        stage.stopAt(filters);
        stage.current = main();
    }

    private ThreadReference main() {
        List<ThreadReference> all = machine.allThreads();
        return all.stream().filter(each -> each.name().equals("main")).findFirst().orElse(all.get(0));
    }

    // --- seeing

    private ThreadReference thread(String id) throws Complaint {
        long number = Long.parseLong(id);
        for (ThreadReference each : stage.vm.allThreads()) {
            if (each.uniqueID() == number) {
                return each;
            }
        }
        throw new Complaint("that thread has ended");
    }

    private Object scope(ThreadReference thread, int level) throws Complaint {
        World world = new World(stage, thread, level);
        StackFrame frame = world.frame();
        Map<String, Value> values = new LinkedHashMap<>();
        Map<String, String> types = new LinkedHashMap<>();
        List<String> arguments = new ArrayList<>();
        String note = null;
        ObjectReference self = frame.thisObject();
        if (self != null) {
            values.put("this", self);
        }
        try {
            for (LocalVariable variable : frame.visibleVariables()) {
                values.put(variable.name(), frame.getValue(variable));
                types.put(variable.name(), variable.typeName());
                if (variable.isArgument()) {
                    arguments.add(variable.name());
                }
            }
        } catch (AbsentInformationException none) {
            note = "compiled without -g";
        }
        Show show = new Show(stage, thread);
        List<Object> told = new ArrayList<>();
        values.forEach((name, value) -> told.add(show.value(name, value, types.get(name), name)));
        return Json.of("values", told, "arguments", arguments, "note", note);
    }

    private Object children(List<String> words) throws Complaint {
        ThreadReference thread = thread(words.get(0));
        World world = new World(stage, thread, Integer.parseInt(words.get(1)));
        Value value = world.mirror(Eval.evaluate(world, words.get(2)));
        return new Show(stage, thread).children(value, words.get(2), Integer.parseInt(words.get(3)), Integer.parseInt(words.get(4)));
    }

    private Object evaluated(List<String> words) throws Complaint {
        ThreadReference thread = thread(words.get(0));
        World world = new World(stage, thread, Integer.parseInt(words.get(1)));
        Object value = Eval.evaluate(world, words.get(2));
        return switch (words.get(3)) {
            case "truth" -> Arithmetic.truth(world, value);
            case "text" -> Json.of("text", value instanceof Character letter ? letter.toString() : world.text(value));
            default -> new Show(stage, thread).value("", world.mirror(value), null, words.get(2), SHOWN);
        };
    }

    /** Make the innermost method return once the thread runs. */
    private Object forceReturn(ThreadReference thread, String expression) throws Complaint {
        World world = new World(stage, thread, 0);
        try {
            String type = world.frame().location().method().returnTypeName();
            Value value = stage.vm.mirrorOfVoid();
            if (expression == null && !type.equals("void")) {
                throw new Complaint("it returns " + type + ", and no value was given");
            }
            if (expression != null) {
                value = world.fitted(type, Eval.evaluate(world, expression));
            }
            thread.forceEarlyReturn(value);
        } catch (InvalidTypeException | ClassNotLoadedException wrong) {
            throw new Complaint("it returns another type: " + words(wrong));
        } catch (IncompatibleThreadStateException | RuntimeException refused) {
            throw new Complaint(words(refused));
        }
        return "";
    }

    /** Go back to where a frame's method was called. */
    private Object popFrames(ThreadReference thread, int level) throws Complaint {
        try {
            thread.popFrames(thread.frame(level));
        } catch (IncompatibleThreadStateException | RuntimeException refused) {
            throw new Complaint(words(refused));
        }
        return "";
    }

    private Object exception() {
        ObjectReference error = stage.exception;
        if (error == null) {
            return Json.of();
        }
        List<String> causes = new ArrayList<>();
        ObjectReference cause = error;
        while (Show.field(cause, "cause") instanceof ObjectReference deeper && !deeper.equals(cause) && causes.size() < 10) {
            causes.add(Show.failure(deeper));
            cause = deeper;
        }
        return Json.of("type", error.referenceType().name(), "message", new Show(stage, stage.current).said(error), "causes", causes,
            "suppressed", Library.suppressed(error), "mode", stage.caught ? "raised" : "uncaught");
    }
}
