import java.util.ArrayList;
import java.util.List;

/** Splits an expression into tokens. */
final class Lexer {
    enum Kind { NAME, NUMBER, TEXT, LETTER, SIGN, END }

    record Token(Kind kind, String text) {}

    private static final String[] SIGNS = {
        ">>>=", "<<=", ">>=", ">>>", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=", "%=",
        "&=", "|=", "^=", "++", "--", "->", "::",
    };

    private final List<Token> tokens = new ArrayList<>();
    int at;

    Lexer(String text) throws AgentError {
        int i = 0;
        while (i < text.length()) {
            char c = text.charAt(i);
            if (Character.isWhitespace(c)) {
                i++;
            } else if (Character.isJavaIdentifierStart(c)) {
                int end = i;
                while (end < text.length() && Character.isJavaIdentifierPart(text.charAt(end))) {
                    end++;
                }
                tokens.add(new Token(Kind.NAME, text.substring(i, end)));
                i = end;
            } else if (Character.isDigit(c) || (c == '.' && i + 1 < text.length() && Character.isDigit(text.charAt(i + 1)))) {
                int end = i;
                boolean hex = text.startsWith("0x", i) || text.startsWith("0X", i);
                while (end < text.length() && (Character.isLetterOrDigit(text.charAt(end)) || text.charAt(end) == '_'
                    || (text.charAt(end) == '.' && !hex)
                    || (!hex && "+-".indexOf(text.charAt(end)) >= 0 && "eE".indexOf(text.charAt(end - 1)) >= 0))) {
                    end++;
                }
                tokens.add(new Token(Kind.NUMBER, text.substring(i, end).replace("_", "")));
                i = end;
            } else if (c == '"' || c == '\'') {
                StringBuilder made = new StringBuilder();
                i = quoted(text, i, made);
                tokens.add(new Token(c == '"' ? Kind.TEXT : Kind.LETTER, made.toString()));
            } else {
                String sign = String.valueOf(c);
                for (String each : SIGNS) {
                    if (text.startsWith(each, i)) {
                        sign = each;
                        break;
                    }
                }
                if ("+-*/%<>=!&|^~?:.,()[]@{}".indexOf(c) < 0) {
                    throw new AgentError("unexpected " + c);
                }
                tokens.add(new Token(Kind.SIGN, sign));
                i += sign.length();
            }
        }
        tokens.add(new Token(Kind.END, "the end"));
    }

    private static int quoted(String text, int start, StringBuilder made) throws AgentError {
        char quote = text.charAt(start);
        int i = start + 1;
        while (i < text.length() && text.charAt(i) != quote) {
            char c = text.charAt(i++);
            if (c == '\\' && i < text.length()) {
                c = text.charAt(i++);
                switch (c) {
                    case 'n' -> c = '\n';
                    case 't' -> c = '\t';
                    case 'r' -> c = '\r';
                    case 'b' -> c = '\b';
                    case 'f' -> c = '\f';
                    case '0' -> c = '\0';
                    case 'u' -> {
                        c = (char) Integer.parseInt(text.substring(i, Math.min(i + 4, text.length())), 16);
                        i += 4;
                    }
                    default -> { }
                }
            }
            made.append(c);
        }
        if (i >= text.length()) {
            throw new AgentError("a quote is not closed");
        }
        return i + 1;
    }

    Token peek() {
        return tokens.get(at);
    }

    Token peek(int ahead) {
        return tokens.get(Math.min(at + ahead, tokens.size() - 1));
    }

    Token next() {
        Token token = tokens.get(at);
        at = Math.min(at + 1, tokens.size() - 1);
        return token;
    }

    boolean is(String text) {
        return peek().text().equals(text) && peek().kind() != Kind.TEXT && peek().kind() != Kind.LETTER;
    }

    boolean take(String text) {
        if (is(text)) {
            at++;
            return true;
        }
        return false;
    }

    void need(String text) throws AgentError {
        if (!take(text)) {
            throw new AgentError("expected " + text + " before " + peek().text());
        }
    }
}
