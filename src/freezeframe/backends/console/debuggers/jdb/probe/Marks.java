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

/** Breakpoints: where their code is, or will be when its class is loaded. */
final class Marks {
    /** A breakpoint; its line is one that has code, as far as that is known. */
    private static final class Mark {
        final int number;
        final String file;
        final String function;
        /** Nothing is to be known of a pass for which this is false; null for none. */
        final String condition;
        int line;
        final List<BreakpointRequest> set = new ArrayList<>();

        Mark(int number, String file, int line, String function, String condition) {
            this.number = number;
            this.file = file;
            this.line = line;
            this.function = function;
            this.condition = condition;
        }
    }

    /** What nobody means when he names a method. */
    static final String[] LIBRARIES = {
        "java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*", "kotlin.*", "kotlinx.*", "scala.*", "groovy.*",
        "org.junit.*", "junit.*", "org.testng.*", "org.opentest4j.*", "org.hamcrest.*", "org.assertj.*", "org.mockito.*",
        "org.apache.maven.*", "org.codehaus.plexus.*", "org.gradle.*",
    };

    private final Map<Integer, Mark> marks = new LinkedHashMap<>();
    private final Sources sources;
    private ClassFiles files = new ClassFiles(List.of());
    private VirtualMachine vm;
    private boolean watchesLoads;
    private int last;

    Marks(Sources sources) {
        this.sources = sources;
    }

    synchronized void look(ClassFiles found) {
        files = found;
    }

    /** A program is there: what was wanted is set in the classes that it has. */
    synchronized void attach(VirtualMachine machine) {
        vm = machine;
        watchesLoads = false;
        marks.values().forEach(this::bindLoaded);
    }

    synchronized Map<String, Object> add(String file, int line, String function, String condition) throws Complaint {
        Mark mark = new Mark(last + 1, file, line, function, condition);
        boolean known = file != null ? settleLine(mark) : settleFunction(mark);
        last++;
        marks.put(mark.number, mark);
        if (vm != null) {
            bindLoaded(mark);
        }
        String path = file != null ? file : mark.line > 0 ? place(mark) : null;
        return Json.of("number", String.valueOf(mark.number), "path", path,
            "line", mark.line > 0 ? mark.line : null, "verified", known || !mark.set.isEmpty());
    }

    private String place(Mark mark) {
        for (BreakpointRequest request : mark.set) {
            return sources.path(request.location());
        }
        for (ClassFiles.Known each : files.all()) {
            if (owns(each.name(), mark.function) && each.methods().containsKey(simple(mark.function))) {
                return sources.find(each.path());
            }
        }
        return null;
    }

    synchronized void remove(int number) {
        Mark mark = marks.remove(number);
        if (mark != null && vm != null) {
            vm.eventRequestManager().deleteEventRequests(mark.set);
        }
    }

    /** A class was loaded. */
    synchronized void loaded(ReferenceType type) {
        marks.values().forEach(mark -> bind(mark, type));
    }

    // --- where the code is

    /** Move a mark to the next line with code; false where nothing is known of the file. */
    private boolean settleLine(Mark mark) throws Complaint {
        TreeSet<Integer> lines = new TreeSet<>();
        for (ClassFiles.Known each : files.all()) {
            if (sources.matches(mark.file, each.path())) {
                each.methods().values().forEach(lines::addAll);
            }
        }
        if (lines.isEmpty() && vm != null) {
            for (ReferenceType type : vm.allClasses()) {
                if (isFrom(type, mark.file)) {
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
        Integer line = lines.ceiling(mark.line);
        if (line == null) {
            throw new Complaint("no code stands at or after line " + mark.line + " of " + new File(mark.file).getName()
                + "; its last line with code is " + lines.last());
        }
        mark.line = line;
        return true;
    }

    private boolean settleFunction(Mark mark) {
        String name = simple(mark.function);
        for (ClassFiles.Known each : files.all()) {
            TreeSet<Integer> lines = each.methods().get(name);
            if (lines != null && !lines.isEmpty() && owns(each.name(), mark.function)) {
                mark.line = lines.first();
                return true;
            }
        }
        return false;
    }

    /** Return the method's own name: of `pkg.Class.method(int)`, `method`. */
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

    /** Whether a class is the one that a function is named with; any, where it is named without. */
    private static boolean owns(String type, String function) {
        String owner = owner(function).replace('$', '.');
        String name = type.replace('$', '.');
        return owner.isEmpty() || name.equals(owner) || name.endsWith("." + owner);
    }

    private boolean isFrom(ReferenceType type, String file) {
        try {
            return sources.matches(file, Sources.relative(type));
        } catch (AbsentInformationException none) {
            return false;
        }
    }

    // --- setting

    private void bindLoaded(Mark mark) {
        if (mark.file != null) {
            ClassPrepareRequest request = vm.eventRequestManager().createClassPrepareRequest();
            if (vm.canUseSourceNameFilters()) {
                request.addSourceNameFilter(new File(mark.file).getName());
            }
            enable(request);
        } else if (!watchesLoads) {
            watchesLoads = true;
            ClassPrepareRequest request = vm.eventRequestManager().createClassPrepareRequest();
            if (owner(mark.function).isEmpty() || !isLibrary(owner(mark.function) + ".")) {
                for (String library : LIBRARIES) {
                    request.addClassExclusionFilter(library);
                }
            }
            enable(request);
        }
        for (ReferenceType type : vm.allClasses()) {
            if (type.isPrepared()) {
                bind(mark, type);
            }
        }
    }

    private static void enable(ClassPrepareRequest request) {
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.enable();
    }

    /** Whether a class is nobody's own: the library's, or one that the machine makes for a lambda. */
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

    private void bind(Mark mark, ReferenceType type) {
        try {
            for (Location location : mark.file != null ? onLine(mark, type) : ofMethod(mark, type)) {
                boolean there = mark.set.stream().anyMatch(each -> each.location().equals(location));
                if (!there) {
                    BreakpointRequest request = vm.eventRequestManager().createBreakpointRequest(location);
                    request.setSuspendPolicy(EventRequest.SUSPEND_ALL);
                    request.putProperty("number", mark.number);
                    request.putProperty("condition", mark.condition);
                    request.enable();
                    mark.set.add(request);
                }
            }
        } catch (AbsentInformationException none) {
            // Compiled without line numbers.
        }
    }

    /** Return where each method's code of a line begins. */
    private List<Location> onLine(Mark mark, ReferenceType type) throws AbsentInformationException {
        if (!isFrom(type, mark.file)) {
            return List.of();
        }
        Map<Method, Location> first = new LinkedHashMap<>();
        for (Location each : type.locationsOfLine(mark.line)) {
            first.merge(each.method(), each, (a, b) -> a.codeIndex() <= b.codeIndex() ? a : b);
        }
        return new ArrayList<>(first.values());
    }

    private List<Location> ofMethod(Mark mark, ReferenceType type) {
        boolean named = !owner(mark.function).isEmpty();
        if (!owns(type.name(), mark.function) || (!named && isLibrary(type.name()))) {
            return List.of();
        }
        List<Location> found = new ArrayList<>();
        String name = simple(mark.function);
        int open = mark.function.indexOf('(');
        String wanted = open < 0 ? null : mark.function.substring(open + 1).replace(")", "").replace(" ", "");
        for (Method method : type.methods()) {
            boolean fits = wanted == null || String.join(",", shortened(method.argumentTypeNames())).equals(wanted)
                || String.join(",", method.argumentTypeNames()).equals(wanted);
            if (method.name().equals(name) && fits && method.location() != null && !method.isBridge()) {
                found.add(method.location());
                if (mark.line <= 0) {
                    mark.line = method.location().lineNumber();
                }
            }
        }
        return found;
    }

    private static List<String> shortened(List<String> types) {
        return types.stream().map(each -> each.substring(each.lastIndexOf('.') + 1)).toList();
    }
}
