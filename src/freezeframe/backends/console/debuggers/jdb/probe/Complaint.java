/** What cannot be done, in one sentence without its full stop. */
final class Complaint extends Exception {
    private static final long serialVersionUID = 1;

    Complaint(String words) {
        super(words);
    }
}
