import com.sun.jdi.ClassNotLoadedException;
import com.sun.jdi.ClassType;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.InvalidTypeException;
import com.sun.jdi.InvocationException;
import com.sun.jdi.Method;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.InterfaceType;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.Value;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.ExceptionEvent;
import com.sun.jdi.event.LocatableEvent;
import com.sun.jdi.event.MethodExitEvent;
import com.sun.jdi.event.ModificationWatchpointEvent;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.event.VMDisconnectEvent;
import com.sun.jdi.event.VMStartEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.ExceptionRequest;
import com.sun.jdi.request.MethodExitRequest;
import com.sun.jdi.request.StepRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** One program: its execution state, and the commands that change it. */
final class TargetVm {
    final VirtualMachine vm;
    private final Process process;
    private final Breakpoints breakpoints;
    private final SourcePath sources;
    private final Consumer<Map<String, Object>> listener;

    private boolean stopped = true;
    private boolean ended;
    /** Stops that came while the program was already stopped: they are reported when it resumes. */
    private final Deque<EventSet> pending = new ArrayDeque<>();
    /** The thread that runs the program's code for us; events in it are ignored. */
    volatile ThreadReference invoking;
    /** A condition is evaluated on the event thread: nothing may run that causes events. */
    private boolean evaluatingCondition;
    ThreadReference current;
    private final KnownThreads known = new KnownThreads();
    ObjectReference exception;
    boolean caught;
    /** The exception makes a test fail. */
    boolean failing;
    private Value returned;
    private boolean returns;
    private int returnDepth;
    private List<ExceptionRequest> catches = new ArrayList<>();
    private ObjectReference failure;
    private final Failures failures;
    final Watchpoints watchpoints;
    private Map<String, List<String>> filters = Map.of();

    TargetVm(VirtualMachine vm, Process process, Breakpoints breakpoints, SourcePath sources, Consumer<Map<String, Object>> listener) {
        this.vm = vm;
        failures = new Failures(vm);
        watchpoints = new Watchpoints(vm, sources);
        this.process = process;
        this.breakpoints = breakpoints;
        this.sources = sources;
        this.listener = listener;
        breakpoints.attach(vm);
        Thread events = new Thread(this::listen, "events");
        events.setDaemon(true);
        events.start();
    }

    // --- execution

    synchronized void resume() throws AgentError {
        resumeAfter(null);
    }

    synchronized void step(ThreadReference thread, int depth) throws AgentError {
        resumeAfter(() -> {
            StepRequest step = vm.eventRequestManager().createStepRequest(thread, StepRequest.STEP_LINE, depth);
            for (String library : Breakpoints.LIBRARIES) {
                step.addClassExclusionFilter(library);
            }
            step.addCountFilter(1);
            step.setSuspendPolicy(EventRequest.SUSPEND_ALL);
            step.enable();
            if (depth == StepRequest.STEP_OUT) {
                expectReturn(thread);
            }
        });
    }

    private interface Preparation {
        void run() throws IncompatibleThreadStateException;
    }

    private void resumeAfter(Preparation prepare) throws AgentError {
        if (!stopped) {
            throw new AgentError("the program runs already");
        }
        EventRequestManager manager = vm.eventRequestManager();
        manager.deleteEventRequests(new ArrayList<>(manager.stepRequests()));
        manager.deleteEventRequests(new ArrayList<>(manager.methodExitRequests()));
        exception = null;
        returned = null;
        returns = false;
        try {
            if (prepare != null) {
                prepare.run();
            }
        } catch (IncompatibleThreadStateException | RuntimeException gone) {
            throw new AgentError("that thread cannot be stepped: " + Agent.message(gone));
        }
        stopped = false;
        vm.resume();
        EventSet next = pending.poll();
        if (next != null) {
            handle(next);
        }
    }

    /** Record the return value of a thread's innermost method. */
    private void expectReturn(ThreadReference thread) throws IncompatibleThreadStateException {
        if (!vm.canGetMethodReturnValues()) {
            return;
        }
        returnDepth = thread.frameCount();
        MethodExitRequest exit = vm.eventRequestManager().createMethodExitRequest();
        exit.addThreadFilter(thread);
        exit.addClassFilter(thread.frame(0).location().declaringType());
        exit.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        exit.enable();
    }

    /** Stop the program; return its location. */
    synchronized Map<String, Object> pause() throws AgentError {
        if (ended) {
            throw new AgentError("the program has ended, and the process that started it is still alive");
        }
        if (!stopped) {
            vm.suspend();
            stopped = true;
        }
        current = busiest();
        return addLocation(JsonWriter.of("reason", "pause"));
    }

    /** Return the stacks of a running program, which is suspended for a moment. */
    synchronized Object snapshot(Threads threads) throws AgentError {
        if (stopped) {
            throw new AgentError("the program is stopped");
        }
        vm.suspend();
        try {
            return threads.snapshot();
        } finally {
            vm.resume();
        }
    }

    /** Return the thread to show when a user pauses the program. */
    private ThreadReference busiest() {
        ThreadReference best = current;
        int rank = -1;
        for (ThreadReference thread : threads()) {
            int mine = 0;
            try {
                for (StackFrame frame : thread.frames()) {
                    mine = Math.max(mine, Breakpoints.isLibrary(frame.location().declaringType().name()) ? 1 : 2);
                }
                mine = mine * 4 + (thread.name().equals("main") ? 2 : 0) + (thread.equals(current) ? 1 : 0);
            } catch (IncompatibleThreadStateException | RuntimeException gone) {
                continue;
            }
            if (mine > rank) {
                rank = mine;
                best = thread;
            }
        }
        return best;
    }

    synchronized void detach() {
        ended = true;
        vm.dispose();
    }

    synchronized void stopAt(Map<String, List<String>> requested) {
        filters = requested;
        vm.eventRequestManager().deleteEventRequests(catches);
        catches = new ArrayList<>();
        filters.forEach((name, types) -> catches.add(request(name.equals("raised"))));
        failures.watch(filters.containsKey("uncaught") && !filters.containsKey("raised"));
    }

    private ExceptionRequest request(boolean raised) {
        ExceptionRequest request = vm.eventRequestManager().createExceptionRequest(null, raised, true);
        request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
        request.enable();
        return request;
    }

    // --- events

    private void listen() {
        try {
            while (true) {
                EventSet set = vm.eventQueue().remove();
                if (prepares(set)) {
                    set.resume();
                    continue;
                }
                if (invoking != null && !(set.iterator().next() instanceof VMDisconnectEvent)) {
                    set.resume();
                    continue;
                }
                synchronized (this) {
                    if (stopped && stops(set)) {
                        pending.add(set);
                    } else {
                        handle(set);
                    }
                }
            }
        } catch (VMDisconnectedException | InterruptedException gone) {
            end();
        }
    }

    /** Handle loaded classes; return true if there were no other events. */
    private boolean prepares(EventSet set) {
        boolean only = true;
        for (Event event : set) {
            if (event instanceof ClassPrepareEvent loaded) {
                breakpoints.loaded(loaded.referenceType());
                failures.loaded(loaded.referenceType(), loaded.request());
            } else {
                only = false;
            }
        }
        return only;
    }

    private static boolean stops(EventSet set) {
        return set.stream().anyMatch(each -> each instanceof LocatableEvent && !(each instanceof MethodExitEvent));
    }

    private void handle(EventSet set) {
        List<String> numbers = new ArrayList<>();
        List<Watchpoints.Written> written = new ArrayList<>();
        String reason = null;
        boolean stop = false;
        for (Event event : set) {
            if (event instanceof VMDisconnectEvent) {
                throw new VMDisconnectedException();
            }
            if (event instanceof MethodExitEvent exit) {
                onMethodExit(exit);
            } else if (event instanceof BreakpointEvent hit && !isConditionFalse(hit)) {
                numbers.add(String.valueOf(hit.request().getProperty("number")));
                select(hit.thread());
                stop = true;
            } else if (event instanceof StepEvent step && Watchpoints.writesOf(step.request()) != null) {
                written.addAll(Watchpoints.holding(step, this::isFalse));
                boolean steps = Boolean.TRUE.equals(step.request().getProperty("steps"));
                vm.eventRequestManager().deleteEventRequest(step.request());
                if (!written.isEmpty() || steps) {
                    reason = written.isEmpty() ? "step" : "watchpoint";
                    select(step.thread());
                    stop = true;
                }
            } else if (event instanceof StepEvent step) {
                reason = reason == null ? "step" : reason;
                select(step.thread());
                stop = true;
            } else if (event instanceof ExceptionEvent thrown && isRequested(thrown)) {
                reason = "exception";
                select(thrown.thread());
                exception = thrown.exception();
                caught = thrown.catchLocation() != null && !Failures.endsVirtualThread(thrown.catchLocation());
                failing = caught && thrown.exception().equals(failure);
                stop = true;
            } else if (event instanceof ModificationWatchpointEvent change) {
                watchpoints.onWrite(change);
            }
        }
        if (!stop) {
            set.resume();
            return;
        }
        stopped = true;
        Map<String, Object> report = JsonWriter.of("reason", reason, "numbers", numbers);
        if (!returns && written.isEmpty()) {
            listener.accept(addLocation(report));
            return;
        }
        // Formatting a collection calls its methods, which needs this thread for events.
        Thread reporter = new Thread(() -> {
            if (returns) {
                report.put("returned", new ValueFormatter(this, current).value("", returned, null, null));
            }
            if (!written.isEmpty()) {
                report.put("watches", Watchpoints.described(this, written));
            }
            listener.accept(addLocation(report));
        }, "returned");
        reporter.setDaemon(true);
        reporter.start();
    }

    private void select(ThreadReference thread) {
        current = thread;
        known.add(thread);
    }

    List<ThreadReference> threads() {
        return known.live(vm);
    }

    /** Whether the condition of a breakpoint is false. If that takes a call, the client decides. */
    private boolean isConditionFalse(BreakpointEvent hit) {
        return hit.request().getProperty("condition") instanceof String condition && isFalse(hit.thread(), condition);
    }

    private boolean isFalse(ThreadReference thread, String condition) {
        evaluatingCondition = true;
        try {
            EvaluationScope scope = new EvaluationScope(this, thread, 0);
            return !Arithmetic.truth(scope, ExpressionEvaluator.evaluate(scope, condition));
        } catch (AgentError | RuntimeException unknown) {
            // Not to be thrown: without this thread no event would ever be handled again.
            return false;
        } finally {
            evaluatingCondition = false;
        }
    }

    private void onMethodExit(MethodExitEvent exit) {
        try {
            if (exit.thread().frameCount() == returnDepth) {
                returned = exit.returnValue();
                returns = !exit.method().returnTypeName().equals("void");
                exit.request().disable();
            }
        } catch (IncompatibleThreadStateException | RuntimeException gone) {
            // There is nothing to show.
        }
    }

    private boolean isRequested(ExceptionEvent thrown) {
        // A framework that rethrows a failure must not report it twice.
        boolean fails = failures.fails(thrown) && !thrown.exception().equals(failure);
        failure = fails ? thrown.exception() : failure;
        boolean uncaught = thrown.catchLocation() == null || fails;
        if (thrown.exception().referenceType().name().equals("java.lang.ThreadDeath")) {
            return false;
        }
        // Libraries raise and catch all the time; only exceptions raised or seen by user code count.
        boolean inside = Breakpoints.isLibrary(thrown.location().declaringType().name())
            && !uncaught && Breakpoints.isLibrary(thrown.catchLocation().declaringType().name());
        if (inside) {
            return false;
        }
        for (Map.Entry<String, List<String>> filter : filters.entrySet()) {
            boolean fits = filter.getKey().equals("raised") || uncaught;
            if (fits && (filter.getValue().isEmpty() || isOne(thrown.exception().referenceType(), filter.getValue()))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOne(ReferenceType type, List<String> names) {
        for (ClassType each = (ClassType) type; each != null; each = each.superclass()) {
            String name = each.name();
            if (names.contains(name) || names.contains(ValueFormatter.simple(name))) {
                return true;
            }
        }
        return false;
    }

    /** Add the location of the current thread. */
    private Map<String, Object> addLocation(Map<String, Object> report) {
        if (current == null) {
            return report;
        }
        report.put("thread", current.uniqueID());
        try {
            if (current.frameCount() > 0) {
                var location = current.frame(0).location();
                report.put("function", ValueFormatter.function(location.method()));
                String path = sources.path(location);
                if (path != null) {
                    report.put("path", path);
                }
                if (location.lineNumber() > 0) {
                    report.put("line", location.lineNumber());
                }
            }
        } catch (IncompatibleThreadStateException | RuntimeException gone) {
            // The thread has no frames.
        }
        return report;
    }

    /** Report the end. A build that started the program may go on for long: commands must not wait for it. */
    private void end() {
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = true;
            stopped = true;
        }
        Integer code = null;
        if (process != null) {
            try {
                code = process.waitFor();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        Map<String, Object> report = JsonWriter.of("reason", null);
        report.put("exit", code);
        listener.accept(report);
    }

    synchronized boolean isStopped() {
        return stopped && !ended;
    }

    // --- invocation

    private static final String AFTER_PAUSE =
        "methods can be called after a breakpoint, a step or an exception only, not after a pause";

    Value invoke(ThreadReference thread, Object on, Method method, List<? extends Value> arguments) throws AgentError {
        return invoke(thread, on, method, arguments, false);
    }

    /** Call a method. *above*: exactly this method, not one that overrides it. */
    Value invoke(ThreadReference thread, Object on, Method method, List<? extends Value> arguments, boolean above)
        throws AgentError {
        int how = ObjectReference.INVOKE_SINGLE_THREADED | (above ? ObjectReference.INVOKE_NONVIRTUAL : 0);
        if (thread == null || evaluatingCondition) {
            throw new AgentError("no thread can run it");
        }
        if (thread.suspendCount() > 1) {
            // A breakpoint was hit while the program was paused: the call would resume it once, and never return.
            throw new AgentError(AFTER_PAUSE);
        }
        invoking = thread;
        try {
            prepareEscape(thread);
            if (on instanceof ObjectReference object) {
                return object.invokeMethod(thread, method, arguments, how);
            }
            if (on instanceof InterfaceType type) {
                return type.invokeMethod(thread, method, arguments, how);
            }
            ClassType type = (ClassType) on;
            return method.isConstructor() ? type.newInstance(thread, method, arguments, how)
                : type.invokeMethod(thread, method, arguments, how);
        } catch (InvocationException thrown) {
            ObjectReference error = thrown.exception();
            throw new AgentError(ValueFormatter.failure(error));
        } catch (IncompatibleThreadStateException held) {
            throw new AgentError(AFTER_PAUSE);
        } catch (InvalidTypeException | ClassNotLoadedException | IllegalArgumentException wrong) {
            throw new AgentError(method.name() + " cannot be called like that: " + Agent.message(wrong));
        } finally {
            invoking = null;
        }
    }

    /** The error thrown into code of the program that does not return. */
    private ObjectReference escape;

    private void prepareEscape(ThreadReference thread) throws InvalidTypeException, ClassNotLoadedException,
        IncompatibleThreadStateException, InvocationException {
        if (escape == null) {
            ClassType error = (ClassType) vm.classesByName("java.lang.Error").get(0);
            Method made = error.concreteMethodByName("<init>", "()V");
            escape = error.newInstance(thread, made, List.of(), ObjectReference.INVOKE_SINGLE_THREADED);
            escape.disableCollection();
        }
    }

    /** Abort the program's code that runs for us. */
    void interrupt() {
        ThreadReference thread = invoking;
        if (thread == null || escape == null) {
            return;
        }
        try {
            thread.suspend();
            thread.stop(escape);
            thread.resume();
        } catch (InvalidTypeException | RuntimeException gone) {
            // The code has returned by itself.
        }
    }
}
