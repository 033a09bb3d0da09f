package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, in := range []string{
		"Authorization: Bearer s3cret-value",
		"authorization=Basic s3cret-value",
		`{"Authorization": "Bearer s3cret-value"}`,
		"-H 'X-Api-Key: s3cret-value'",
		"--token=s3cret-value",
		"db_password: s3cret-value",
		"postgres://user:s3cret-value@127.0.0.1/db",
		"secret: whsec_s3cretvalue",
		"a reader said: eyJhbGciOiJIUzI1NiJ9.s3cretzdWIiOiJB.s3cret0yTLXGNZ, and went away",
		"url: http://x/?access_token=s3cret-value&y=1",
	} {
		if out := Text(in); strings.Contains(out, "s3cret") || !strings.Contains(out, Mark) {
			t.Errorf("%q became %q", in, out)
		}
	}
	for _, plain := range []string{"http://127.0.0.1:80/x?y=1", "p99=20ms", "key: ${key}", "--assembly tuned", "tokens per second", "Authorization", "eyJ.go", "keyJudge.Table.Row"} {
		if out := Text(plain); out != plain {
			t.Errorf("%q became %q", plain, out)
		}
	}
}

func TestArgs(t *testing.T) {
	got := Args([]string{"notifyd", "--debug-token", "s3cret", "--set", "workers=4", "-H", "Cookie: a=s3cret"})
	if strings.Contains(strings.Join(got, " "), "s3cret") || !slices.Contains(got, "workers=4") {
		t.Errorf("got %q", got)
	}
}

func TestRedactHeaderArgs(t *testing.T) {
	for _, header := range []string{
		`Authorization: Digest username="me", response="s3cret"`,
		"-HAuthorization: AWS4-HMAC-SHA256 Credential=me, Signature=s3cret",
		"--header=X-Secret-Key: s3cret",
		"X-Auth-Token: one, s3cret",
	} {
		if got := Args([]string{"-H", header}); strings.Contains(got[1], "s3cret") || !strings.HasSuffix(got[1], ": "+Mark) {
			t.Errorf("%q became %q", header, got[1])
		}
	}
	for _, plain := range []string{"Content-Type: application/json", "http://127.0.0.1:80/", "workers: 4", "keys=4"} {
		if got := Args([]string{plain}); got[0] != plain {
			t.Errorf("%q became %q", plain, got[0])
		}
	}
}

func TestURL(t *testing.T) {
	if got := URL("http://me:s3cret@127.0.0.1:80/x"); got != "http://127.0.0.1:80/x" {
		t.Errorf("got %q", got)
	}
}
