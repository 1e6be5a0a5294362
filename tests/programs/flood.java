// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

import java.io.PrintWriter;

final class Flood {
    public static void main(String[] args) {
        double megabytes = args.length > 0 ? Double.parseDouble(args[0]) : 1;
        int lines = (int) (megabytes * 10_000);
        String line = "x".repeat(99);
        PrintWriter out = new PrintWriter(System.out);
        for (int i = 0; i < lines; i++) {
            out.println(line);
        }
        out.println("last line " + lines); // @end
        out.flush();
    }
}
