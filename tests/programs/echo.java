// Echoes its standard input line by line, and counts the lines.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

final class Echo {
    public static void main(String[] args) throws IOException {
        int count = 0;
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            count++;
            System.out.println("heard " + line.strip()); // @line
        }
        System.out.println("lines " + count); // @eof
    }
}
