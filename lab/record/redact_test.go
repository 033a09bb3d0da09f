package record

import (
	"slices"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, in := range []string{
		"Authorization: Bearer s3cret-value",
		"authorization=Basic s3cret-value",
		`{"Authorization": "Bearer s3cret-value"}`,
		"-H 'X-Api-Key: s3cret-value'",
		"--token=s3cret-value",
		"db_password: s3cret-value",
		"postgres://user:s3cret-value@127.0.0.1/db",
		"secret: whsec_s3cretvalue",
		"url: http://x/?access_token=s3cret-value&y=1",
	} {
		if out := Redact(in); strings.Contains(out, "s3cret") || !strings.Contains(out, Redacted) {
			t.Errorf("%q became %q", in, out)
		}
	}
	for _, plain := range []string{"http://127.0.0.1:80/x?y=1", "p99=20ms", "key: ${key}", "--assembly tuned", "tokens per second"} {
		if out := Redact(plain); out != plain {
			t.Errorf("%q became %q", plain, out)
		}
	}
}

func TestRedactArgs(t *testing.T) {
	got := RedactArgs([]string{"notifyd", "--debug-token", "s3cret", "--set", "workers=4", "-H", "Cookie: a=s3cret"})
	if strings.Contains(strings.Join(got, " "), "s3cret") || !slices.Contains(got, "workers=4") {
		t.Errorf("got %q", got)
	}
}

func TestRedactURL(t *testing.T) {
	if got := RedactURL("http://me:s3cret@127.0.0.1:80/x"); got != "http://127.0.0.1:80/x" {
		t.Errorf("got %q", got)
	}
}
