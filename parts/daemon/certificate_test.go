package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// A renewed certificate is served without a restart; while the files do not match, the one of
// before is.
func TestRenewedCertificate(t *testing.T) {
	cert, key, _ := newFiles(t)
	c, err := newCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c.log = slog.New(slog.NewTextHandler(&log, nil))
	served := func() []byte {
		t.Helper()
		c.checked = time.Time{} // as if it was long ago
		pair, err := c.current(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Certificate[0]
	}
	before := served()
	newCert, newKey, _ := newFiles(t)
	move := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err = errors.Join(err, os.WriteFile(to+".new", data, 0o600)); err == nil {
			err = os.Rename(to+".new", to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	move(newCert, cert)
	for range 2 {
		if !bytes.Equal(served(), before) {
			t.Error("a certificate without its key is served")
		}
	}
	if n := strings.Count(log.String(), "cannot be loaded"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
	move(newKey, key)
	if bytes.Equal(served(), before) {
		t.Error("the renewed certificate is not served")
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if served() == nil {
		t.Error("nothing is served while a file is missing")
	}
	if _, err := newCertificate(cert, key); err == nil || !strings.Contains(err.Error(), "--tls-cert and --tls-key") {
		t.Error(err)
	}
}
