import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS with one data node on loopback: Cluster DIRECTORY. Prints the port of WebHDFS; ends with its standard input. */
public class Cluster {
    public static void main(String[] arguments) throws Exception {
        // HDFS logs to standard output, where only the port is wanted.
        PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        Configuration conf = new Configuration();
        conf.set("dfs.namenode.http-address", "127.0.0.1:0");
        conf.set("dfs.permissions.enabled", "false");
        conf.set("dfs.replication", "1");
        // Appends to a file on an only data node must not look for a second one.
        conf.set("dfs.client.block.write.replace-datanode-on-failure.enable", "false");
        MiniDFSCluster cluster =
            new MiniDFSCluster.Builder(conf, new File(arguments[0])).numDataNodes(1).build();
        cluster.waitActive();
        out.println("webhdfs " + cluster.getHttpUri(0).split(":")[2]);
        while (System.in.read() >= 0) { }
        Runtime.getRuntime().halt(0);
    }
}
