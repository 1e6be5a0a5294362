import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.Location;
import com.sun.jdi.ReferenceType;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Finds the sources of classes below the folders of a source path. */
final class SourcePath {
    private final Set<String> roots = new LinkedHashSet<>();
    private final Map<String, Optional<String>> found = new HashMap<>();

    synchronized void add(List<String> folders) {
        roots.addAll(folders);
        found.clear();
    }

    /** Return `pkg/File.java` of a class. */
    static String relative(ReferenceType type) throws AbsentInformationException {
        String name = type.name();
        int dot = name.lastIndexOf('.');
        return dot < 0 ? type.sourceName() : name.substring(0, dot).replace('.', '/') + "/" + type.sourceName();
    }

    /** Whether a class was compiled from a file. Kotlin may leave out folders of packages. */
    boolean matches(String file, String relative) {
        String name = relative.substring(relative.lastIndexOf('/') + 1);
        if (!new File(file).getName().equals(name)) {
            return false;
        }
        if (file.endsWith("/" + relative)) {
            learn(file.substring(0, file.length() - relative.length() - 1));
            return true;
        }
        return file.equals(relative) || name.endsWith(".kt")
            || find(relative) == null || find(relative).equals(file);
    }

    private synchronized void learn(String root) {
        if (roots.add(root)) {
            found.clear();
        }
    }

    synchronized String path(Location location) {
        try {
            return find(relative(location.declaringType()));
        } catch (AbsentInformationException none) {
            return null;
        }
    }

    synchronized String find(String relative) {
        return found.computeIfAbsent(relative, this::search).orElse(null);
    }

    private Optional<String> search(String relative) {
        String name = relative.substring(relative.lastIndexOf('/') + 1);
        for (String root : roots) {
            File file = new File(root, relative);
            if (file.isFile()) {
                return Optional.of(file.getPath());
            }
        }
        for (String root : roots) {
            File flat = new File(root, name);
            if (flat.isFile() && (name.endsWith(".kt") || isOfPackage(flat, relative))) {
                return Optional.of(flat.getPath());
            }
        }
        return Optional.empty();
    }

    /** Whether a file outside its package's folder declares that package. */
    private static boolean isOfPackage(File file, String relative) {
        int slash = relative.lastIndexOf('/');
        String packageName = slash < 0 ? "" : relative.substring(0, slash).replace('/', '.');
        try (Stream<String> lines = Files.lines(file.toPath())) {
            String line = lines.map(String::strip).filter(each -> each.startsWith("package ")).findFirst().orElse("");
            return line.replaceAll("package\\s+|\\s*;.*", "").equals(packageName);
        } catch (IOException | UncheckedIOException unreadable) {
            return false;
        }
    }
}
