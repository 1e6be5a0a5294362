// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

final class Loop {
    static final class Item {
        final String name;
        final int price;
        final int count;
        boolean done;

        Item(String name, int price, int count) {
            this.name = name;
            this.price = price;
            this.count = count;
        }
    }

    static int line_amount(int price, int count) {
        int amount = price * count; // @callee
        return amount; // @return
    }

    static int total_of(Item[] items) {
        int total = 0; // @first
        for (int number = 0; number < items.length; number++) {
            int amount = line_amount(items[number].price, items[number].count); // @call
            total += amount; // @loop
            items[number].done = true; // @done
        }
        return total; // @last
    }

    public static void main(String[] args) {
        Item nothing = null;
        int[] empty = {};
        Item[] order = {new Item("pen", 2, 3), new Item("ink", 5, 1), new Item("pad", 4, 2)};
        System.out.println("adding"); // @print
        int total = total_of(order); // @main
        System.out.println("total " + total);
        System.err.println("done"); // @after
        if (total == 19) { // @end
            System.exit(3);
        }
        System.exit(4);
    }
}
