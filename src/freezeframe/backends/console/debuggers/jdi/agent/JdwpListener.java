import com.sun.jdi.connect.spi.ClosedConnectionException;
import com.sun.jdi.connect.spi.Connection;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A port of the loopback interface that the debug agent of a program connects to.
 *
 * <p>JDI's own listener accepts the first connection. Any user of the machine can connect to a port, so a
 * connection of another user is closed here before anything is read from it or sent to it. Linux lists the owner
 * of every socket; elsewhere the owner is unknown, and every connection is accepted.
 */
final class JdwpListener implements AutoCloseable {
    private static final byte[] HANDSHAKE = "JDWP-Handshake".getBytes(StandardCharsets.US_ASCII);
    /** How long to wait for the handshake of a process of this user. */
    private static final int HANDSHAKE_MS = 5_000;
    private static final List<Path> TABLES = List.of(Path.of("/proc/net/tcp"), Path.of("/proc/net/tcp6"));
    private static final String LISTENS = "0A";
    private static final int LOCAL = 1;
    private static final int REMOTE = 2;
    private static final int STATE = 3;
    private static final int UID = 7;
    private static final int INODE = 9;

    private final ServerSocket server;

    JdwpListener() throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
    }

    int port() {
        return server.getLocalPort();
    }

    /**
     * Return the next connection of this user that speaks JDWP.
     *
     * @throws SocketTimeoutException when no process connects in time
     */
    Connection accept(int timeoutMs) throws IOException {
        long end = System.nanoTime() + timeoutMs * 1_000_000L;
        while (true) {
            // Repeated connections must not extend the time limit.
            long left = (end - System.nanoTime()) / 1_000_000L;
            if (left <= 0) {
                throw new SocketTimeoutException("nobody connected");
            }
            server.setSoTimeout((int) left);
            Socket socket = server.accept();
            try {
                if (isOfThisUser(socket)) {
                    return shakeHands(socket);
                }
            } catch (IOException broken) {
                // It was not a debug agent, or it has gone; wait for the next one.
            }
            socket.close();
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
    }

    private static Connection shakeHands(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(HANDSHAKE_MS);
        socket.getOutputStream().write(HANDSHAKE);
        byte[] received = socket.getInputStream().readNBytes(HANDSHAKE.length);
        if (!Arrays.equals(received, HANDSHAKE)) {
            throw new IOException("no handshake");
        }
        socket.setSoTimeout(0);
        return new Packets(socket);
    }

    /** Return false if the owner of a connection can be determined and is not certainly this user. */
    private boolean isOfThisUser(Socket socket) throws IOException {
        List<String[]> table = sockets();
        String listening = hex((InetSocketAddress) server.getLocalSocketAddress());
        String uid = null;
        for (String[] row : table) {
            if (row[STATE].equals(LISTENS) && row[LOCAL].endsWith(listening)) {
                uid = row[UID];
            }
        }
        if (uid == null) {
            return true;
        }
        String local = hex((InetSocketAddress) socket.getLocalSocketAddress());
        String remote = hex((InetSocketAddress) socket.getRemoteSocketAddress());
        for (String[] row : table) {
            if (row[LOCAL].endsWith(remote) && row[REMOTE].endsWith(local)) {
                // A socket that its process has closed has no inode, and is listed as root's.
                return row[UID].equals(uid) && !row[INODE].equals("0");
            }
        }
        return false;
    }

    private static List<String[]> sockets() throws IOException {
        List<String[]> rows = new ArrayList<>();
        for (Path table : TABLES) {
            if (Files.isReadable(table)) {
                Files.readAllLines(table).stream().skip(1).map(line -> line.strip().split("\\s+")).forEach(rows::add);
            }
        }
        return rows;
    }

    /** Return an address in the kernel's notation: `0100007F:1F90`. */
    private static String hex(InetSocketAddress address) {
        int number = ByteBuffer.wrap(address.getAddress().getAddress()).order(ByteOrder.nativeOrder()).getInt();
        return String.format("%08X:%04X", number, address.getPort());
    }

    /** JDWP packets on a socket; each begins with its length. */
    private static final class Packets extends Connection {
        private static final int HEADER = 11;
        private static final int MOST = 1 << 30;

        private final Socket socket;
        private final DataInputStream in;
        private final OutputStream out;
        private final Object writing = new Object();

        Packets(Socket socket) throws IOException {
            this.socket = socket;
            this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            this.out = socket.getOutputStream();
        }

        @Override
        public byte[] readPacket() throws IOException {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException ended) {
                return new byte[0];
            } catch (IOException broken) {
                throw isOpen() ? broken : new ClosedConnectionException("connection is closed");
            }
            if (length < HEADER || length > MOST) {
                throw new IOException("a packet of " + length + " bytes");
            }
            byte[] packet = new byte[length];
            ByteBuffer.wrap(packet).putInt(length);
            in.readFully(packet, 4, length - 4);
            return packet;
        }

        @Override
        public void writePacket(byte[] packet) throws IOException {
            if (!isOpen()) {
                throw new ClosedConnectionException("connection is closed");
            }
            synchronized (writing) {
                out.write(packet);
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }

        @Override
        public boolean isOpen() {
            return !socket.isClosed();
        }
    }
}
