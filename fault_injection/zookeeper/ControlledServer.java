/*
 * A ZooKeeper server as it always is, and besides a port at which the harness ends sessions: the
 * server itself closes them, in the way in which it closes those that were silent for too long.
 *
 * Arguments: the file that will tell the port, the address to listen at, the main class of
 * ZooKeeper, and its configuration. With `--go-fd` and a descriptor besides, it gets ready and then
 * waits until a line comes there; without one it ends.
 * A line `end SESSION_ID` is answered by one line: `ended`, once nothing of the session is left, or
 * why not. Compiled by Janino, so that no compiler has to be installed; it knows neither lambdas
 * nor type inference.
 */

import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.ZooKeeperServerMain;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

public class ControlledServer {

    static final int PATIENCE_MS = 5000;

    /** What takes longest to load, or does something when it is loaded. */
    static final String[] NEEDED = {
        "common.QuorumX509Util",
        "jmx.MBeanRegistry",
        "metrics.impl.DefaultMetricsProvider",
        "server.FinalRequestProcessor",
        "server.NIOServerCnxn",
        "server.NIOServerCnxnFactory",
        "server.PrepRequestProcessor",
        "server.ServerMetrics",
        "server.SyncRequestProcessor",
        "server.ZKDatabase",
        "server.ZooKeeperServerMain",
        "server.command.FourLetterCommands",
        "server.persistence.FileTxnSnapLog",
        "server.quorum.CommitProcessor",
        "server.quorum.FastLeaderElection",
        "server.quorum.Follower",
        "server.quorum.FollowerZooKeeperServer",
        "server.quorum.Leader",
        "server.quorum.LeaderZooKeeperServer",
        "server.quorum.LearnerHandler",
        "server.quorum.QuorumCnxManager",
        "server.quorum.QuorumPeer",
        "server.quorum.QuorumPeerConfig",
        "server.quorum.QuorumPeerMain",
    };

    interface Main {
        void runFrom(String configuration) throws Exception;

        /** Null while it does not serve. */
        ZooKeeperServer server() throws Exception;
    }

    static class Standalone extends ZooKeeperServerMain implements Main {
        public void runFrom(String configuration) throws Exception {
            initializeAndRun(new String[] {configuration});
        }

        public ZooKeeperServer server() throws Exception {
            Field field = ZooKeeperServerMain.class.getDeclaredField("cnxnFactory");
            field.setAccessible(true);
            ServerCnxnFactory factory = (ServerCnxnFactory) field.get(this);
            return factory == null ? null : factory.getZooKeeperServer();
        }
    }

    static class Member extends QuorumPeerMain implements Main {
        public void runFrom(String configuration) throws Exception {
            initializeAndRun(new String[] {configuration});
        }

        public ZooKeeperServer server() {
            return quorumPeer == null ? null : quorumPeer.getActiveServer();
        }
    }

    static class Control extends Thread {
        private final Main main;
        private final ServerSocket listener;

        Control(Main main, ServerSocket listener) {
            super("control");
            this.main = main;
            this.listener = listener;
            setDaemon(true);
        }

        public void run() {
            while (true) {
                try {
                    serve(listener.accept());
                } catch (Exception error) {
                    error.printStackTrace();
                }
            }
        }

        private void serve(Socket peer) throws Exception {
            try {
                peer.setSoTimeout(PATIENCE_MS);
                BufferedReader lines =
                    new BufferedReader(new InputStreamReader(peer.getInputStream(), "US-ASCII"));
                String line = lines.readLine();
                String answer = line == null ? "" : answerTo(line) + "\n";
                peer.getOutputStream().write(answer.getBytes("US-ASCII"));
            } finally {
                peer.close();
            }
        }

        private String answerTo(String line) throws Exception {
            String[] words = line.split(" ");
            if (words.length != 2 || !"end".equals(words[0])) {
                return "it knows no such command";
            }
            long session = Long.parseLong(words[1]);
            ZooKeeperServer server = main.server();
            if (server == null || !server.isRunning()) {
                return "it does not serve now";
            }
            if (!knows(server, session)) {
                return "it knows no such session";
            }
            server.expire(session);
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (knows(server, session)) {
                if (System.currentTimeMillis() > deadline) {
                    return "it did not end the session in time";
                }
                Thread.sleep(1);
            }
            return "ended";
        }

        private static boolean knows(ZooKeeperServer server, long session) {
            Long id = Long.valueOf(session);
            return server.getZKDatabase().getSessions().contains(id)
                || !server.getZKDatabase().getDataTree().getEphemerals(session).isEmpty();
        }
    }

    static void tell(int port, File where) throws IOException {
        File written = new File(where.getPath() + ".new");
        FileWriter writer = new FileWriter(written);
        writer.write(port + "\n");
        writer.close();
        if (!written.renameTo(where)) {
            throw new IOException("cannot write " + where);
        }
    }

    static void load(String name) {
        try {
            Class.forName(name);
        } catch (ClassNotFoundException error) {
            System.err.println("this ZooKeeper has no " + name);
        } catch (LinkageError error) {
            System.err.println("what " + name + " needs is not here: " + error);
        }
    }

    /** False when whoever was to say that it goes on is gone. */
    static boolean mayGo(String descriptor) throws Exception {
        for (int at = 0; at < NEEDED.length; at++) {
            load("org.apache.zookeeper." + NEEDED[at]);
        }
        FileInputStream word = new FileInputStream("/proc/self/fd/" + descriptor);
        int read = word.read();
        while (read != -1 && read != '\n') {
            read = word.read();
        }
        word.close();
        return read != -1;
    }

    public static void main(String[] arguments) throws Exception {
        try {
            if (arguments.length == 6 && arguments[4].equals("--go-fd") && !mayGo(arguments[5])) {
                System.exit(1);
            }
            boolean isMember = arguments[2].equals(QuorumPeerMain.class.getName());
            Main main = isMember ? (Main) new Member() : (Main) new Standalone();
            ServerSocket listener = new ServerSocket(0, 8, InetAddress.getByName(arguments[1]));
            new Control(main, listener).start();
            tell(listener.getLocalPort(), new File(arguments[0]));
            main.runFrom(arguments[3]);
            System.exit(0);
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1);
        }
    }
}
