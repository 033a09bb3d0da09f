// Sends a GET and a POST of JSON with one HTTP client. Usage: Clients NAME URL; NAME alone prints its version.
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Clients {
    static final String JSON = "{\"a\":1}";

    public static void main(String[] args) throws Exception {
        boolean shows = args.length == 1;
        String url = shows ? null : args[1];
        switch (args[0]) {
            case "java.net.http", "java.net.http, stream" -> {
                if (shows) System.out.println(System.getProperty("java.version"));
                else jdk(url, args[0].endsWith("stream"));
            }
            case "OkHttp" -> {
                if (shows) System.out.println(okhttp3.OkHttp.VERSION);
                else okhttp(url);
            }
            case "Apache HttpClient" -> {
                if (shows) System.out.println(org.apache.hc.core5.util.VersionInfo.loadVersionInfo("org.apache.hc.client5", Clients.class.getClassLoader()).getRelease());
                else apache(url);
            }
        }
        System.exit(0);
    }

    static void jdk(String url, boolean stream) throws Exception {
        HttpClient c = HttpClient.newHttpClient();
        HttpRequest.Builder b = HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer TOKEN");
        c.send(b.copy().GET().build(), HttpResponse.BodyHandlers.ofString());
        HttpRequest.BodyPublisher body = stream ? HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(JSON.getBytes())) : HttpRequest.BodyPublishers.ofString(JSON);
        c.send(b.copy().header("Content-Type", "application/json").POST(body).build(), HttpResponse.BodyHandlers.ofString());
    }

    static void okhttp(String url) throws Exception {
        okhttp3.OkHttpClient c = new okhttp3.OkHttpClient();
        okhttp3.Request.Builder b = new okhttp3.Request.Builder().url(url).header("Authorization", "Bearer TOKEN");
        c.newCall(b.build()).execute().close();
        c.newCall(b.post(okhttp3.RequestBody.create(JSON, okhttp3.MediaType.get("application/json; charset=utf-8"))).build()).execute().close();
    }

    static void apache(String url) throws Exception {
        try (var c = org.apache.hc.client5.http.impl.classic.HttpClients.createDefault()) {
            var get = new org.apache.hc.client5.http.classic.methods.HttpGet(url);
            get.addHeader("Authorization", "Bearer TOKEN");
            c.execute(get, r -> null);
            var post = new org.apache.hc.client5.http.classic.methods.HttpPost(url);
            post.addHeader("Authorization", "Bearer TOKEN");
            post.setEntity(new org.apache.hc.core5.http.io.entity.StringEntity(JSON, org.apache.hc.core5.http.ContentType.APPLICATION_JSON));
            c.execute(post, r -> null);
        }
    }
}
