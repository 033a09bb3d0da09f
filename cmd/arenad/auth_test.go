package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/seconds"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/auth"
	"dyno/services/arena/wire"
)

// token runs arenad token.
func token(t *testing.T, key, name string) string {
	out, err := exec.Command("arenad", "token", "--auth-key", key, "--name", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "arena.key"), filepath.Join(dir, "other.key")
	ada := token(t, file, "ada")
	program := starter(t, assembly.Variant{Assembly: assembly.Tuned}, "--auth-key", file)(t)
	t.Cleanup(program.Stop)
	c := &arenatest.Client{T: t, Program: program}
	room := c.Room(`{}`)

	p := c.Join(&wire.Join{Room: room, Name: "eve", Token: ada})
	if got := p.NameOf(p.Welcome.EntityId); got != "ada" {
		t.Errorf("the player is called %q, not as its token says", got)
	}
	key, err := auth.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	old, err := key.Issue(auth.Claims{Name: "ada", Exp: seconds.Date(time.Now().Add(-time.Second).Unix())})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"none": "", "garbage": "x.y.z", "of another key": token(t, other, "ada"), "expired": old, "changed": ada[:len(ada)-2]} {
		for _, watch := range []bool{false, true} {
			if code := c.Refused(&wire.Join{Room: room, Token: text, Spectate: watch}); code != "unauthorized" {
				t.Errorf("%s: %q", name, code)
			}
		}
	}
	p.Lose()
	if back := c.Join(&wire.Join{Resume: p.Welcome.Resume}); back.Welcome.EntityId != p.Welcome.EntityId {
		t.Errorf("resumed as %v", back.Welcome)
	}
	if status := c.Call("POST", "/v1/match", `{"name":"eve"}`, nil); status != http.StatusUnauthorized {
		t.Errorf("a match without a token: status %d", status)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
}

func TestOpenAddressNeedsKey(t *testing.T) {
	out, err := exec.Command("arenad", "serve", "--listen", "0.0.0.0:0", "--data", t.TempDir()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--auth-key") {
		t.Errorf("%v: %s", err, out)
	}
}
