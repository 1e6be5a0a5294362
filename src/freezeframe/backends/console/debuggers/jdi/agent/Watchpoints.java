import com.sun.jdi.Field;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.event.ModificationWatchpointEvent;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.ModificationWatchpointRequest;
import com.sun.jdi.request.StepRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Watchpoints on fields. JDI reports a write before it happens: the thread executes one more instruction. */
final class Watchpoints {
    /** A write that is about to happen, and where. */
    record Written(int number, String condition, Value old, Value now, String path, int line) {}

    private static final String WRITES = "writes";
    private static final Map<String, Object> NO_FIELD = JsonWriter.of("other", true);
    private final VirtualMachine vm;
    private final SourcePath sources;
    private final Map<Integer, ModificationWatchpointRequest> requests = new LinkedHashMap<>();
    private int last;

    Watchpoints(VirtualMachine vm, SourcePath sources) {
        this.vm = vm;
        this.sources = sources;
    }

    /** Watch a field: `name`, `object.name` or `Class.name`, as a frame sees it. Anything else is refused. */
    synchronized Map<String, Object> add(EvaluationScope scope, String expression, String condition) throws AgentError {
        if (!vm.canWatchFieldModification()) {
            throw new AgentError("this JVM has no watchpoints on fields");
        }
        int dot = expression.lastIndexOf('.');
        String name = expression.substring(dot + 1).strip();
        boolean isName = name.matches("[\\p{L}_$][\\p{L}\\p{N}_$]*");
        if (!isName || (dot < 0 && scope.isLocal(name))) {
            return NO_FIELD;
        }
        Object on = dot >= 0 ? owner(scope, expression.substring(0, dot).strip()) : around(scope, name);
        Field field = on instanceof ObjectReference object ? object.referenceType().fieldByName(name)
            : on instanceof ReferenceType type ? type.fieldByName(name) : null;
        if (field == null) {
            return NO_FIELD;
        }
        ModificationWatchpointRequest request = vm.eventRequestManager().createModificationWatchpointRequest(field);
        if (on instanceof ObjectReference object && !field.isStatic() && vm.canUseInstanceFilters()) {
            request.addInstanceFilter(object);
        }
        request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
        last++;
        request.putProperty("number", last);
        request.putProperty("condition", condition);
        request.enable();
        requests.put(last, request);
        return JsonWriter.of("number", String.valueOf(last));
    }

    private static Object owner(EvaluationScope scope, String text) throws AgentError {
        try {
            return scope.mirror(ExpressionEvaluator.evaluate(scope, text));
        } catch (AgentError | RuntimeException noValue) {
            return scope.type(text);
        }
    }

    /** Return the object or class around a frame's code that has a field of that name. */
    private static Object around(EvaluationScope scope, String name) throws AgentError {
        ObjectReference self = scope.frame().thisObject();
        boolean isOwn = self != null && self.referenceType().fieldByName(name) != null;
        return isOwn ? self : scope.frame().location().declaringType();
    }

    synchronized void remove(int number) {
        ModificationWatchpointRequest request = requests.remove(number);
        if (request != null) {
            vm.eventRequestManager().deleteEventRequest(request);
        }
    }

    /** Let the write of an event happen, if it changes the field, and stop the thread after it. */
    void onWrite(ModificationWatchpointEvent change) {
        if (Objects.equals(change.valueCurrent(), change.valueToBe())) {
            return;
        }
        EventRequestManager manager = vm.eventRequestManager();
        ThreadReference thread = change.thread();
        List<Written> writes = new ArrayList<>();
        boolean steps = false;
        for (StepRequest each : List.copyOf(manager.stepRequests())) {
            if (each.thread().equals(thread)) {
                // JDI has one step per thread.
                List<Written> before = writesOf(each);
                steps |= before == null || Boolean.TRUE.equals(each.getProperty("steps"));
                writes.addAll(before == null ? List.of() : before);
                manager.deleteEventRequest(each);
            }
        }
        String condition = (String) change.request().getProperty("condition");
        writes.add(new Written((Integer) change.request().getProperty("number"), condition, change.valueCurrent(),
            change.valueToBe(), sources.path(change.location()), change.location().lineNumber()));
        StepRequest step = manager.createStepRequest(thread, StepRequest.STEP_MIN, StepRequest.STEP_INTO);
        step.addCountFilter(1);
        step.setSuspendPolicy(EventRequest.SUSPEND_ALL);
        step.putProperty(WRITES, writes);
        step.putProperty("steps", steps);
        step.enable();
    }

    /** Return the writes that a step of ours has let happen; null for a step of the user's. */
    @SuppressWarnings("unchecked")
    static List<Written> writesOf(EventRequest step) {
        return (List<Written>) step.getProperty(WRITES);
    }

    /** Return the writes whose condition holds now; a condition that cannot be evaluated holds. */
    static List<Written> holding(StepEvent event, java.util.function.BiPredicate<ThreadReference, String> isFalse) {
        List<Written> found = new ArrayList<>(writesOf(event.request()));
        found.removeIf(each -> each.condition() != null && isFalse.test(event.thread(), each.condition()));
        return found;
    }

    /** Return the writes as they are reported. */
    static List<Object> described(TargetVm target, List<Written> writes) {
        ValueFormatter show = new ValueFormatter(target, target.current);
        List<Object> found = new ArrayList<>();
        for (Written each : writes) {
            found.add(JsonWriter.of("number", each.number(), "old", show.value("", each.old(), null, null).get("text"),
                "new", show.value("", each.now(), null, null).get("text"), "path", each.path(), "line", each.line()));
        }
        return found;
    }
}
