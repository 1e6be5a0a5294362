// Dies of an error that nobody catches.

final class Uncaught {
    static int divide(int left, int right) {
        return left / right; // @uncaught
    }

    static int average(int... numbers) {
        int total = 0;
        for (int number : numbers) {
            total += number;
        }
        return divide(total, numbers.length); // @caller
    }

    public static void main(String[] args) {
        System.out.println("averages");
        System.out.println(average(1, 2, 3));
        System.out.println(average());
    }
}
