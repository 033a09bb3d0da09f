package natsbus_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dyno/lab/load/agents/natsbus"
)

const token = "0123456789abcdef0123456789abcdef"

func write(t *testing.T, blocks ...*pem.Block) (file string) {
	t.Helper()
	var text bytes.Buffer
	for _, b := range blocks {
		if err := pem.Encode(&text, b); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(t.TempDir(), "x.pem")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// With a certificate the server accepts TLS only, and a client that does not trust the
// certificate does not send its token. Messages go both ways, also within the process.
func TestTLS(t *testing.T) {
	known := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer known.Close()
	key, err := x509.MarshalPKCS8PrivateKey(known.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	public := &pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw}
	authority := write(t, public)
	if _, err := natsbus.ReadCertificate(authority); err == nil || !strings.Contains(err.Error(), "a certificate and its key") {
		t.Errorf("a file without a key: %v", err)
	}
	certificate, err := natsbus.ReadCertificate(write(t, public, &pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	if err != nil {
		t.Fatal(err)
	}
	server, err := natsbus.Listen("127.0.0.1:0", token, certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url := server.URL()
	if !strings.HasPrefix(url, "tls://") {
		t.Errorf("its URL is %s", url)
	}
	for _, u := range []string{url, "nats" + strings.TrimPrefix(url, "tls")} {
		if b, err := natsbus.Connect(u, token, ""); err == nil || !strings.Contains(err.Error(), "--tls-ca") {
			t.Errorf("a client that does not know the certificate joined %s: %v, %v", u, b, err)
		}
	}
	if b, err := natsbus.Await(t.Context(), url, token, "", func() { t.Error("it waits for a server that it does not trust") }); err == nil {
		b.Close()
		t.Error("it joined a server that it does not trust")
	}
	client, err := natsbus.Connect(url, token, authority)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stop, err := server.Subscribe("a", func(m []byte) []byte { return append(m, '!') })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if got, err := client.Request(t.Context(), "a", []byte("x")); err != nil || string(got) != "x!" {
		t.Errorf("%q, %v", got, err)
	}
}

// An agent waits for a server that is just starting or ending: one that closes the connection before it
// said anything.
func TestAwaitsServerThatCloses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	var accepting sync.WaitGroup
	defer accepting.Wait()
	defer l.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waiting := func() {
		l.Close()
		server, err := natsbus.Listen(address, token, nil)
		if err != nil {
			t.Error(err)
			stop()
			return
		}
		t.Cleanup(server.Close)
	}
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	})
	client, err := natsbus.Await(ctx, "nats://"+address, token, "", waiting)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}
