import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** Sources, lines and methods of the class files on a class path, before any is loaded. */
final class ClassFiles {
    /** One class: its name with dots, its source's name, and the lines of code by method. */
    record Known(String name, String source, Map<String, TreeSet<Integer>> methods) {
        /** Return the path of its source below a source folder. */
        String path() {
            int dot = name.lastIndexOf('.');
            return dot < 0 ? source : name.substring(0, dot).replace('.', '/') + "/" + source;
        }
    }

    private static final long LARGEST_JAR = 64L << 20;
    private final List<Known> classes = new ArrayList<>();

    ClassFiles(List<String> classPath) {
        for (String each : classPath) {
            Path path = Path.of(each);
            try {
                if (Files.isDirectory(path)) {
                    folder(path);
                } else if (Files.isRegularFile(path) && Files.size(path) <= LARGEST_JAR) {
                    jar(path);
                }
            } catch (IOException | RuntimeException unreadable) {
                // The program reports an unreadable file when it loads it.
            }
        }
    }

    /** Return all classes found. */
    List<Known> all() {
        return classes;
    }

    private void folder(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".class"))::iterator) {
                read(Files.readAllBytes(file));
            }
        }
    }

    private void jar(Path path) throws IOException {
        try (ZipFile zip = new ZipFile(path.toFile())) {
            Enumeration<? extends ZipEntry> entries = zip.entries();
            while (entries.hasMoreElements()) {
                ZipEntry entry = entries.nextElement();
                if (entry.getName().endsWith(".class") && !entry.getName().startsWith("META-INF/")) {
                    try (InputStream in = zip.getInputStream(entry)) {
                        read(in.readAllBytes());
                    }
                }
            }
        }
    }

    private void read(byte[] bytes) {
        try {
            classes.add(parse(new DataInputStream(new ByteArrayInputStream(bytes))));
        } catch (IOException | RuntimeException broken) {
            // Not a class file in a known format.
        }
    }

    /** Read one class file. See the Java Virtual Machine Specification, chapter 4. */
    private static Known parse(DataInputStream in) throws IOException {
        if (in.readInt() != 0xCAFEBABE) {
            throw new IOException("no class file");
        }
        in.skipNBytes(4);
        int count = in.readUnsignedShort();
        String[] texts = new String[count];
        int[] names = new int[count];
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1 -> texts[i] = in.readUTF();
                case 7 -> names[i] = in.readUnsignedShort();
                case 5, 6 -> {
                    in.skipNBytes(8);
                    i++;
                }
                case 8, 16, 19, 20 -> in.skipNBytes(2);
                case 15 -> in.skipNBytes(3);
                case 3, 4, 9, 10, 11, 12, 17, 18 -> in.skipNBytes(4);
                default -> throw new IOException("constant " + tag);
            }
        }
        in.skipNBytes(2);
        String name = texts[names[in.readUnsignedShort()]].replace('/', '.');
        in.skipNBytes(2);
        in.skipNBytes(2L * in.readUnsignedShort());
        for (int fields = in.readUnsignedShort(); fields > 0; fields--) {
            in.skipNBytes(6);
            for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
                in.skipNBytes(2);
                in.skipNBytes(in.readInt());
            }
        }
        Map<String, TreeSet<Integer>> methods = new LinkedHashMap<>();
        for (int number = in.readUnsignedShort(); number > 0; number--) {
            in.skipNBytes(2);
            String method = texts[in.readUnsignedShort()];
            in.skipNBytes(2);
            TreeSet<Integer> lines = methods.computeIfAbsent(method, key -> new TreeSet<>());
            for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
                String attribute = texts[in.readUnsignedShort()];
                int length = in.readInt();
                if (attribute.equals("Code")) {
                    code(in, texts, lines);
                } else {
                    in.skipNBytes(length);
                }
            }
        }
        String source = null;
        for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
            String attribute = texts[in.readUnsignedShort()];
            int length = in.readInt();
            if (attribute.equals("SourceFile")) {
                source = texts[in.readUnsignedShort()];
            } else {
                in.skipNBytes(length);
            }
        }
        return new Known(name, source == null ? "" : source, methods);
    }

    private static void code(DataInputStream in, String[] texts, TreeSet<Integer> lines) throws IOException {
        in.skipNBytes(4);
        in.skipNBytes(in.readInt());
        in.skipNBytes(8L * in.readUnsignedShort());
        for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
            String attribute = texts[in.readUnsignedShort()];
            int length = in.readInt();
            if (!attribute.equals("LineNumberTable")) {
                in.skipNBytes(length);
                continue;
            }
            for (int entries = in.readUnsignedShort(); entries > 0; entries--) {
                in.skipNBytes(2);
                lines.add(in.readUnsignedShort());
            }
        }
    }
}
