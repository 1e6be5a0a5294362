/** A request that cannot be done; the message is one sentence without a full stop. */
final class AgentError extends Exception {
    private static final long serialVersionUID = 1;

    AgentError(String message) {
        super(message);
    }
}
