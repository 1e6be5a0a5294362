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

/** One program: whether it stands or runs, and everything that changes it. */
final class Stage {
    final VirtualMachine vm;
    private final Process process;
    private final Marks marks;
    private final Sources sources;
    private final Consumer<Map<String, Object>> tell;

    private boolean standing = true;
    private boolean left;
    /** Stops that came while it stood already: they are told when it is let go. */
    private final Deque<EventSet> pending = new ArrayDeque<>();
    /** The program's own code runs for us; whatever it meets is passed. */
    volatile ThreadReference invoking;
    /** A condition is evaluated where events are heard: nothing may run that makes any. */
    private boolean judging;
    ThreadReference current;
    ObjectReference exception;
    boolean caught;
    private Value returned;
    private boolean returns;
    private int returnDepth;
    private List<ExceptionRequest> catches = new ArrayList<>();
    private ObjectReference failure;
    private static final String ASSERTION = "java.lang.AssertionError";
    private Map<String, List<String>> filters = Map.of();

    Stage(VirtualMachine vm, Process process, Marks marks, Sources sources, Consumer<Map<String, Object>> tell) {
        this.vm = vm;
        this.process = process;
        this.marks = marks;
        this.sources = sources;
        this.tell = tell;
        marks.attach(vm);
        Thread events = new Thread(this::listen, "events");
        events.setDaemon(true);
        events.start();
    }

    // --- running

    synchronized void resume() throws Complaint {
        go(null);
    }

    synchronized void step(ThreadReference thread, int depth) throws Complaint {
        go(() -> {
            StepRequest step = vm.eventRequestManager().createStepRequest(thread, StepRequest.STEP_LINE, depth);
            for (String library : Marks.LIBRARIES) {
                step.addClassExclusionFilter(library);
            }
            step.addCountFilter(1);
            step.setSuspendPolicy(EventRequest.SUSPEND_ALL);
            step.enable();
            if (depth == StepRequest.STEP_OUT) {
                await(thread);
            }
        });
    }

    private interface Preparation {
        void run() throws IncompatibleThreadStateException;
    }

    private void go(Preparation prepare) throws Complaint {
        if (!standing) {
            throw new Complaint("the program runs already");
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
            throw new Complaint("that thread cannot be stepped: " + Probe.words(gone));
        }
        standing = false;
        vm.resume();
        EventSet next = pending.poll();
        if (next != null) {
            handle(next);
        }
    }

    /** Take note of what the innermost method of a thread will return. */
    private void await(ThreadReference thread) throws IncompatibleThreadStateException {
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

    /** Hold it; return where it stands. */
    synchronized Map<String, Object> pause() {
        if (!standing) {
            vm.suspend();
            standing = true;
        }
        current = busiest();
        return place(Json.of("reason", "pause"));
    }

    /** Return where the threads of a running program are; it stands for that moment, and goes on. */
    synchronized Object snapshot(Threads threads) throws Complaint {
        if (standing) {
            throw new Complaint("the program stands");
        }
        vm.suspend();
        try {
            return threads.snapshot();
        } finally {
            vm.resume();
        }
    }

    /** Return the thread that a user means who asks what the program does. */
    private ThreadReference busiest() {
        ThreadReference best = current;
        int rank = -1;
        for (ThreadReference thread : vm.allThreads()) {
            int mine = 0;
            try {
                for (StackFrame frame : thread.frames()) {
                    mine = Math.max(mine, Marks.isLibrary(frame.location().declaringType().name()) ? 1 : 2);
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
        left = true;
        vm.dispose();
    }

    synchronized void stopAt(Map<String, List<String>> wanted) {
        filters = wanted;
        vm.eventRequestManager().deleteEventRequests(catches);
        catches = new ArrayList<>();
        filters.forEach((name, types) -> catches.add(request(name.equals("raised"))));
        if (filters.containsKey("uncaught") && !filters.containsKey("raised")) {
            watchAssertions();
        }
    }

    /** A test framework catches every failing assertion: to the test nothing else caught it. */
    private void watchAssertions() {
        List<ReferenceType> known = vm.classesByName(ASSERTION);
        if (known.isEmpty()) {
            ClassPrepareRequest request = vm.eventRequestManager().createClassPrepareRequest();
            request.addClassFilter(ASSERTION);
            request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
            request.enable();
        }
        known.forEach(this::watchAssertions);
    }

    private void watchAssertions(ReferenceType type) {
        ExceptionRequest request = vm.eventRequestManager().createExceptionRequest(type, true, false);
        request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
        request.enable();
        catches.add(request);
    }

    /** Whether an assertion failed, and what catches it is a test framework or what called it. */
    private static boolean isFailedTest(ExceptionEvent thrown) {
        String catcher = thrown.catchLocation() == null ? "" : thrown.catchLocation().declaringType().name();
        return isOne(thrown.exception().referenceType(), List.of(ASSERTION))
            && Marks.isLibrary(catcher) && !catcher.contains("AssertThrows") && !catcher.contains("AssertDoesNotThrow");
    }

    private ExceptionRequest request(boolean raised) {
        ExceptionRequest request = vm.eventRequestManager().createExceptionRequest(null, raised, true);
        request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
        request.enable();
        return request;
    }

    // --- what happens

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
                    if (standing && stops(set)) {
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

    /** Take in classes that were loaded; true where that is all there was. */
    private boolean prepares(EventSet set) {
        boolean only = true;
        for (Event event : set) {
            if (event instanceof ClassPrepareEvent loaded) {
                marks.loaded(loaded.referenceType());
                if (loaded.referenceType().name().equals(ASSERTION)
                        && filters.containsKey("uncaught") && !filters.containsKey("raised")) {
                    watchAssertions(loaded.referenceType());
                }
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
        String reason = null;
        String description = null;
        boolean stop = false;
        for (Event event : set) {
            if (event instanceof VMDisconnectEvent) {
                end();
                return;
            }
            if (event instanceof MethodExitEvent exit) {
                left(exit);
            } else if (event instanceof BreakpointEvent hit && !isPassed(hit)) {
                numbers.add(String.valueOf(hit.request().getProperty("number")));
                current = hit.thread();
                stop = true;
            } else if (event instanceof StepEvent step) {
                reason = reason == null ? "step" : reason;
                current = step.thread();
                stop = true;
            } else if (event instanceof ExceptionEvent thrown && wants(thrown)) {
                reason = "exception";
                current = thrown.thread();
                exception = thrown.exception();
                caught = thrown.catchLocation() != null;
                stop = true;
            } else if (event instanceof ModificationWatchpointEvent change) {
                reason = "watchpoint";
                current = change.thread();
                description = change.field().name();
                stop = true;
            }
        }
        if (!stop) {
            set.resume();
            return;
        }
        standing = true;
        Map<String, Object> told = Json.of("reason", reason, "numbers", numbers, "description", description);
        if (!returns) {
            tell.accept(place(told));
            return;
        }
        // To show a collection is to ask it, and its answer needs this thread for its events.
        Thread telling = new Thread(() -> {
            told.put("returned", new Show(this, current).value("", returned, null, null));
            tell.accept(place(told));
        }, "returned");
        telling.setDaemon(true);
        telling.start();
    }

    /** Whether the condition of a breakpoint is false. Where that takes a call, the user's side decides. */
    private boolean isPassed(BreakpointEvent hit) {
        if (!(hit.request().getProperty("condition") instanceof String condition)) {
            return false;
        }
        judging = true;
        try {
            World world = new World(this, hit.thread(), 0);
            return !Arithmetic.truth(world, Eval.evaluate(world, condition));
        } catch (Complaint | VMDisconnectedException unknown) {
            return false;
        } finally {
            judging = false;
        }
    }

    private void left(MethodExitEvent exit) {
        try {
            if (exit.thread().frameCount() == returnDepth) {
                returned = exit.returnValue();
                returns = !exit.method().returnTypeName().equals("void");
                exit.request().disable();
            }
        } catch (IncompatibleThreadStateException | RuntimeException gone) {
            // Then there is nothing to show.
        }
    }

    private boolean wants(ExceptionEvent thrown) {
        // A framework that passes a failure on throws it again.
        boolean fails = isFailedTest(thrown) && !thrown.exception().equals(failure);
        failure = fails ? thrown.exception() : failure;
        boolean uncaught = thrown.catchLocation() == null || fails;
        if (thrown.exception().referenceType().name().equals("java.lang.ThreadDeath")) {
            return false;
        }
        // The library raises and catches all day long; what counts is what user code raises or sees.
        boolean inside = Marks.isLibrary(thrown.location().declaringType().name())
            && !uncaught && Marks.isLibrary(thrown.catchLocation().declaringType().name());
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
            if (names.contains(name) || names.contains(Show.simple(name))) {
                return true;
            }
        }
        return false;
    }

    /** Add where the current thread stands. */
    private Map<String, Object> place(Map<String, Object> told) {
        if (current == null) {
            return told;
        }
        told.put("thread", current.uniqueID());
        try {
            if (current.frameCount() > 0) {
                var location = current.frame(0).location();
                told.put("function", Show.function(location.method()));
                String path = sources.path(location);
                if (path != null) {
                    told.put("path", path);
                }
                if (location.lineNumber() > 0) {
                    told.put("line", location.lineNumber());
                }
            }
        } catch (IncompatibleThreadStateException | RuntimeException gone) {
            // It has no frames.
        }
        return told;
    }

    private synchronized void end() {
        if (left) {
            return;
        }
        left = true;
        standing = true;
        Integer code = null;
        if (process != null) {
            try {
                code = process.waitFor();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        Map<String, Object> told = Json.of("reason", null);
        told.put("exit", code);
        tell.accept(told);
    }

    synchronized boolean isStanding() {
        return standing && !left;
    }

    // --- running the program's own code

    Value invoke(ThreadReference thread, Object on, Method method, List<? extends Value> arguments) throws Complaint {
        return invoke(thread, on, method, arguments, false);
    }

    /** Call a method. *above*: the one that is named, not one that overrides it. */
    Value invoke(ThreadReference thread, Object on, Method method, List<? extends Value> arguments, boolean above)
        throws Complaint {
        int how = ObjectReference.INVOKE_SINGLE_THREADED | (above ? ObjectReference.INVOKE_NONVIRTUAL : 0);
        if (thread == null || judging) {
            throw new Complaint("no thread can run it");
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
            throw new Complaint(Show.failure(error));
        } catch (IncompatibleThreadStateException held) {
            throw new Complaint("methods can be called after a breakpoint, a step or an exception only, not after a pause");
        } catch (InvalidTypeException | ClassNotLoadedException | IllegalArgumentException wrong) {
            throw new Complaint(method.name() + " cannot be called like that: " + Probe.words(wrong));
        } finally {
            invoking = null;
        }
    }

    /** What is thrown into code of the program's that does not come back. */
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

    /** End the program's code that runs for us. */
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
            // It has come back by itself.
        }
    }
}
