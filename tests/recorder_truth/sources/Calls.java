import java.io.File;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What Java's library does with files: channels, maps, locks, copies, trees, other programs. */
public class Calls {
    public static void main(String[] arguments) throws Exception {
        Files.write(Path.of("out"), new byte[100_000]);
        Files.readAllBytes(Path.of("lines"));
        try (FileChannel file = FileChannel.open(Path.of("out"), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(500), 100);
            file.read(ByteBuffer.allocate(300), 7);
            file.force(true);
            MappedByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, 5000);
            mapped.put(1, (byte) 2);
            mapped.force();
            file.lock().release();
            file.truncate(100);
        }
        try (RandomAccessFile file = new RandomAccessFile("random", "rw")) {
            file.seek(1000);
            file.writeInt(5);
            file.setLength(20);
        }
        try (FileChannel from = FileChannel.open(Path.of("lines"));
                FileChannel to = FileChannel.open(Path.of("sent"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            from.transferTo(0, from.size(), to);
        }
        Files.copy(Path.of("lines"), Path.of("copy"));
        Files.move(Path.of("copy"), Path.of("moved"));
        Files.delete(Path.of("moved"));
        new File("directory").mkdir();
        Files.walk(Path.of(".")).forEach(path -> path.toFile().length());
        new ProcessBuilder("cat", "lines").redirectOutput(new File("by-cat")).start().waitFor();
    }
}
