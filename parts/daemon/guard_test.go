package daemon

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/guard/guardtest"
)

// Both addresses refuse pages of other sites; those that are listed may call the public one only.
func TestGuardsBothAddresses(t *testing.T) {
	noLeaks(t)
	const listed = "https://shop.example"
	c := start(t, "--allow-origin", listed)
	public, debug := "http://"+c.Listen, "http://"+c.Debug
	guardtest.Refuses(t, http.DefaultClient, "GET", public+"/queue", "")
	guardtest.Refuses(t, http.DefaultClient, "POST", public+"/nothing", "x")
	guardtest.Allows(t, http.DefaultClient, "GET", public+"/queue", "", listed)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/nothing"} {
		guardtest.Refuses(t, http.DefaultClient, "GET", debug+path, "")
		r, err := http.NewRequest("GET", debug+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", listed)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != http.StatusForbidden {
			t.Errorf("a page of a listed origin gets %d of %s on the debug address", answer.StatusCode, path)
		}
	}
	c.signal(syscall.SIGTERM)
	if code, stderr := c.exit(); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestAllowedOriginsAndHosts(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		file string
	}{
		{"flags", []string{"--allow-origin=https://a.example", "--allow-origin=https://b.example", "--allow-host=a.example,b.example"}, nil, ""},
		{"environment", nil, map[string]string{"TOYD_ALLOW_ORIGIN": "https://a.example,https://b.example", "TOYD_ALLOW_HOST": "a.example, b.example"}, ""},
		{"file", nil, nil, "allow-origin: [https://a.example, https://b.example]\nallow-host: a.example,b.example\n"},
	} {
		o, err := completed(t, append(c.args, "--listen=listened.example:80"), c.env, c.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []guard.Request{
			{Method: "POST", Host: "a.example", Origin: "https://b.example"},
			{Method: "POST", Host: "b.example", Origin: "https://a.example"},
			{Method: "GET", Host: "listened.example"},
		} {
			if no := o.guard.Check(r); no != nil {
				t.Errorf("%s: %+v: %+v", c.name, r, no)
			}
		}
	}
	for _, arg := range []string{"--allow-origin=*", "--allow-host=https://a.example"} {
		if _, err := completed(t, []string{arg}, nil, ""); err == nil || !strings.HasPrefix(err.Error(), strings.Split(arg, "=")[0]) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
