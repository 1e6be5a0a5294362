import com.sun.jdi.ArrayReference;
import com.sun.jdi.Value;
import java.util.AbstractList;
import java.util.List;

/**
 * The elements of an array, read in pages. The JVM's debugging agent makes a reference for each object that it
 * sends, and ends the program when it cannot make that many at once (JDK 17: 200,000).
 */
final class PagedArray extends AbstractList<Value> {
    private static final int PAGE = 500;

    private final ArrayReference array;
    private final int size;
    private int start;
    private List<Value> page = List.of();

    PagedArray(ArrayReference array) {
        this.array = array;
        size = array.length();
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public Value get(int index) {
        if (index < start || index >= start + page.size()) {
            page = array.getValues(index, Math.min(PAGE, size - index));
            start = index;
        }
        return page.get(index - start);
    }
}
