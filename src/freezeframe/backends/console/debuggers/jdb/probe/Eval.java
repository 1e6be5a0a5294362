import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Expressions of Java: read here, and computed on a `World` of names, fields and methods. */
final class Eval {
    private static final String[][] LEVELS = {
        {"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">=", "instanceof"},
        {"<<", ">>", ">>>"}, {"+", "-"}, {"*", "/", "%"},
    };
    private static final Set<String> PRIMITIVES =
        Set.of("int", "long", "short", "byte", "char", "boolean", "float", "double");

    /** A part of an expression. */
    interface Node {
        Object get() throws Complaint;

        /** What it names where it names no value: a class, or `World.NOTHING`. */
        default Object any() throws Complaint {
            return get();
        }

        default void set(Object value) throws Complaint {
            throw new Complaint("only variables, fields and elements can be set");
        }

        /**
         * The declared type of its value, by which Java chooses fields and overloads; null where that is not
         * known, and the type of the value itself decides. Asked after `get` or `any`.
         */
        default String type() throws Complaint {
            return null;
        }
    }

    /** A value with its declared type. */
    private record Typed(Node node, String declared) implements Node {
        @Override
        public Object get() throws Complaint {
            return node.get();
        }

        @Override
        public String type() {
            return declared;
        }

        @Override
        public String toString() {
            return node.toString();
        }
    }

    private final World world;
    private final Tokens tokens;

    private Eval(World world, String text) throws Complaint {
        this.world = world;
        this.tokens = new Tokens(text);
    }

    static Object evaluate(World world, String text) throws Complaint {
        String bare = text.strip();
        return read(world, bare.endsWith(";") ? bare.substring(0, bare.length() - 1) : bare).get();
    }

    static Node read(World world, String text) throws Complaint {
        Eval eval = new Eval(world, text);
        Node node = eval.assignment();
        if (eval.tokens.peek().kind() != Tokens.Kind.END) {
            throw new Complaint("unexpected " + eval.tokens.peek().text());
        }
        return node;
    }

    private Node assignment() throws Complaint {
        Node left = ternary();
        String sign = tokens.peek().text();
        if (tokens.take("=")) {
            Node right = assignment();
            return () -> {
                Object value = right.get();
                left.set(value);
                return left.get();
            };
        }
        if (tokens.peek().kind() == Tokens.Kind.SIGN && sign.matches("(\\+|-|\\*|/|%|&|\\||\\^|<<|>>|>>>)=")) {
            tokens.next();
            Node right = assignment();
            String operator = sign.substring(0, sign.length() - 1);
            return () -> {
                left.set(Arithmetic.binary(world, operator, left.get(), right.get()));
                return left.get();
            };
        }
        return left;
    }

    private Node ternary() throws Complaint {
        Node condition = binary(0);
        if (!tokens.take("?")) {
            return condition;
        }
        Node yes = assignment();
        tokens.need(":");
        Node no = ternary();
        return () -> Arithmetic.truth(world, condition.get()) ? yes.get() : no.get();
    }

    private Node binary(int level) throws Complaint {
        if (level == LEVELS.length) {
            return unary();
        }
        Node left = binary(level + 1);
        while (true) {
            String operator = null;
            for (String each : LEVELS[level]) {
                if (tokens.is(each)) {
                    operator = each;
                }
            }
            if (operator == null) {
                return left;
            }
            tokens.next();
            left = joined(operator, left, level);
        }
    }

    private Node joined(String operator, Node left, int level) throws Complaint {
        if (operator.equals("instanceof")) {
            String type = typeName();
            return () -> world.isInstance(left.get(), type);
        }
        Node right = binary(level + 1);
        return switch (operator) {
            case "&&" -> () -> Arithmetic.truth(world, left.get()) && Arithmetic.truth(world, right.get());
            case "||" -> () -> Arithmetic.truth(world, left.get()) || Arithmetic.truth(world, right.get());
            default -> () -> Arithmetic.binary(world, operator, left.get(), right.get());
        };
    }

    private Node unary() throws Complaint {
        for (String sign : new String[] {"-", "+", "!", "~"}) {
            if (tokens.take(sign)) {
                Node value = unary();
                return () -> Arithmetic.unary(world, sign, value.get());
            }
        }
        for (String sign : new String[] {"++", "--"}) {
            if (tokens.take(sign)) {
                Node value = unary();
                return () -> {
                    value.set(Arithmetic.binary(world, sign.substring(1), value.get(), 1));
                    return value.get();
                };
            }
        }
        if (tokens.is("(")) {
            Node cast = cast();
            if (cast != null) {
                return cast;
            }
        }
        return postfix(primary());
    }

    /** Return a cast; null where the parenthesis is something else. */
    private Node cast() throws Complaint {
        int start = tokens.at;
        tokens.next();
        if (tokens.peek().kind() == Tokens.Kind.NAME) {
            String type = typeName();
            boolean primitive = PRIMITIVES.contains(type);
            if (tokens.take(")")) {
                Tokens.Token next = tokens.peek();
                boolean operand = next.kind() != Tokens.Kind.SIGN && next.kind() != Tokens.Kind.END
                    || tokens.is("(") || tokens.is("!") || tokens.is("~");
                boolean negative = primitive && (tokens.is("-") || tokens.is("+"));
                if ((operand || negative) && !tokens.is("instanceof") && (primitive || world.isType(type))) {
                    Node value = unary();
                    return primitive ? () -> Arithmetic.cast(world, type, value.get())
                        : new Typed(() -> world.cast(type, value.get()), world.declared(type));
                }
            }
        }
        tokens.at = start;
        return null;
    }

    private String typeName() throws Complaint {
        StringBuilder name = new StringBuilder(tokens.next().text());
        while (tokens.is(".") && tokens.peek(1).kind() == Tokens.Kind.NAME) {
            tokens.next();
            name.append('.').append(tokens.next().text());
        }
        if (tokens.is("<")) {
            int start = tokens.at;
            int depth = 0;
            do {
                String word = tokens.next().text();
                depth += word.equals("<") ? 1 : word.equals(">") ? -1 : word.equals(">>") ? -2 : 0;
            } while (depth > 0 && tokens.peek().kind() != Tokens.Kind.END);
            if (depth != 0) {
                tokens.at = start;
            }
        }
        while (tokens.is("[") && tokens.peek(1).text().equals("]")) {
            tokens.next();
            tokens.next();
            name.append("[]");
        }
        return name.toString();
    }

    private Node primary() throws Complaint {
        Tokens.Token token = tokens.next();
        switch (token.kind()) {
            case NUMBER -> {
                Object number = Arithmetic.number(token.text());
                return () -> number;
            }
            case TEXT -> {
                return new Typed(token::text, "java.lang.String");
            }
            case LETTER -> {
                char letter = token.text().isEmpty() ? '\0' : token.text().charAt(0);
                return () -> letter;
            }
            case NAME -> {
                return named(token.text());
            }
            default -> {
                if (token.text().equals("(")) {
                    Node inside = assignment();
                    tokens.need(")");
                    return inside;
                }
                throw new Complaint("unexpected " + token.text());
            }
        }
    }

    private Node named(String name) throws Complaint {
        switch (name) {
            case "true":
                return () -> true;
            case "false":
                return () -> false;
            case "null":
                return () -> null;
            case "this":
                return new Typed(world::self, world.here());
            case "super":
                return new Typed(new Node() {
                    @Override
                    public Object get() throws Complaint {
                        return world.self();
                    }

                    @Override
                    public String toString() {
                        return "super";
                    }
                }, world.above());
            case "new":
                return made();
            default:
        }
        if (tokens.is("(")) {
            List<Node> arguments = arguments();
            return new Call() {
                @Override
                World.Result call() throws Complaint {
                    return world.callHere(name, values(arguments), types(arguments));
                }
            };
        }
        return new Node() {
            @Override
            public String type() throws Complaint {
                return world.declaredName(name);
            }

            @Override
            public Object get() throws Complaint {
                Object found = world.name(name);
                if (found == World.NOTHING || found instanceof com.sun.jdi.ReferenceType) {
                    throw new Complaint(found == World.NOTHING ? "there is no variable " + name + " here"
                        : name + " is a class; its parts are named " + name + ".NAME");
                }
                return found;
            }

            @Override
            public Object any() throws Complaint {
                return world.name(name);
            }

            @Override
            public void set(Object value) throws Complaint {
                world.assign(name, value);
            }

            @Override
            public String toString() {
                return name;
            }
        };
    }

    private Node made() throws Complaint {
        String type = typeName();
        if (tokens.take("[")) {
            Node length = assignment();
            tokens.need("]");
            return () -> world.array(type, Arithmetic.integer(world, length.get()));
        }
        List<Node> arguments = arguments();
        return new Typed(() -> world.create(type, values(arguments), types(arguments)), world.declared(type));
    }

    private Node postfix(Node start) throws Complaint {
        Node node = start;
        while (true) {
            if (tokens.take(".")) {
                String name = tokens.next().text();
                node = tokens.is("(") ? called(node, name) : field(node, name);
            } else if (tokens.take("[")) {
                Node index = assignment();
                tokens.need("]");
                node = element(node, index);
            } else if (tokens.is("++") || tokens.is("--")) {
                String sign = tokens.next().text().substring(1);
                Node target = node;
                node = () -> {
                    Object before = target.get();
                    target.set(Arithmetic.binary(world, sign, before, 1));
                    return before;
                };
            } else {
                return node;
            }
        }
    }

    private Node called(Node on, String name) throws Complaint {
        List<Node> arguments = arguments();
        boolean above = on.toString().equals("super");
        return new Call() {
            @Override
            World.Result call() throws Complaint {
                Object target = on.any();
                if (target == World.NOTHING) {
                    target = on.get();
                }
                World.Receiver receiver = new World.Receiver(target, on.type(), on.toString(), above);
                return world.call(receiver, name, values(arguments), types(arguments));
            }
        };
    }

    /** A call, which knows what its method is declared to return once it was made. */
    private abstract static class Call implements Node {
        private String declared;

        abstract World.Result call() throws Complaint;

        @Override
        public Object get() throws Complaint {
            World.Result result = call();
            declared = result.type();
            return result.value();
        }

        @Override
        public String type() {
            return declared;
        }
    }

    private Node field(Node on, String name) {
        return new Node() {
            @Override
            public Object get() throws Complaint {
                Object found = any();
                if (found == World.NOTHING || found instanceof com.sun.jdi.ReferenceType) {
                    if (on.any() == World.NOTHING) {
                        on.get();
                    }
                    throw new Complaint(found == World.NOTHING ? on + " has no " + name : this + " is a class");
                }
                return found;
            }

            @Override
            public Object any() throws Complaint {
                Object target = on.any();
                return target == World.NOTHING ? world.type(toString())
                    : world.field(target, name, on.toString(), on.type());
            }

            @Override
            public void set(Object value) throws Complaint {
                Object target = on.any();
                world.setField(target, name, value, on.type());
            }

            @Override
            public String type() throws Complaint {
                Object target = on.any();
                return target == World.NOTHING ? null : world.declaredField(target, name, on.type());
            }

            @Override
            public String toString() {
                return on + "." + name;
            }
        };
    }

    private Node element(Node on, Node index) {
        return new Node() {
            @Override
            public Object get() throws Complaint {
                return world.element(on.get(), Arithmetic.integer(world, index.get()));
            }

            @Override
            public void set(Object value) throws Complaint {
                world.setElement(on.get(), Arithmetic.integer(world, index.get()), value);
            }

            @Override
            public String toString() {
                return on + "[…]";
            }
        };
    }

    private List<Node> arguments() throws Complaint {
        tokens.need("(");
        List<Node> found = new ArrayList<>();
        if (tokens.take(")")) {
            return found;
        }
        do {
            found.add(assignment());
        } while (tokens.take(","));
        if (tokens.is("->") || tokens.is("::")) {
            throw new Complaint("lambdas and method references cannot be evaluated");
        }
        tokens.need(")");
        return found;
    }

    /** Return the declared types of what was evaluated; null for one that is not known. */
    private static List<String> types(List<Node> nodes) throws Complaint {
        List<String> types = new ArrayList<>();
        for (Node node : nodes) {
            types.add(node.type());
        }
        return types;
    }

    private static List<Object> values(List<Node> nodes) throws Complaint {
        List<Object> values = new ArrayList<>();
        for (Node node : nodes) {
            values.add(node.get());
        }
        return values;
    }
}
