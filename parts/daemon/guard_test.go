package daemon

import (
	"context"
	"io"
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

// A service with doors of its own has their flags instead of the usual ones, and guards its handler
// itself; the daemon guards the debug address by the same hosts.
func TestDoors(t *testing.T) {
	s := toy()
	s.Doors = &Doors{Hosts: "http-vhosts", Origins: "http-corsdomain", Sockets: "ws-origins"}
	var got *Env
	s.Start = func(_ context.Context, env *Env) (Running, error) {
		got = env
		return Running{Handler: http.NotFoundHandler()}, nil
	}
	var stderr strings.Builder
	run := func(args ...string) int {
		ctx, stop := context.WithCancel(t.Context())
		stop() // it is up, and ends
		args = append([]string{"serve", "--listen=127.0.0.1:0", "--lame-duck=0", "--data=" + t.TempDir()}, args...)
		return Run(ctx, s, args, func(string) (string, bool) { return "", false }, io.Discard, &stderr)
	}
	if run("--http-vhosts=api.example", "--http-corsdomain=*", "--ws-origins=https://shop.example") != 0 {
		t.Fatal(stderr.String())
	}
	evil, shop := guard.Request{Host: "api.example", Origin: "https://evil.example"}, guard.Request{Host: "api.example", Origin: "https://shop.example"}
	if got.Guard.Check(evil) != nil || got.Sockets.Check(evil) == nil || got.Sockets.Check(shop) != nil {
		t.Error("the guards are not as the flags say")
	}
	if no := got.Sockets.Check(evil); !strings.Contains(no.Text, "--ws-origins") {
		t.Error(no.Text)
	}
	if run() != 0 {
		t.Fatal(stderr.String())
	}
	if own := (guard.Request{Host: "localhost:1", Origin: "http://localhost:2"}); got.Guard.Check(own) != nil || got.Sockets.Check(own) != nil {
		t.Error("without the flags a page of localhost is refused")
	}
	extension := guard.Request{Host: "localhost:1", Origin: "moz-extension://5c6bb8f5"}
	if got.Guard.Check(extension) == nil || got.Sockets.Check(extension) == nil {
		t.Error("extensions pass where the service does not say so")
	}
	s.Extensions = true
	for _, args := range [][]string{nil, {"--http-corsdomain=https://shop.example", "--ws-origins=https://shop.example"}} {
		if run(args...) != 0 {
			t.Fatal(stderr.String())
		}
		if got.Guard.Check(extension) != nil || got.Sockets.Check(extension) != nil {
			t.Errorf("%v: an extension is refused", args)
		}
	}
	if run("--allow-origin=https://shop.example") != 2 || run("--allow-host=a.example") != 2 || run("--ws-origins=*") != 2 {
		t.Error("flags that there are not, or a wrong value, are accepted")
	}
}
