// What Java has that others have not: inner classes, lambdas, overloads, collections, causes.

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

final class Store {
    enum Size { SMALL, LARGE }

    record Point(int x, double y) {}

    interface Shape {
        double area();
    }

    static int stock = 7;
    private final String owner;
    private final Map<String, Integer> prices = new LinkedHashMap<>();

    Store(String owner) { // @constructor
        this.owner = owner;
    }

    int price(String name) {
        return prices.get(name); // @byName
    }

    int price(String name, int count) {
        return price(name) * count; // @byCount
    }

    List<Integer> all() {
        return new ArrayList<>(prices.values()); // @all
    }

    void refuse() {
        throw new IllegalStateException("closed", new RuntimeException("night")); // @refuse
    }

    static int endless(int turns) {
        while (true) {
            turns++;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Store store = new Store("bob");
        store.prices.put("pen", 2);
        store.prices.put("ink", 5);
        String text = "a\"b\n\u00e9";
        char letter = '\'';
        int[][] grid = {{1, 2}, {3, 4}};
        List<Point> points = new ArrayList<>(List.of(new Point(1, 2.5), new Point(3, 4)));
        Size size = Size.LARGE;
        long big = 1L << 40;
        Integer boxed = 12;
        Shape square = new Shape() {
            private final int side = 3;

            @Override
            public double area() {
                return side * side; // @anonymous
            }
        };
        IntUnaryOperator twice = number -> {
            int doubled = number * 2; // @lambda
            return doubled;
        };
        int sum = store.price("pen", 3) + twice.applyAsInt(4); // @values
        System.out.println(square.area() + " " + sum); // @print
        try {
            Integer.parseInt("zz"); // @parse
        } catch (NumberFormatException error) {
            System.out.println("no number"); // @caught
        }
        try {
            store.refuse();
        } catch (IllegalStateException error) {
            System.out.println("refused");
        }
        System.out.println(store.all());
        Thread worker = new Thread(() -> {
            String nothing = null;
            System.out.println(nothing.length()); // @worker
        }, "worker");
        worker.start();
        worker.join();
        System.out.println("end"); // @end
    }
}
