import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.Location;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.request.BreakpointRequest;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Breakpoints, bound to code now or when its class is loaded. */
final class Breakpoints {
    /** A breakpoint; its line is one that has code, as far as known. */
    private static final class Breakpoint {
        final int number;
        final String file;
        final String function;
        /** A hit for which this is false is not reported; null for no condition. */
        final String condition;
        int line;
        final List<BreakpointRequest> set = new ArrayList<>();

        Breakpoint(int number, String file, int line, String function, String condition) {
            this.number = number;
            this.file = file;
            this.line = line;
            this.function = function;
            this.condition = condition;
        }
    }

    /** Classes that a method name without a class does not mean. */
    static final String[] LIBRARIES = {
        "java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*", "kotlin.*", "kotlinx.*", "scala.*", "groovy.*",
        "org.junit.*", "junit.*", "org.testng.*", "org.opentest4j.*", "org.hamcrest.*", "org.assertj.*", "org.mockito.*",
        "org.apache.maven.*", "org.codehaus.plexus.*", "org.gradle.*",
    };

    private final Map<Integer, Breakpoint> breakpoints = new LinkedHashMap<>();
    private final SourcePath sources;
    private ClassFiles files = new ClassFiles(List.of());
    private VirtualMachine vm;
    private boolean watchesLoads;
    private int last;

    Breakpoints(SourcePath sources) {
        this.sources = sources;
    }

    synchronized void look(ClassFiles found) {
        files = found;
    }

    /** Set the breakpoints in the classes that a program has loaded. */
    synchronized void attach(VirtualMachine target) {
        vm = target;
        watchesLoads = false;
        breakpoints.values().forEach(this::bindLoaded);
    }

    synchronized Map<String, Object> add(String file, int line, String function, String condition) throws AgentError {
        Breakpoint breakpoint = new Breakpoint(last + 1, file, line, function, condition);
        boolean known = file != null ? settleLine(breakpoint) : settleFunction(breakpoint);
        last++;
        breakpoints.put(breakpoint.number, breakpoint);
        if (vm != null) {
            bindLoaded(breakpoint);
        }
        String path = file != null ? file : breakpoint.line > 0 ? sourcePath(breakpoint) : null;
        return JsonWriter.of("number", String.valueOf(breakpoint.number), "path", path,
            "line", breakpoint.line > 0 ? breakpoint.line : null, "verified", known || !breakpoint.set.isEmpty());
    }

    private String sourcePath(Breakpoint breakpoint) {
        for (BreakpointRequest request : breakpoint.set) {
            return sources.path(request.location());
        }
        for (ClassFiles.Known each : files.all()) {
            if (owns(each.name(), breakpoint.function) && each.methods().containsKey(simple(breakpoint.function))) {
                return sources.find(each.path());
            }
        }
        return null;
    }

    synchronized void remove(int number) {
        Breakpoint breakpoint = breakpoints.remove(number);
        if (breakpoint != null && vm != null) {
            vm.eventRequestManager().deleteEventRequests(breakpoint.set);
        }
    }

    /** Bind breakpoints in a class that was loaded. */
    synchronized void loaded(ReferenceType type) {
        breakpoints.values().forEach(breakpoint -> bind(breakpoint, type));
    }

    // --- locations

    /** Move a breakpoint to the next line with code; return false if nothing is known of the file. */
    private boolean settleLine(Breakpoint breakpoint) throws AgentError {
        TreeSet<Integer> lines = new TreeSet<>();
        for (ClassFiles.Known each : files.all()) {
            if (sources.matches(breakpoint.file, each.path())) {
                each.methods().values().forEach(lines::addAll);
            }
        }
        if (lines.isEmpty() && vm != null) {
            for (ReferenceType type : vm.allClasses()) {
                if (isFrom(type, breakpoint.file)) {
                    try {
                        type.allLineLocations().forEach(each -> lines.add(each.lineNumber()));
                    } catch (AbsentInformationException none) {
                        // Compiled without line numbers.
                    }
                }
            }
        }
        if (lines.isEmpty()) {
            return false;
        }
        Integer line = lines.ceiling(breakpoint.line);
        if (line == null) {
            throw new AgentError("there is no code at or after line " + breakpoint.line + " of " + new File(breakpoint.file).getName()
                + "; its last line with code is " + lines.last());
        }
        breakpoint.line = line;
        return true;
    }

    private boolean settleFunction(Breakpoint breakpoint) {
        String name = simple(breakpoint.function);
        for (ClassFiles.Known each : files.all()) {
            TreeSet<Integer> lines = each.methods().get(name);
            if (lines != null && !lines.isEmpty() && owns(each.name(), breakpoint.function)) {
                breakpoint.line = lines.first();
                return true;
            }
        }
        return false;
    }

    /** Return the simple name of a method: of `pkg.Class.method(int)`, `method`. */
    private static String simple(String function) {
        String name = function.replaceAll("\\(.*", "").replace('#', '.').replace("::", ".");
        name = name.substring(name.lastIndexOf('.') + 1);
        String owner = owner(function);
        boolean constructs = name.equals("new") || (!owner.isEmpty() && owner.endsWith("." + name)) || owner.equals(name);
        return constructs ? "<init>" : name;
    }

    private static String owner(String function) {
        String name = function.replaceAll("\\(.*", "").replace('#', '.').replace("::", ".");
        return name.contains(".") ? name.substring(0, name.lastIndexOf('.')) : "";
    }

    /** Whether a class is the one that qualifies a function's name; true for an unqualified name. */
    private static boolean owns(String type, String function) {
        String owner = owner(function).replace('$', '.');
        String name = type.replace('$', '.');
        return owner.isEmpty() || name.equals(owner) || name.endsWith("." + owner);
    }

    private boolean isFrom(ReferenceType type, String file) {
        try {
            return sources.matches(file, SourcePath.relative(type));
        } catch (AbsentInformationException none) {
            return false;
        }
    }

    // --- binding

    private void bindLoaded(Breakpoint breakpoint) {
        if (breakpoint.file != null) {
            ClassPrepareRequest request = vm.eventRequestManager().createClassPrepareRequest();
            if (vm.canUseSourceNameFilters()) {
                request.addSourceNameFilter(new File(breakpoint.file).getName());
            }
            enable(request);
        } else if (!watchesLoads) {
            watchesLoads = true;
            ClassPrepareRequest request = vm.eventRequestManager().createClassPrepareRequest();
            if (owner(breakpoint.function).isEmpty() || !isLibrary(owner(breakpoint.function) + ".")) {
                for (String library : LIBRARIES) {
                    request.addClassExclusionFilter(library);
                }
            }
            enable(request);
        }
        for (ReferenceType type : vm.allClasses()) {
            if (type.isPrepared()) {
                bind(breakpoint, type);
            }
        }
    }

    private static void enable(ClassPrepareRequest request) {
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.enable();
    }

    /** Whether a class is not the user's: a library's, or one that the JVM generates for a lambda. */
    static boolean isLibrary(String name) {
        if (name.contains("$$Lambda")) {
            return true;
        }
        for (String library : LIBRARIES) {
            if (name.startsWith(library.substring(0, library.length() - 1))) {
                return true;
            }
        }
        return false;
    }

    private void bind(Breakpoint breakpoint, ReferenceType type) {
        try {
            for (Location location : breakpoint.file != null ? onLine(breakpoint, type) : ofMethod(breakpoint, type)) {
                boolean there = breakpoint.set.stream().anyMatch(each -> each.location().equals(location));
                if (!there) {
                    BreakpointRequest request = vm.eventRequestManager().createBreakpointRequest(location);
                    request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
                    request.putProperty("number", breakpoint.number);
                    request.putProperty("condition", breakpoint.condition);
                    request.enable();
                    breakpoint.set.add(request);
                }
            }
        } catch (AbsentInformationException none) {
            // Compiled without line numbers.
        }
    }

    /** Return the first location of a line in each method. */
    private List<Location> onLine(Breakpoint breakpoint, ReferenceType type) throws AbsentInformationException {
        if (!isFrom(type, breakpoint.file)) {
            return List.of();
        }
        Map<Method, Location> first = new LinkedHashMap<>();
        for (Location each : type.locationsOfLine(breakpoint.line)) {
            first.merge(each.method(), each, (a, b) -> a.codeIndex() <= b.codeIndex() ? a : b);
        }
        return new ArrayList<>(first.values());
    }

    private List<Location> ofMethod(Breakpoint breakpoint, ReferenceType type) {
        boolean named = !owner(breakpoint.function).isEmpty();
        if (!owns(type.name(), breakpoint.function) || (!named && isLibrary(type.name()))) {
            return List.of();
        }
        List<Location> found = new ArrayList<>();
        String name = simple(breakpoint.function);
        int open = breakpoint.function.indexOf('(');
        String parameters = open < 0 ? null : breakpoint.function.substring(open + 1).replace(")", "").replace(" ", "");
        for (Method method : type.methods()) {
            boolean fits = parameters == null || String.join(",", shortened(method.argumentTypeNames())).equals(parameters)
                || String.join(",", method.argumentTypeNames()).equals(parameters);
            if (method.name().equals(name) && fits && method.location() != null && !method.isBridge()) {
                found.add(method.location());
                if (breakpoint.line <= 0) {
                    breakpoint.line = method.location().lineNumber();
                }
            }
        }
        return found;
    }

    private static List<String> shortened(List<String> types) {
        return types.stream().map(each -> each.substring(each.lastIndexOf('.') + 1)).toList();
    }
}
