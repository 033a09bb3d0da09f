package main

import (
	"encoding/hex"
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
	c := &arenatest.Client{T: t, Program: program, Token: ada}
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
	for token, want := range map[string]int{"": http.StatusUnauthorized, old: http.StatusUnauthorized, ada: http.StatusOK} {
		c := &arenatest.Client{T: t, Program: program, Token: token}
		for request, body := range map[string]string{
			"POST /v1/rooms": `{"capacity":2,"bots":2}`, "POST /v1/match": `{"name":"eve"}`, "GET /v1/players/ada": "", "POST /api/heartbeat": `{"player_id":"ada"}`,
		} {
			method, path, _ := strings.Cut(request, " ")
			if status := c.Call(method, path, body, nil); status != want && !(want == http.StatusOK && status == http.StatusAccepted) {
				t.Errorf("%s with the token %.5q: status %d, want %d", request, token, status, want)
			}
		}
		if status := c.Call("GET", "/v1/rooms", "", nil); status != http.StatusOK {
			t.Errorf("the list: status %d", status)
		}
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

// sockets are the settings with which connections are read and written in different ways.
var sockets = map[string]map[string]string{
	"tick": {}, "goroutine": {"read": "goroutine"}, "merged": {"write": "merged"}, "coder": {"socket": "coder"},
}

// begin joins with a token of that life, and moves once so that its resume token is the last.
func begin(t *testing.T, c *arenatest.Client, key auth.Key, room string, life time.Duration) *arenatest.Player {
	t.Helper()
	token, err := key.Issue(auth.Claims{Name: "ada", Exp: seconds.Date(time.Now().Add(life).Unix())})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Join(&wire.Join{Room: room, Token: token})
	p.Acknowledge(p.Next().Tick)
	return p
}

// A session ends with its token, and all do when the key is replaced, with each socket and each way
// to read it; a new token takes the body up again.
func TestSessionsEndWithTheirToken(t *testing.T) {
	for name, set := range sockets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "arena.key")
			key, err := auth.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			program := starter(t, assembly.Variant{Assembly: assembly.Tuned, Set: set}, "--auth-key", file)(t)
			t.Cleanup(program.Stop)
			fresh := func(key auth.Key) string {
				token, err := key.Issue(auth.Claims{Name: "ada", Exp: seconds.Date(time.Now().Add(time.Hour).Unix())})
				if err != nil {
					t.Fatal(err)
				}
				return token
			}
			c := &arenatest.Client{T: t, Program: program, Token: fresh(key)}
			room := c.Room(`{}`)
			long, short := begin(t, c, key, room, time.Hour), begin(t, c, key, room, 5*time.Second)
			if code := short.Error(); code != "unauthorized" {
				t.Errorf("after its time: %q", code)
			}
			if code := c.Refused(&wire.Join{Resume: short.Welcome.Resume}); code != "unauthorized" {
				t.Errorf("a resume without a new token: %q", code)
			}
			back := c.Join(&wire.Join{Resume: short.Welcome.Resume, Token: fresh(key)})
			if back.Welcome.EntityId != short.Welcome.EntityId {
				t.Errorf("with a new token it is %v, and was %v", back.Welcome, short.Welcome)
			}
			long.Acknowledge(long.Next().Tick) // of those with time left none has ended

			next := auth.New()
			if err := os.WriteFile(file, []byte(hex.EncodeToString(next)), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, p := range []*arenatest.Player{long, back} {
				if code := p.Error(); code != "unauthorized" {
					t.Errorf("after the key was replaced: %q", code)
				}
			}
			if code := c.Refused(&wire.Join{Resume: long.Welcome.Resume, Token: fresh(key)}); code != "unauthorized" {
				t.Errorf("a resume with a token of the old key: %q", code)
			}
			if again := c.Join(&wire.Join{Resume: long.Welcome.Resume, Token: fresh(next)}); again.Welcome.EntityId != long.Welcome.EntityId {
				t.Errorf("with a token of the new key it is %v, and was %v", again.Welcome, long.Welcome)
			}
		})
	}
}
