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
 * A machine-readable prompt for the Java Debug Interface, which jdb uses too.
 *
 * <p>Arguments of a command are percent-encoded. An answer is one line of JSON, or `***` and an error message. A
 * stop is a line that begins with `@stop` and may come at any time.
 */
final class Agent {
    private static final int SHOWN = 60_000;
    private static final int CONNECT_MS = 500;

    private final PrintStream out;
    private final SourcePath sources = new SourcePath();
    private final Breakpoints breakpoints = new Breakpoints(sources);
    private Map<String, List<String>> filters = Map.of();
    private volatile TargetVm debuggee;

    private Agent(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        Agent agent = new Agent(out);
        sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> agent.interrupt());
        agent.serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        System.exit(0);
    }

    private void interrupt() {
        TargetVm running = debuggee;
        if (running != null) {
            running.interrupt();
        }
    }

    private void serve(BufferedReader in) throws IOException {
        print("@hello " + System.getProperty("java.version") + "\n(jdb) ");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                List<String> args = new ArrayList<>();
                String[] parts = line.strip().split("\t");
                for (String word : parts[0].split(" ")) {
                    args.add(URLDecoder.decode(word, StandardCharsets.UTF_8));
                }
                args.addAll(Arrays.asList(parts).subList(1, parts.length));
                Object result = answer(args.get(0), args.subList(1, args.size()));
                answer = result instanceof String text ? text : JsonWriter.write(result);
            } catch (AgentError refused) {
                answer = "*** " + refused.getMessage();
            } catch (VMDisconnectedException gone) {
                answer = "*** the program has ended";
            } catch (IncompatibleThreadStateException | IOException | RuntimeException error) {
                answer = "*** " + message(error);
            }
            print((answer.isEmpty() ? "" : answer.replaceAll("\\s+\\z", "") + "\n") + "(jdb) ");
        }
    }

    private void print(String text) {
        synchronized (out) {
            out.print(text);
            out.flush();
        }
    }

    static String message(Throwable error) {
        String text = error.getMessage();
        return text == null || text.isBlank() ? error.getClass().getSimpleName() : text.replaceAll("\\s+", " ");
    }

    private Object answer(String command, List<String> args) throws AgentError, IOException, IncompatibleThreadStateException {
        switch (command) {
            case "ff_mark":
                return args.get(0);
            case "ff_look":
                sources.add(List.of(args.get(1).split("\n")));
                breakpoints.look(new ClassFiles(List.of(args.get(0).split("\n"))));
                return "";
            case "ff_run":
                return run(args);
            case "ff_attach":
                return attach(args.get(0), args.get(1));
            case "ff_break":
                return breakAt(args, null);
            case "ff_break_if":
                return breakAt(args.subList(1, args.size()), args.get(0));
            case "ff_unbreak":
                breakpoints.remove(Integer.parseInt(args.get(0)));
                return "";
            case "ff_filters":
                filters = new LinkedHashMap<>();
                for (String word : args) {
                    String[] parts = word.split("=", 2);
                    filters.put(parts[0], parts[1].isEmpty() ? List.of() : List.of(parts[1].split(", ?")));
                }
                if (debuggee != null) {
                    debuggee.stopAt(filters);
                }
                return "";
            default:
        }
        if (debuggee == null) {
            throw new AgentError("there is no program yet");
        }
        switch (command) {
            case "ff_continue":
                debuggee.resume();
                return "";
            case "ff_step":
                debuggee.step(thread(args.get(1)), switch (args.get(0)) {
                    case "into" -> StepRequest.STEP_INTO;
                    case "out" -> StepRequest.STEP_OUT;
                    default -> StepRequest.STEP_OVER;
                });
                return "";
            case "ff_pause":
                return "@stop " + JsonWriter.write(debuggee.pause());
            case "ff_snapshot":
                return debuggee.snapshot(new Threads(debuggee, sources));
            case "ff_unwatch":
                debuggee.watchpoints.remove(Integer.parseInt(args.get(0)));
                return "";
            case "ff_detach":
                debuggee.detach();
                return "";
            default:
        }
        if (!debuggee.isStopped()) {
            throw new AgentError("the program is running");
        }
        return switch (command) {
            case "ff_threads" -> new Threads(debuggee, sources).listed();
            case "ff_frames" -> new Threads(debuggee, sources).frames(thread(args.get(0)), Integer.parseInt(args.get(1)), Integer.parseInt(args.get(2)));
            case "ff_scope" -> scope(thread(args.get(0)), Integer.parseInt(args.get(1)));
            case "ff_children" -> children(args);
            case "ff_eval" -> evaluated(args);
            case "ff_exception" -> exception();
            case "ff_watch" -> debuggee.watchpoints.add(
                new EvaluationScope(debuggee, thread(args.get(0)), Integer.parseInt(args.get(1))), args.get(2), args.get(3).isBlank() ? null : args.get(3));
            case "ff_return" -> forceReturn(thread(args.get(0)), args.size() > 1 ? args.get(1) : null);
            case "ff_pop" -> popFrames(thread(args.get(0)), Integer.parseInt(args.get(1)));
            default -> new RawCommands(debuggee, sources).answer(command, args);
        };
    }

    private Object breakAt(List<String> args, String condition) throws AgentError {
        return args.size() > 1 ? breakpoints.add(args.get(0), Integer.parseInt(args.get(1)), null, condition)
            : breakpoints.add(null, 0, args.get(0), condition);
    }

    // --- launch and attach

    private VirtualMachine vm;

    /** Run a program: its variables up to `--`, its command with `{agent}` in it, the files of its streams. */
    private Object run(List<String> args) throws AgentError, IOException {
        try (JdwpListener listener = new JdwpListener()) {
            int end = args.indexOf("--");
            int files = args.size() - 3;
            List<String> command = new ArrayList<>();
            for (String word : args.subList(end + 1, files)) {
                command.add(word.replace("{agent}", "-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:" + listener.port()));
            }
            ProcessBuilder builder = new ProcessBuilder(command);
            for (String variable : args.subList(0, end)) {
                String[] parts = variable.split("=", 2);
                builder.environment().put(parts[0], parts[1]);
            }
            builder.redirectInput(new File(args.get(files)));
            builder.redirectOutput(new File(args.get(files + 1)));
            builder.redirectError(new File(args.get(files + 2)));
            Process process = builder.start();
            while (vm == null) {
                try {
                    Connection connection = listener.accept(CONNECT_MS);
                    vm = Bootstrap.virtualMachineManager().createVirtualMachine(connection);
                } catch (SocketTimeoutException notYet) {
                    if (!process.isAlive()) {
                        Map<String, Object> report = JsonWriter.of("pid", process.pid());
                        report.put("exit", process.exitValue());
                        return "@stop " + JsonWriter.write(report);
                    }
                }
            }
            vm.eventQueue().remove();
            begin(process);
            return "@stop " + JsonWriter.write(JsonWriter.of("pid", process.pid(), "thread", main().uniqueID()));
        } catch (InterruptedException wrong) {
            throw new AgentError(message(wrong));
        }
    }

    private Object attach(String host, String port) throws AgentError, IOException {
        AttachingConnector connector = Bootstrap.virtualMachineManager().attachingConnectors().stream()
            .filter(each -> each.name().equals("com.sun.jdi.SocketAttach")).findFirst().orElseThrow();
        Map<String, Connector.Argument> options = connector.defaultArguments();
        options.get("hostname").setValue(host);
        options.get("port").setValue(port);
        options.get("timeout").setValue("5000");
        try {
            vm = connector.attach(options);
        } catch (IllegalConnectorArgumentsException wrong) {
            throw new AgentError(message(wrong));
        } catch (IOException refused) {
            throw new AgentError("nothing at " + host + ":" + port + " speaks JDWP: " + message(refused));
        }
        vm.suspend();
        begin(null);
        return "@stop " + JsonWriter.write(JsonWriter.of("thread", main().uniqueID()));
    }

    private void begin(Process process) {
        debuggee = new TargetVm(vm, process, breakpoints, sources, report -> print("@stop " + JsonWriter.write(report) + "\n"));
        debuggee.stopAt(filters);
        debuggee.current = main();
    }

    private ThreadReference main() {
        List<ThreadReference> all = vm.allThreads();
        return all.stream().filter(each -> each.name().equals("main")).findFirst().orElse(all.get(0));
    }

    // --- inspection

    private ThreadReference thread(String id) throws AgentError {
        long number = Long.parseLong(id);
        for (ThreadReference each : debuggee.threads()) {
            if (each.uniqueID() == number) {
                return each;
            }
        }
        throw new AgentError("that thread has ended");
    }

    private Object scope(ThreadReference thread, int level) throws AgentError {
        EvaluationScope scope = new EvaluationScope(debuggee, thread, level);
        StackFrame frame = scope.frame();
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
        ValueFormatter show = new ValueFormatter(debuggee, thread);
        List<Object> shown = new ArrayList<>();
        values.forEach((name, value) -> shown.add(show.value(name, value, types.get(name), name)));
        return JsonWriter.of("values", shown, "arguments", arguments, "note", note);
    }

    private Object children(List<String> args) throws AgentError {
        ThreadReference thread = thread(args.get(0));
        EvaluationScope scope = new EvaluationScope(debuggee, thread, Integer.parseInt(args.get(1)));
        Value value = scope.mirror(ExpressionEvaluator.evaluate(scope, args.get(2)));
        return new ValueFormatter(debuggee, thread).children(value, args.get(2), Integer.parseInt(args.get(3)), Integer.parseInt(args.get(4)));
    }

    private Object evaluated(List<String> args) throws AgentError {
        ThreadReference thread = thread(args.get(0));
        EvaluationScope scope = new EvaluationScope(debuggee, thread, Integer.parseInt(args.get(1)));
        Object value = ExpressionEvaluator.evaluate(scope, args.get(2));
        return switch (args.get(3)) {
            case "truth" -> Arithmetic.truth(scope, value);
            case "text" -> JsonWriter.of("text", value instanceof Character letter ? letter.toString() : scope.text(value));
            default -> new ValueFormatter(debuggee, thread).value("", scope.mirror(value), null, args.get(2), SHOWN);
        };
    }

    /** Make the innermost method return once the thread runs. */
    private Object forceReturn(ThreadReference thread, String expression) throws AgentError {
        EvaluationScope scope = new EvaluationScope(debuggee, thread, 0);
        try {
            String type = scope.frame().location().method().returnTypeName();
            Value value = debuggee.vm.mirrorOfVoid();
            if (expression == null && !type.equals("void")) {
                throw new AgentError("it returns " + type + ", and no value was given");
            }
            if (expression != null) {
                value = scope.fitted(type, ExpressionEvaluator.evaluate(scope, expression));
            }
            thread.forceEarlyReturn(value);
        } catch (InvalidTypeException | ClassNotLoadedException wrong) {
            throw new AgentError("it returns another type: " + message(wrong));
        } catch (IncompatibleThreadStateException | RuntimeException refused) {
            throw new AgentError(message(refused));
        }
        return "";
    }

    /** Go back to where a frame's method was called. */
    private Object popFrames(ThreadReference thread, int level) throws AgentError {
        try {
            thread.popFrames(thread.frame(level));
        } catch (IncompatibleThreadStateException | RuntimeException refused) {
            throw new AgentError(message(refused));
        }
        return "";
    }

    private Object exception() {
        ObjectReference error = debuggee.exception;
        if (error == null) {
            return JsonWriter.of();
        }
        List<String> causes = new ArrayList<>();
        ObjectReference cause = error;
        while (ValueFormatter.field(cause, "cause") instanceof ObjectReference deeper && !deeper.equals(cause) && causes.size() < 10) {
            causes.add(ValueFormatter.failure(deeper));
            cause = deeper;
        }
        return JsonWriter.of("type", error.referenceType().name(), "message", new ValueFormatter(debuggee, debuggee.current).messageOf(error), "causes", causes,
            "suppressed", Library.suppressed(error), "created", CreationSite.of(error, debuggee, debuggee.current), "mode", debuggee.failing ? "test-failing" : debuggee.caught ? "raised" : "uncaught");
    }
}
