// Never ends by itself, and writes a file when it has begun.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

final class Endless {
    static void spin(Path path) throws IOException, InterruptedException {
        long turns = 0;
        Files.writeString(path, "spinning");
        while (true) {
            turns++; // @turn
            Thread.sleep(1);
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        spin(Path.of(args.length > 0 ? args[0] : "spinning.txt"));
    }
}
