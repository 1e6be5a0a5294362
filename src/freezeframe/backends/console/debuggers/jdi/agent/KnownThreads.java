import com.sun.jdi.ObjectCollectedException;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VirtualMachine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The threads that can be inspected: those that JDWP lists, and virtual threads, which it does not list, once they stopped. */
final class KnownThreads {
    private static final int MOST = 500;

    private final Map<Long, ThreadReference> stopped = new LinkedHashMap<>();

    synchronized void add(ThreadReference thread) {
        stopped.put(thread.uniqueID(), thread);
        if (stopped.size() > MOST) {
            stopped.remove(stopped.keySet().iterator().next());
        }
    }

    synchronized List<ThreadReference> live(VirtualMachine vm) {
        List<ThreadReference> all = new ArrayList<>(vm.allThreads());
        stopped.values().removeIf(KnownThreads::hasEnded);
        stopped.values().stream().filter(each -> !all.contains(each)).toList().forEach(all::add);
        return all;
    }

    private static boolean hasEnded(ThreadReference thread) {
        try {
            return thread.status() == ThreadReference.THREAD_STATUS_ZOMBIE;
        } catch (ObjectCollectedException gone) {
            return true;
        }
    }
}
