import com.sun.jdi.ClassType;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.Location;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.event.ExceptionEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.ExceptionRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Detects failing tests, and virtual threads that an exception ends: their own code catches it. An exception that a test framework catches is uncaught for the test: all assertions are
 * checked and, once a framework is loaded, everything that is thrown, up to a limit: each costs about a
 * millisecond, and a program may throw and catch all the time.
 */
final class Failures {
    private static final String ASSERTION = "java.lang.AssertionError";
    private static final List<String> FRAMEWORKS = List.of("org.junit.", "junit.framework.", "org.testng.");
    private static final List<String> REFLECTION = List.of("java.lang.reflect.", "java.lang.invoke.", "jdk.internal.reflect.");
    /** Exceptions that end a test without failing it. */
    private static final List<String> SKIPS = List.of("org.opentest4j.IncompleteExecutionException",
        "org.junit.internal.AssumptionViolatedException", "org.testng.SkipException");
    /** Exceptions that these throw internally do not belong to a test. */
    private static final List<String> UNSEEN = List.of("org.junit.*", "junit.*", "org.testng.*", "org.gradle.*", "org.apache.maven.*",
        "org.codehaus.plexus.*", "jdk.internal.loader.*", "jdk.internal.reflect.*", "java.net.URLClassLoader*", "java.lang.ClassLoader*");
    private static final List<String> ERRORS = List.of("java.lang.Exception", "java.lang.LinkageError", "java.lang.VirtualMachineError");

    private static final String VIRTUAL = "java.lang.VirtualThread";
    /** Loaded before the first virtual thread starts. */
    private static final String VIRTUAL_STARTS = "java.lang.ThreadBuilders";

    private static final int MOST_PASSED = 2000;

    private final VirtualMachine vm;
    private final List<EventRequest> requests = new ArrayList<>();
    private final List<EventRequest> costly = new ArrayList<>();
    private boolean watches;
    private int passed;

    Failures(VirtualMachine vm) {
        this.vm = vm;
    }

    /** Start or stop the detection. */
    synchronized void watch(boolean enabled) {
        vm.eventRequestManager().deleteEventRequests(requests);
        requests.clear();
        costly.clear();
        watches = false;
        if (!enabled) {
            return;
        }
        vm.classesByName(ASSERTION).forEach(type -> request(type, List.of()));
        await(ASSERTION);
        FRAMEWORKS.forEach(each -> await(each + "*"));
        await(VIRTUAL_STARTS);
        for (ReferenceType type : vm.allClasses()) {
            if (isOne(FRAMEWORKS, type.name()) || type.name().equals(VIRTUAL_STARTS)) {
                watchAll();
                break;
            }
        }
    }

    /** Handle a class that was loaded. */
    synchronized void loaded(ReferenceType type, EventRequest by) {
        if (!requests.contains(by)) {
            return;
        }
        by.disable();
        if (type.name().equals(ASSERTION)) {
            request(type, List.of());
        } else {
            watchAll();
        }
    }

    private void await(String name) {
        ClassPrepareRequest request = vm.eventRequestManager().createClassPrepareRequest();
        request.addClassFilter(name);
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.enable();
        requests.add(request);
    }

    private ExceptionRequest request(ReferenceType type, List<String> unseen) {
        ExceptionRequest request = vm.eventRequestManager().createExceptionRequest(type, true, false);
        unseen.forEach(request::addClassExclusionFilter);
        request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
        request.enable();
        requests.add(request);
        return request;
    }

    private void watchAll() {
        if (!watches) {
            watches = true;
            ERRORS.forEach(each -> vm.classesByName(each).forEach(type -> costly.add(request(type, UNSEEN))));
        }
    }

    /** Whether an exception fails a test, or ends a virtual thread. */
    synchronized boolean fails(ExceptionEvent thrown) {
        boolean found = isOne(thrown);
        passed += found ? 0 : 1;
        if (passed == MOST_PASSED) {
            costly.forEach(EventRequest::disable);
        }
        return found;
    }

    /** Whether an exception fails a test: its framework, or the caller of the framework, catches it. */
    private static boolean isOne(ExceptionEvent thrown) {
        Location catcher = thrown.catchLocation();
        if (catcher == null || expects(catcher.method())) {
            return false;
        }
        if (endsVirtualThread(catcher)) {
            return true;
        }
        String name = catcher.declaringType().name();
        if (is(thrown.exception().referenceType(), List.of(ASSERTION))) {
            return Breakpoints.isLibrary(name);
        }
        try {
            return (isOne(FRAMEWORKS, name) || isOne(REFLECTION, name)) && !is(thrown.exception().referenceType(), SKIPS)
                && leavesTest(thrown.thread(), catcher.method());
        } catch (IncompatibleThreadStateException | RuntimeException gone) {
            return false;
        }
    }

    /** Whether an exception that is caught there ends a virtual thread. */
    static boolean endsVirtualThread(Location catcher) {
        return catcher.declaringType().name().equals(VIRTUAL);
    }

    /** Whether user code that a framework called lies between the throwing and the catching code. */
    private static boolean leavesTest(ThreadReference thread, Method catcher) throws IncompatibleThreadStateException {
        List<StackFrame> frames = thread.frames();
        ReferenceType own = null;
        int at = 0;
        for (; at < frames.size() && !frames.get(at).location().method().equals(catcher); at++) {
            ReferenceType type = frames.get(at).location().declaringType();
            own = Breakpoints.isLibrary(type.name()) ? own : type;
        }
        while (at < frames.size() && isOne(REFLECTION, frames.get(at).location().declaringType().name())) {
            at++;
        }
        if (own == null || at == frames.size() || !isOne(FRAMEWORKS, frames.get(at).location().declaringType().name())) {
            return false;
        }
        for (StackFrame frame : frames.subList(at, frames.size())) {
            if (expects(frame.location().method())) {
                return false;
            }
        }
        // Only annotations tell which tests of TestNG expect an exception.
        return !frames.get(at).location().declaringType().name().startsWith("org.testng.") || !names(own, "expectedExceptions");
    }

    /** Whether a framework's method expects an exception, or turns it into a failure. */
    private static boolean expects(Method method) {
        String type = method.declaringType().name();
        return type.contains("AssertThrows") || type.contains("AssertDoesNotThrow") || type.contains("ExpectException")
            || type.contains("ExpectedException") || method.name().startsWith("assertThrows") || method.name().startsWith("expectThrows");
    }

    private static boolean names(ReferenceType type, String word) {
        return type.virtualMachine().canGetConstantPool()
            && new String(type.constantPool(), StandardCharsets.ISO_8859_1).contains(word);
    }

    private static boolean isOne(List<String> packages, String name) {
        return packages.stream().anyMatch(name::startsWith);
    }

    private static boolean is(ReferenceType type, List<String> names) {
        for (ClassType each = (ClassType) type; each != null; each = each.superclass()) {
            if (names.contains(each.name())) {
                return true;
            }
        }
        return false;
    }
}
