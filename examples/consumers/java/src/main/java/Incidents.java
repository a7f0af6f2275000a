import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints the incidents of a topic, knowing nothing but their JSON Schema. See ../README.md.
 *
 * <p>Arguments: brokers, the schema's file, and the seconds of silence after which to end (0: never), the topic.
 */
public final class Incidents {
  private final ObjectMapper json = new ObjectMapper();
  private final JsonSchema schema;
  private final int version;
  private final Set<String> seen = new HashSet<>();
  private boolean refused;

  private Incidents(String text) throws JsonProcessingException {
    schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(text);
    version = json.readTree(text).at("/properties/v/const").asInt();
  }

  public static void main(String[] words) throws IOException {
    if (words.length < 2) {
      System.err.println("say the brokers and the schema's file: BROKER:9092 incidents.v1.json [IDLE_S] [TOPIC]");
      System.exit(2);
    }
    Incidents incidents = new Incidents(Files.readString(Path.of(words[1])));
    long idle = words.length > 2 ? Long.parseLong(words[2]) : 0;
    incidents.read(words[0], words.length > 3 ? words[3] : "incidents", Duration.ofSeconds(idle));
    System.exit(incidents.refused ? 1 : 0);
  }

  private void read(String brokers, String topic, Duration idle) {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", brokers,
            "group.id", "incident-printer-java",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false);
    ByteArrayDeserializer bytes = new ByteArrayDeserializer();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      consumer.subscribe(List.of(topic));
      while (true) {
        ConsumerRecords<byte[], byte[]> records =
            consumer.poll(idle.isZero() ? Duration.ofSeconds(1) : idle);
        if (records.isEmpty() && !idle.isZero() && !consumer.assignment().isEmpty()) {
          return;
        }
        records.forEach(this::handle);
        consumer.commitSync();
      }
    }
  }

  private void handle(ConsumerRecord<byte[], byte[]> record) {
    String where = "partition " + record.partition() + " offset " + record.offset();
    JsonNode value;
    try {
      value = json.readTree(record.value() == null ? new byte[0] : record.value());
    } catch (IOException error) {
      refuse(where + ": not JSON: " + error.getMessage());
      return;
    }
    if (value.isObject() && value.path("v").asInt(-1) != version) {
      System.err.println(where + ": version " + value.path("v") + " is left alone, this program reads " + version);
      return;
    }
    var problems = schema.validate(value);
    if (!problems.isEmpty()) {
      refuse(where + ": not an incident: " + problems.iterator().next().getMessage());
      return;
    }
    JsonNode producer = value.get("producer");
    if (seen.add(producer.get("id") + " " + producer.get("boot") + " " + producer.get("seq"))) {
      System.out.println(line(value));
    }
  }

  private void refuse(String why) {
    System.err.println(why);
    refused = true;
  }

  private static String line(JsonNode incident) {
    JsonNode action = incident.get("action");
    String confidence = String.format(Locale.ROOT, "%.2f", incident.get("confidence").asDouble());
    return String.join(
        " ",
        word(incident.get("state")),
        word(incident.get("kind")),
        word(incident.get("issue")),
        word(incident.get("component")),
        confidence,
        word(action.get("kind")),
        word(action.get("target")));
  }

  private static String word(JsonNode value) {
    return value == null || value.isNull() ? "-" : value.asText();
  }
}
