import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Parses Java expressions and evaluates them in an `EvaluationScope`. */
final class ExpressionEvaluator {
    private static final String[][] LEVELS = {
        {"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">=", "instanceof"},
        {"<<", ">>", ">>>"}, {"+", "-"}, {"*", "/", "%"},
    };
    private static final Set<String> PRIMITIVES =
        Set.of("int", "long", "short", "byte", "char", "boolean", "float", "double");

    /** A node of an expression. */
    interface Node {
        Object get() throws AgentError;

        /** What a node names if it is not a value: a class, or `EvaluationScope.NOTHING`. */
        default Object any() throws AgentError {
            return get();
        }

        default void set(Object value) throws AgentError {
            throw new AgentError("only variables, fields and elements can be set");
        }

        /**
         * The declared type of its value, by which Java selects fields and overloads; null if it is unknown and the
         * type of the value itself decides. Called after `get` or `any`.
         */
        default String type() throws AgentError {
            return null;
        }
    }

    /** A value with its declared type. */
    private record Typed(Node node, String declared) implements Node {
        @Override
        public Object get() throws AgentError {
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

    private final EvaluationScope scope;
    private final Lexer tokens;

    private ExpressionEvaluator(EvaluationScope scope, String text) throws AgentError {
        this.scope = scope;
        this.tokens = new Lexer(text);
    }

    static Object evaluate(EvaluationScope scope, String text) throws AgentError {
        String bare = text.strip();
        return read(scope, bare.endsWith(";") ? bare.substring(0, bare.length() - 1) : bare).get();
    }

    static Node read(EvaluationScope scope, String text) throws AgentError {
        ExpressionEvaluator eval = new ExpressionEvaluator(scope, text);
        Node node = eval.assignment();
        if (eval.tokens.peek().kind() != Lexer.Kind.END) {
            throw new AgentError("unexpected " + eval.tokens.peek().text());
        }
        return node;
    }

    private Node assignment() throws AgentError {
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
        if (tokens.peek().kind() == Lexer.Kind.SIGN && sign.matches("(\\+|-|\\*|/|%|&|\\||\\^|<<|>>|>>>)=")) {
            tokens.next();
            Node right = assignment();
            String operator = sign.substring(0, sign.length() - 1);
            return () -> {
                left.set(Arithmetic.binary(scope, operator, left.get(), right.get()));
                return left.get();
            };
        }
        return left;
    }

    private Node ternary() throws AgentError {
        Node condition = binary(0);
        if (!tokens.take("?")) {
            return condition;
        }
        Node yes = assignment();
        tokens.need(":");
        Node no = ternary();
        return () -> Arithmetic.truth(scope, condition.get()) ? yes.get() : no.get();
    }

    private Node binary(int level) throws AgentError {
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

    private Node joined(String operator, Node left, int level) throws AgentError {
        if (operator.equals("instanceof")) {
            String type = typeName();
            return () -> scope.isInstance(left.get(), type);
        }
        Node right = binary(level + 1);
        return switch (operator) {
            case "&&" -> () -> Arithmetic.truth(scope, left.get()) && Arithmetic.truth(scope, right.get());
            case "||" -> () -> Arithmetic.truth(scope, left.get()) || Arithmetic.truth(scope, right.get());
            default -> () -> Arithmetic.binary(scope, operator, left.get(), right.get());
        };
    }

    private Node unary() throws AgentError {
        for (String sign : new String[] {"-", "+", "!", "~"}) {
            if (tokens.take(sign)) {
                Node value = unary();
                return () -> Arithmetic.unary(scope, sign, value.get());
            }
        }
        for (String sign : new String[] {"++", "--"}) {
            if (tokens.take(sign)) {
                Node value = unary();
                return () -> {
                    value.set(Arithmetic.binary(scope, sign.substring(1), value.get(), 1));
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

    /** Parse a cast; return null if the parenthesis is something else. */
    private Node cast() throws AgentError {
        int start = tokens.at;
        tokens.next();
        if (tokens.peek().kind() == Lexer.Kind.NAME) {
            String type = typeName();
            boolean primitive = PRIMITIVES.contains(type);
            if (tokens.take(")")) {
                Lexer.Token next = tokens.peek();
                boolean operand = next.kind() != Lexer.Kind.SIGN && next.kind() != Lexer.Kind.END
                    || tokens.is("(") || tokens.is("!") || tokens.is("~");
                boolean negative = primitive && (tokens.is("-") || tokens.is("+"));
                if ((operand || negative) && !tokens.is("instanceof") && (primitive || scope.isType(type))) {
                    Node value = unary();
                    return primitive ? () -> Arithmetic.cast(scope, type, value.get())
                        : new Typed(() -> scope.cast(type, value.get()), scope.declared(type));
                }
            }
        }
        tokens.at = start;
        return null;
    }

    private String typeName() throws AgentError {
        StringBuilder name = new StringBuilder(tokens.next().text());
        while (tokens.is(".") && tokens.peek(1).kind() == Lexer.Kind.NAME) {
            tokens.next();
            name.append('.').append(tokens.next().text());
        }
        if (tokens.is("<")) {
            int start = tokens.at;
            int depth = 0;
            do {
                String word = tokens.next().text();
                depth += word.equals("<") ? 1 : word.equals(">") ? -1 : word.equals(">>") ? -2 : 0;
            } while (depth > 0 && tokens.peek().kind() != Lexer.Kind.END);
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

    private Node primary() throws AgentError {
        Lexer.Token token = tokens.next();
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
                throw new AgentError("unexpected " + token.text());
            }
        }
    }

    private Node named(String name) throws AgentError {
        switch (name) {
            case "true":
                return () -> true;
            case "false":
                return () -> false;
            case "null":
                return () -> null;
            case "this":
                return new Typed(scope::self, scope.here());
            case "super":
                return new Typed(new Node() {
                    @Override
                    public Object get() throws AgentError {
                        return scope.self();
                    }

                    @Override
                    public String toString() {
                        return "super";
                    }
                }, scope.above());
            case "new":
                return made();
            default:
        }
        if (tokens.is("(")) {
            List<Node> arguments = arguments();
            return new Call() {
                @Override
                EvaluationScope.Result call() throws AgentError {
                    return scope.callHere(name, values(arguments), types(arguments));
                }
            };
        }
        return new Node() {
            @Override
            public String type() throws AgentError {
                return scope.declaredName(name);
            }

            @Override
            public Object get() throws AgentError {
                Object found = scope.name(name);
                if (found == EvaluationScope.NOTHING || found instanceof com.sun.jdi.ReferenceType) {
                    throw new AgentError(found == EvaluationScope.NOTHING ? "there is no variable " + name + " here"
                        : name + " is a class; its parts are named " + name + ".NAME");
                }
                return found;
            }

            @Override
            public Object any() throws AgentError {
                return scope.name(name);
            }

            @Override
            public void set(Object value) throws AgentError {
                scope.assign(name, value);
            }

            @Override
            public String toString() {
                return name;
            }
        };
    }

    private Node made() throws AgentError {
        String type = typeName();
        if (tokens.take("[")) {
            Node length = assignment();
            tokens.need("]");
            return () -> scope.array(type, Arithmetic.integer(scope, length.get()));
        }
        if (type.endsWith("[]") && tokens.take("{")) {
            return filled(type.substring(0, type.length() - 2));
        }
        List<Node> arguments = arguments();
        return new Typed(() -> scope.create(type, values(arguments), types(arguments)), scope.declared(type));
    }

    /** Read the rest of `new TYPE[] {1, 2}`. */
    private Node filled(String type) throws AgentError {
        List<Node> elements = new ArrayList<>();
        while (!tokens.take("}")) {
            elements.add(assignment());
            if (!tokens.take(",") && !tokens.is("}")) {
                tokens.need("}");
            }
        }
        return () -> {
            Object array = scope.array(type, elements.size());
            for (int i = 0; i < elements.size(); i++) {
                scope.setElement(array, i, elements.get(i).get());
            }
            return array;
        };
    }

    private Node postfix(Node start) throws AgentError {
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
                    target.set(Arithmetic.binary(scope, sign, before, 1));
                    return before;
                };
            } else {
                return node;
            }
        }
    }

    private Node called(Node on, String name) throws AgentError {
        List<Node> arguments = arguments();
        boolean above = on.toString().equals("super");
        return new Call() {
            @Override
            EvaluationScope.Result call() throws AgentError {
                Object target = on.any();
                if (target == EvaluationScope.NOTHING) {
                    target = on.get();
                }
                EvaluationScope.Receiver receiver = new EvaluationScope.Receiver(target, on.type(), on.toString(), above);
                return scope.call(receiver, name, values(arguments), types(arguments));
            }
        };
    }

    /** A call, which knows its method's declared return type once it was made. */
    private abstract static class Call implements Node {
        private String declared;

        abstract EvaluationScope.Result call() throws AgentError;

        @Override
        public Object get() throws AgentError {
            EvaluationScope.Result result = call();
            declared = result.type();
            return result.value();
        }

        @Override
        public String type() {
            return declared;
        }
    }

    private Node field(Node on, String name) throws AgentError {
        if (name.equals("this")) {
            return new Typed(() -> scope.enclosing(on.any(), on.toString()), scope.declared(on.toString()));
        }
        return new Node() {
            @Override
            public Object get() throws AgentError {
                Object found = any();
                if (found == EvaluationScope.NOTHING || found instanceof com.sun.jdi.ReferenceType) {
                    if (on.any() == EvaluationScope.NOTHING) {
                        on.get();
                    }
                    throw new AgentError(found == EvaluationScope.NOTHING ? on + " has no " + name : this + " is a class");
                }
                return found;
            }

            @Override
            public Object any() throws AgentError {
                Object target = on.any();
                return target == EvaluationScope.NOTHING ? scope.type(toString())
                    : scope.field(target, name, on.toString(), on.type());
            }

            @Override
            public void set(Object value) throws AgentError {
                Object target = on.any();
                scope.setField(target, name, value, on.type());
            }

            @Override
            public String type() throws AgentError {
                Object target = on.any();
                return target == EvaluationScope.NOTHING ? null : scope.declaredField(target, name, on.type());
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
            public Object get() throws AgentError {
                return scope.element(on.get(), Arithmetic.integer(scope, index.get()));
            }

            @Override
            public void set(Object value) throws AgentError {
                scope.setElement(on.get(), Arithmetic.integer(scope, index.get()), value);
            }

            @Override
            public String toString() {
                return on + "[…]";
            }
        };
    }

    private List<Node> arguments() throws AgentError {
        tokens.need("(");
        List<Node> found = new ArrayList<>();
        if (tokens.take(")")) {
            return found;
        }
        do {
            found.add(assignment());
        } while (tokens.take(","));
        if (tokens.is("->") || tokens.is("::")) {
            throw new AgentError("lambdas and method references cannot be evaluated");
        }
        tokens.need(")");
        return found;
    }

    /** Return the declared types of evaluated nodes; null for an unknown one. */
    private static List<String> types(List<Node> nodes) throws AgentError {
        List<String> types = new ArrayList<>();
        for (Node node : nodes) {
            types.add(node.type());
        }
        return types;
    }

    private static List<Object> values(List<Node> nodes) throws AgentError {
        List<Object> values = new ArrayList<>();
        for (Node node : nodes) {
            values.add(node.get());
        }
        return values;
    }
}
