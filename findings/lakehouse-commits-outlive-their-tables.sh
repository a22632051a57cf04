#!/usr/bin/env bash
# pyiceberg 0.12.0 with its SQL catalog on SQLite (PyPI): a commit is made durable in the catalog alone. SQLite syncs
# its database and directory; the files that the commit points to (Parquet, manifests, metadata.json) are never synced,
# nor their directories. deltalake 1.6.6 and lance (pylance 14.0.2) on a local file system sync nothing at all: the
# commit is a hard link.
#
# Delta Lake promises ACID transactions, Iceberg and Lance atomic commits. After a power cut the catalog of pyiceberg
# may name a metadata file that has no bytes or does not exist: then not only the last append is lost, the table does
# not open. It holds for any file system that writes back later, also for those that buffer writes on the client.
#
# Seen by strace: pyiceberg syncs cat.db, its journal and directory, 20 times for a table and an append, and 0 of its 5
# files; deltalake and lance 0 syncs, 1 link of a commit each.
# Needs: python3 with venv, strace.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "pyiceberg[sql-sqlite]==0.12.0" pyarrow==26.0.1 \
    deltalake==1.6.6 pylance==14.0.2

cat > iceberg.py << 'END'
import os
import pyarrow
from pyiceberg.catalog.sql import SqlCatalog
os.mkdir("tables")
here = os.getcwd()
catalog = SqlCatalog("catalog", uri=f"sqlite:///{here}/cat.db", warehouse=f"file://{here}/tables")
catalog.create_namespace("space")
rows = pyarrow.table({"row": list(range(1000))})
table = catalog.create_table("space.rows", rows.schema)
table.append(rows)
assert table.scan().to_arrow().num_rows == 1000
END
cat > delta.py << 'END'
import deltalake
import pyarrow
deltalake.write_deltalake("delta", pyarrow.table({"row": list(range(1000))}))
assert deltalake.DeltaTable("delta").version() == 0
END
cat > lances.py << 'END'
import os
import lance
import pyarrow
assert lance.write_dataset(pyarrow.table({"row": list(range(1000))}), "lance").count_rows() == 1000
os._exit(0)
END

# The calls that are seen, with the paths of their descriptors; threads are followed.
traced() {
    strace -f -y -o "$1.trace" -e trace=fsync,fdatasync,sync,syncfs,msync,sync_file_range,linkat \
        venv/bin/python -B "$1.py" 2> "$1.errors" || { cat "$1.errors"; exit 1; }
}
syncs() { grep -E '(sync|sync_file_range)\(' "$1.trace" | { grep -c -E "$2" || true; }; }
commits() { grep 'linkat(' "$1.trace" | { grep -c -E "$2" || true; }; }

traced iceberg
traced delta
traced lances
files=$(find tables -type f | wc -l)
catalog=$(syncs iceberg "fdatasync\([0-9]+<$scratch(/cat.db(-journal)?)?>\) *= 0")
tables=$(syncs iceberg "<$scratch/tables")
delta=$(syncs delta "<$scratch") delta_commits=$(commits delta '_delta_log/0+\.json"')
lance=$(syncs lances "<$scratch") lance_commits=$(commits lances '_versions/[0-9]+\.manifest"')
echo "pyiceberg: $catalog syncs of the catalog, $tables of its $files files"
echo "deltalake: $delta syncs, $delta_commits commit; lance: $lance syncs, $lance_commits commit"
test "$catalog" -ge 3
test "$files" -ge 5
test "$tables" = 0
test "$delta" = 0 && test "$delta_commits" = 1
test "$lance" = 0 && test "$lance_commits" = 1
