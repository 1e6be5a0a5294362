// Records every call of its own hooks, and which of its classes was loaded.
import java.util.*;
import java.util.function.*;
class Hooks {
    static final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    static boolean quiet = true;
    static void note(String what) { if (!quiet) calls.add(what); }
    static class Lazy { static { note("Lazy loaded"); } static int value = 3; static int twice(int x) { return 2 * x; } }
    static class Unused { static { note("Unused loaded"); } int a = 1; }
    static class Hooked implements Iterable<Integer>, Comparable<Hooked>, CharSequence {
        int plain = 1;
        Hooked self = this;
        @Override public String toString() { note("toString"); return "text"; }
        @Override public int hashCode() { note("hashCode"); return 3; }
        @Override public boolean equals(Object o) { note("equals"); return this == o; }
        @Override public Iterator<Integer> iterator() { note("iterator"); return new ArrayList<Integer>().iterator(); }
        @Override public int compareTo(Hooked o) { note("compareTo"); return 0; }
        public int length() { note("length"); return 1; }
        public char charAt(int i) { note("charAt"); return 'c'; }
        public CharSequence subSequence(int a, int b) { note("subSequence"); return this; }
    }
    static class MyList extends ArrayList<Object> {
        @Override public int size() { note("list.size"); return super.size(); }
        @Override public Object get(int i) { note("list.get"); return super.get(i); }
        @Override public Object[] toArray() { note("list.toArray"); return super.toArray(); }
        @Override public Iterator<Object> iterator() { note("list.iterator"); return super.iterator(); }
        @Override public String toString() { note("list.toString"); return "l"; }
    }
    static class Made extends AbstractList<Integer> { public int size() { note("made.size"); return 2; } public Integer get(int i) { note("made.get"); return i; } }
    static class MyMap extends HashMap<Object, Object> {
        @Override public int size() { note("map.size"); return super.size(); }
        @Override public Set<Map.Entry<Object, Object>> entrySet() { note("map.entrySet"); return super.entrySet(); }
        @Override public Object get(Object k) { note("map.get"); return super.get(k); }
        @Override public String toString() { note("map.toString"); return "m"; }
    }
    enum Color { RED { @Override public String toString() { note("enum.toString"); return "r"; } }, BLUE }
    record Point(Object x, int y) { public Object x() { note("record.x"); return x; } @Override public String toString() { note("record.toString"); return "p"; } }
    static class MyError extends RuntimeException {
        MyError(String m) { super(m); }
        @Override public String getMessage() { note("getMessage"); return super.getMessage(); }
        @Override public String getLocalizedMessage() { note("getLocalizedMessage"); return "loc"; }
        @Override public String toString() { note("error.toString"); return "e"; }
        @Override public synchronized Throwable getCause() { note("getCause"); return null; }
        @Override public StackTraceElement[] getStackTrace() { note("getStackTrace"); return super.getStackTrace(); }
    }
    static Object inner(Object argument, Object other) {
        int five = 5;
        return argument; // @return
    }
    static Object work() {
        Hooked hooked = new Hooked();
        MyList list = new MyList(); list.add(hooked); list.add(2);
        MyMap map = new MyMap(); map.put("k", hooked); map.put(hooked, 1);
        Set<Object> set = new HashSet<>(List.of(hooked)); Deque<Object> deque = new ArrayDeque<>(List.of(hooked)); TreeMap<String, Object> tree = new TreeMap<>(Map.of("a", hooked));
        Object[] array = {hooked, list}; Made made = new Made(); Color red = Color.RED; Point point = new Point(hooked, 2);
        MyError error = new MyError("boom"); Optional<Object> some = Optional.of(hooked); Supplier<Object> lambda = () -> { note("lambda"); return hooked; };
        Unused[] none = new Unused[2]; Map<Object, Object> linked = new LinkedHashMap<>(Map.of("z", hooked)); StringBuilder builder = new StringBuilder("abc");
        List<Object> view = Collections.unmodifiableList(list); List<Object> of = List.of(hooked, 1); Map<Object, Object> mapOf = Map.of("q", point); Class<?> kind = Hooked.class;
        quiet = false;
        int one = 1; // @one
        int two = 2;
        int three = 3;
        int four = 4;
        try {
            throw error; // @raised
        } catch (RuntimeException e) {
        }
        inner(hooked, list);
        quiet = true;
        return hooked;
    }
    public static void main(String[] args) {
        work();
        System.out.println("calls " + calls);
        quiet = false;
        calls.clear();
        System.out.println(Lazy.twice(2) + " " + calls);
    }
}
