// A recursion with a known depth: 10 frames of `down` at the bottom.

final class Recursion {
    static int down(int depth) {
        if (depth == 0) {
            return 1; // @bottom
        }
        int below = down(depth - 1);
        return below + 1; // @up
    }

    public static void main(String[] args) {
        System.out.println(down(9)); // @start
    }
}
