import static org.codelibs.opensearch.runner.OpenSearchRunner.newConfigs;

import org.codelibs.opensearch.runner.OpenSearchRunner;

/** OpenSearch with one node on loopback: Server DIRECTORY PORT. It runs until it is killed. */
public class Server {
    public static void main(String[] arguments) throws InterruptedException {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("network.host", "127.0.0.1");
            settings.put("http.port", arguments[1]);
            // Two at the same time must not find each other.
            settings.put("transport.port", String.valueOf(20000 + Integer.parseInt(arguments[1]) % 10000));
            settings.putList("discovery.seed_hosts");
            settings.putList("cluster.initial_cluster_manager_nodes", "Node 1");
            settings.put("cluster.routing.allocation.disk.threshold_enabled", "false");
        });
        runner.build(newConfigs().basePath(arguments[0]).numOfNode(1).clusterName("ioassay"));
        runner.ensureYellow();
        Thread.currentThread().join();
    }
}
