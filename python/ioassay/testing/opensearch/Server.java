import static org.codelibs.opensearch.runner.OpenSearchRunner.newConfigs;

import org.codelibs.opensearch.runner.OpenSearchRunner;

/** OpenSearch with one node on loopback: Server DIRECTORY PORT. It runs until it is killed. */
public class Server {
    public static void main(String[] arguments) throws InterruptedException {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("network.host", "127.0.0.1");
            settings.put("http.port", arguments[1]);
            settings.put("cluster.routing.allocation.disk.threshold_enabled", "false");
        });
        runner.build(newConfigs().basePath(arguments[0]).numOfNode(1).clusterName("ioassay"));
        runner.ensureYellow();
        Thread.currentThread().join();
    }
}
