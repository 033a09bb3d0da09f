package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dyno/parts/process/processtest"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	code := m.Run()
	builds.Remove()
	os.Exit(code)
}

// Bots that cannot join are an error, after the figures.
func TestWithoutServer(t *testing.T) {
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"-n=1", "--url=http://127.0.0.1:1", "--duration=1s", "--warmup=100ms", "--json"}, &out, &stderr)
	if code != 1 || out.Len() == 0 || !strings.Contains(stderr.String(), errNone.Error()) {
		t.Errorf("exit %d, %s, %s", code, &out, &stderr)
	}
}

func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"-n=0":             "-n 0 is not between",
		"--duration=1ms":   "--duration is at least",
		"--json --windows": "exclude each other",
		"--rate=90":        "at most 60",
		"--motion=x":       "keyboard",
		"--url=nowhere":    "no address of a server",
		"http://127.0.0.1": "is no flag",
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, &stderr)
		}
	}
}

// Bots play on the real arenad, and what they see is whole.
func TestBots(t *testing.T) {
	p := processtest.Start(t, builds.Program(t, "dyno/services/cmd/arenad"), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data="+t.TempDir(), "--lame-duck=0s", "--log-level=warn")
	for _, more := range []string{"--motion=random", "--subprotocol=arena.v1.proto", "--rate=20"} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), []string{"-n=12", "--url=http://" + p.Ready()["listen"], "--duration=1s", "--warmup=100ms", "--decode", "--json", more}, &out, &stderr); code != 0 {
			t.Fatalf("%s: exit %d, %s", more, code, &stderr)
		}
		var got struct {
			Schema    string
			Completed int
			Errors    map[string]int
			Sessions  struct {
				Opened, Lost int
				Frames       float64 `json:"frames_per_s_min"`
			}
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		for kind, n := range got.Errors {
			if n > 0 && kind != "timeout" {
				t.Errorf("%s: %d errors: %s", more, n, kind)
			}
		}
		if got.Schema != "dyno.load/1" || got.Completed == 0 || got.Sessions.Opened != 12 || got.Sessions.Lost != 0 || got.Sessions.Frames == 0 {
			t.Errorf("%s: %s", more, &out)
		}
	}
}
