import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * HDFS with WebHDFS, name node and data nodes in one process. It prints `webhdfs PORT` when it can be used.
 *
 * Cluster DIRECTORY: one data node, on loopback, any free ports; it ends with its standard input. For tests.
 * Cluster DIRECTORY HOST ADDRESS PORT DATANODES: WebHDFS on ADDRESS, with PORT for the name node and any free ones for
 * the data nodes, to which clients are sent on by the name HOST; all else on loopback. It stays. For labs.
 */
public class Cluster {
    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        boolean stays = arguments.length > 1;
        // HDFS logs to standard output, where only the port is wanted.
        PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        // Jetty unpacks itself where temporary files go, and never tidies up.
        File temporary = new File(directory, "tmp");
        temporary.mkdirs();
        System.setProperty("java.io.tmpdir", temporary.getPath());
        Configuration conf = new Configuration();
        conf.set("hadoop.tmp.dir", temporary.getPath());
        conf.set("dfs.namenode.http-address", "127.0.0.1:0");
        conf.set("dfs.permissions.enabled", "false");
        // Appends to a file on an only data node must not look for a second one.
        conf.set("dfs.client.block.write.replace-datanode-on-failure.enable", "false");
        MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(conf, directory);
        int dataNodes = 1;
        if (stays) {
            conf.set("dfs.datanode.hostname", arguments[1]);
            conf.set("dfs.namenode.http-bind-host", arguments[2]);
            conf.set("dfs.datanode.http.address", arguments[2] + ":0");
            // Otherwise the cluster puts addresses of its own in place of these.
            conf.set("dfs.datanode.address", "127.0.0.1:0");
            conf.set("dfs.datanode.ipc.address", "127.0.0.1:0");
            builder.checkDataNodeHostConfig(true).checkDataNodeAddrConfig(true);
            builder.nameNodeHttpPort(Integer.parseInt(arguments[3]));
            dataNodes = Integer.parseInt(arguments[4]);
            // What a name node has promised shall be on its disk, which tests can do without.
            builder.skipFsyncForTesting(false);
        }
        conf.set("dfs.replication", Integer.toString(Math.min(3, dataNodes)));
        MiniDFSCluster cluster = builder.numDataNodes(dataNodes).build();
        cluster.waitActive();
        out.println("webhdfs " + cluster.getHttpUri(0).split(":")[2]);
        if (stays) {
            Thread.currentThread().join();
        }
        while (System.in.read() >= 0) { }
        Runtime.getRuntime().halt(0);
    }
}
