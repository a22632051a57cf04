#!/usr/bin/env bash
# Fetches HDFS with WebHDFS for the tests, once, into target/servers. Prints how it is started; what it then prints
# first is `webhdfs PORT`, and it ends with its standard input. Needs a JDK and Maven.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
java=$here/../../python/ioassay/lab/java
place=$here/../../target/servers
mkdir -p "$place"
place=$(cd "$place" && pwd)
exec 9>"$place/webhdfs.lock"
flock 9
if [ ! -e "$place/webhdfs/ready" ]; then
    rm -rf "$place/webhdfs" && mkdir -p "$place/webhdfs/jars"
    mvn --batch-mode --quiet --file "$java/pom.xml" -Dmaven.repo.local="$place/maven" \
        dependency:copy-dependencies -DoutputDirectory="$place/webhdfs/jars" >&2
    javac -nowarn -cp "$place/webhdfs/jars/*" -d "$place/webhdfs" "$java/Cluster.java" >&2
    touch "$place/webhdfs/ready"
    # The jars were copied; what Maven needed to find them is not needed again.
    rm -rf "$place/maven"
fi
echo "java -Xms64m -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp $place/webhdfs:$place/webhdfs/jars/* Cluster"
